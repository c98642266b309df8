// Single operators on oneDNN, where Debian's libdnnl-dev is there to compile with:
// products in f32, with f16 weights widened to it beforehand (it has no product in f16
// without AVX512-FP16), and with the input rounded to it, as ggml does, in bf16; a
// convolution with the channels last; attention as its parts: a product, softmax,
// another product.
#if __has_include(<dnnl.hpp>)
#include <dnnl.hpp>
#endif

#include <cmath>
#include <unordered_map>

#include "ops_job.hpp"

namespace {

using bench::Operation;

#if __has_include(<dnnl.hpp>)
using tag = dnnl::memory::format_tag;
using type = dnnl::memory::data_type;
using dims = dnnl::memory::dims;

class DnnlOp : public bench::OpsJob {
  public:
    explicit DnnlOp(const bench::OpsCase &c) : OpsJob(c), bf16_(std::string(c.dtype) == "bf16") {
        if (c.dtype[0] == 'q') throw bench::CannotDo("oneDNN has no product with a scale for each block");
        switch (c.operation) {
            case Operation::product:
                product();
                break;
            case Operation::convolution:
                convolution();
                break;
            case Operation::attention:
                attention();
                break;
        }
    }

  protected:
    void run(const float *x, float *y) override {
        const float *part = x;
        for (dnnl::memory *in : in_) {
            in->set_data_handle(const_cast<float *>(part));
            part += in->get_desc().get_size() / sizeof(float);
        }
        y_.set_data_handle(y);
        for (const Step &s : steps_) s.primitive.execute(stream_, s.arguments);
        stream_.wait();
    }

  private:
    struct Step {
        dnnl::primitive primitive;
        std::unordered_map<int, dnnl::memory> arguments;
    };

    // Memory of its own, or of whoever sets its handle.
    dnnl::memory own(const dnnl::memory::desc &d) { return dnnl::memory(d, engine_); }
    dnnl::memory given(const dnnl::memory::desc &d) { return dnnl::memory(d, engine_, nullptr); }

    // The weight is put into the form that the primitive likes best, once.
    template <typename Description>
    dnnl::memory weight_for(const Description &d, const dnnl::memory::desc &plain) {
        dnnl::memory from(plain, engine_, const_cast<float *>(weight().data())), to = own(d.weights_desc());
        dnnl::reorder(from, to).execute(stream_, from, to);
        stream_.wait();
        return to;
    }

    static dnnl::matmul::primitive_desc product_of(const dnnl::engine &engine, const dnnl::memory::desc &a,
                                                   const dnnl::memory::desc &b, const dnnl::memory::desc &c,
                                                   const dnnl::primitive_attr &attr = {}) {
#if DNNL_VERSION_MAJOR >= 3
        return dnnl::matmul::primitive_desc(engine, a, b, c, attr);
#else
        return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), attr, engine);
#endif
    }

    void product() {
        const dims x = {what().rows, what().n_in}, w = {what().n_in, what().n_out}, y = {what().rows, what().n_out};
        const type narrow = bf16_ ? type::bf16 : type::f32;
        const dnnl::memory::desc xs(x, narrow, tag::ab), ys(y, type::f32, tag::ab);
        const auto d = product_of(engine_, xs, {w, narrow, tag::any}, ys);
        x_ = given({x, type::f32, tag::ab});
        y_ = given(ys);
        in_ = {&x_};
        dnnl::memory factor = x_;
        if (bf16_) {
            factor = own(xs);
            steps_.push_back({dnnl::reorder(x_, factor), {{DNNL_ARG_FROM, x_}, {DNNL_ARG_TO, factor}}});
        }
        steps_.push_back(
            {dnnl::matmul(d),
             {{DNNL_ARG_SRC, factor}, {DNNL_ARG_WEIGHTS, weight_for(d, {w, type::f32, tag::ba})}, {DNNL_ARG_DST, y_}}});
    }

    void convolution() {
        constexpr auto side = bench::conv_side, channels = bench::conv_channels;
        const dims x = {1, channels, side, side}, w = {channels, channels, 3, 3}, one = {1, 1};
        const dnnl::memory::desc xs(x, type::f32, tag::nhwc), ws(w, type::f32, tag::any);
        const auto kind = dnnl::prop_kind::forward_inference;
        const auto how = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::convolution_forward::primitive_desc d(engine_, kind, how, xs, ws, xs, one, one, one);
#else
        const dnnl::convolution_forward::primitive_desc d({kind, how, xs, ws, xs, one, one, one}, engine_);
#endif
        x_ = given(xs);
        y_ = given(xs);
        in_ = {&x_};
        steps_.push_back(
            {dnnl::convolution_forward(d),
             {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, weight_for(d, {w, type::f32, tag::ohwi})}, {DNNL_ARG_DST, y_}}});
    }

    // Heads are batches: [heads, rows, dim] with the strides of [rows, heads, dim].
    void attention() {
        constexpr auto rows = bench::att_rows, heads = bench::att_heads, dim = bench::att_dim;
        const dims each = {heads, rows, dim}, strides = {dim, heads * dim, 1};
        const dnnl::memory::desc qs(each, type::f32, strides), ss({heads, rows, rows}, type::f32, tag::abc);
        const dnnl::memory::desc ks({heads, dim, rows}, type::f32, dims{dim, 1, heads * dim});
        const float scale = 1 / std::sqrt(static_cast<float>(dim));
        dnnl::post_ops scaled;
        dnnl::primitive_attr attr;
#if DNNL_VERSION_MAJOR >= 3
        scaled.append_eltwise(dnnl::algorithm::eltwise_linear, scale, 0);
        const dnnl::softmax_forward::primitive_desc softmax(engine_, dnnl::prop_kind::forward_inference,
                                                            dnnl::algorithm::softmax_accurate, ss, ss, 2);
#else
        scaled.append_eltwise(1, dnnl::algorithm::eltwise_linear, scale, 0);
        const dnnl::softmax_forward::primitive_desc softmax({dnnl::prop_kind::forward_inference, ss, 2}, engine_);
#endif
        attr.set_post_ops(scaled);
        x_ = given(qs);
        k_ = given(ks);
        v_ = given(qs);
        y_ = given(qs);
        in_ = {&x_, &k_, &v_};
        dnnl::memory scores = own(ss);
        steps_.push_back({dnnl::matmul(product_of(engine_, qs, ks, ss, attr)),
                          {{DNNL_ARG_SRC, x_}, {DNNL_ARG_WEIGHTS, k_}, {DNNL_ARG_DST, scores}}});
        steps_.push_back({dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, scores}}});
        steps_.push_back({dnnl::matmul(product_of(engine_, ss, qs, qs)),
                          {{DNNL_ARG_SRC, scores}, {DNNL_ARG_WEIGHTS, v_}, {DNNL_ARG_DST, y_}}});
    }

    bool bf16_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::memory x_, k_, v_, y_;
    std::vector<dnnl::memory *> in_;
    std::vector<Step> steps_;
};
#else
struct DnnlOp : bench::OpsJob {
    explicit DnnlOp(const bench::OpsCase &c) : OpsJob(c) {
        throw bench::CannotDo("dnnl.hpp (Debian's libdnnl-dev) was not there to compile with");
    }
    void run(const float *, float *) override {}
};
#endif

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        list.emplace_back(std::string("oneDNN ") + c.name, [&c] { return std::make_unique<DnnlOp>(c); });
    }
    return list;
}();

}  // namespace
