// Single operators on oneDNN, where Debian's libdnnl-dev is there to compile with:
// products in f32 and, with the input rounded to it as ggml does, in bf16; a
// convolution with the channels last.
#if __has_include(<dnnl.hpp>)
#include <dnnl.hpp>

#include "ops_job.hpp"

namespace {

using bench::Operation;
using tag = dnnl::memory::format_tag;
using type = dnnl::memory::data_type;

class DnnlOp : public bench::OpsJob {
  public:
    explicit DnnlOp(const bench::OpsCase &c) : OpsJob(c), bf16_(std::string(c.dtype) == "bf16") {
        if (c.operation == Operation::product) {
            product();
        } else {
            convolution();
        }
    }

  protected:
    void run(const float *x, float *y) override {
        x_.set_data_handle(const_cast<float *>(x));
        y_.set_data_handle(y);
        if (bf16_) dnnl::reorder(x_, narrow_).execute(stream_, x_, narrow_);
        primitive_.execute(stream_,
                           {{DNNL_ARG_SRC, bf16_ ? narrow_ : x_}, {DNNL_ARG_WEIGHTS, weight_}, {DNNL_ARG_DST, y_}});
        stream_.wait();
    }

  private:
    // The weight is put into the form that the primitive likes best, once.
    template <typename Description>
    void finish(const Description &d, const dnnl::memory::desc &plain) {
        dnnl::memory given(plain, engine_, const_cast<float *>(weight().data()));
        weight_ = dnnl::memory(d.weights_desc(), engine_);
        dnnl::reorder(given, weight_).execute(stream_, given, weight_);
        stream_.wait();
    }

    void product() {
        const dnnl::memory::dims x = {what().rows, what().n_in}, w = {what().n_in, what().n_out},
                                 y = {what().rows, what().n_out};
        const type narrow = bf16_ ? type::bf16 : type::f32;
        const dnnl::memory::desc xs(x, narrow, tag::ab), ws(w, narrow, tag::any), ys(y, type::f32, tag::ab);
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::matmul::primitive_desc d(engine_, xs, ws, ys);
#else
        const dnnl::matmul::primitive_desc d(dnnl::matmul::desc(xs, ws, ys), engine_);
#endif
        primitive_ = dnnl::matmul(d);
        finish(d, {w, type::f32, tag::ba});
        x_ = dnnl::memory({x, type::f32, tag::ab}, engine_, nullptr);
        y_ = dnnl::memory(ys, engine_, nullptr);
        if (bf16_) narrow_ = dnnl::memory(xs, engine_);
    }

    void convolution() {
        constexpr auto side = bench::conv_side, channels = bench::conv_channels;
        const dnnl::memory::dims x = {1, channels, side, side}, w = {channels, channels, 3, 3}, one = {1, 1};
        const dnnl::memory::desc xs(x, type::f32, tag::nhwc), ws(w, type::f32, tag::any);
        const auto kind = dnnl::prop_kind::forward_inference;
        const auto how = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
        const dnnl::convolution_forward::primitive_desc d(engine_, kind, how, xs, ws, xs, one, one, one);
#else
        const dnnl::convolution_forward::primitive_desc d({kind, how, xs, ws, xs, one, one, one}, engine_);
#endif
        primitive_ = dnnl::convolution_forward(d);
        finish(d, {w, type::f32, tag::ohwi});
        x_ = dnnl::memory(xs, engine_, nullptr);
        y_ = dnnl::memory(xs, engine_, nullptr);
    }

    bool bf16_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    dnnl::primitive primitive_;
    dnnl::memory x_, y_, weight_, narrow_;
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        const std::string dtype = c.dtype;
        if (c.operation == Operation::attention || dtype == "f16" || dtype == "q8_0") continue;
        list.emplace_back(std::string("oneDNN ") + c.name, [&c] { return std::make_unique<DnnlOp>(c); });
    }
    return list;
}();

}  // namespace
#endif
