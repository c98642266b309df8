// Single operators on raw ggml: products as it has them, its flash attention. It has
// no convolution with the channels last.
#include <cmath>
#include <cstring>

#include "ops_job.hpp"
#include "raw_ggml.hpp"

namespace {

using bench::Operation;

class RawOp : public bench::OpsJob {
  public:
    explicit RawOp(const bench::OpsCase &c) : OpsJob(c) {
        ggml_context *ctx = graph_.ctx();
        if (c.operation == Operation::attention) {
            ggml_tensor *qkv[3];
            for (int i = 0; i < 3; i++) {
                in_[i] = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, bench::att_dim, bench::att_heads, bench::att_rows);
                qkv[i] = ggml_permute(ctx, in_[i], 0, 2, 1, 3);
            }
            const float scale = 1 / std::sqrt(static_cast<float>(bench::att_dim));
            out_ = ggml_flash_attn_ext(ctx, qkv[0], qkv[1], qkv[2], nullptr, scale, 0, 0);
            graph_.expand(out_);
            graph_.allocate();
            return;
        }
        const std::string dtype = c.dtype;
        const ggml_type type = dtype == "f16"    ? GGML_TYPE_F16
                               : dtype == "bf16" ? GGML_TYPE_BF16
                               : dtype == "q8_0" ? GGML_TYPE_Q8_0
                                                 : GGML_TYPE_F32;
        ggml_tensor *w = ggml_new_tensor_2d(ctx, type, c.n_in, c.n_out);
        in_[0] = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, c.n_in, c.rows);
        out_ = ggml_mul_mat(ctx, w, in_[0]);
        graph_.expand(out_);
        graph_.allocate();
        if (type == GGML_TYPE_F32) {
            std::memcpy(w->data, weight().data(), ggml_nbytes(w));
        } else {
            ggml_get_type_traits(type)->from_float_ref(weight().data(), w->data, c.n_in * c.n_out);
        }
    }

  protected:
    void run(const float *x, float *y) override {
        for (const ggml_tensor *t : in_) {
            if (t == nullptr) break;
            std::memcpy(t->data, x, ggml_nbytes(t));
            x += ggml_nelements(t);
        }
        graph_.compute();
        std::memcpy(y, out_->data, ggml_nbytes(out_));
    }

  private:
    bench::RawGraph graph_;
    ggml_tensor *in_[3] = {}, *out_;
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        if (c.operation == Operation::convolution) continue;
        list.emplace_back(std::string("raw ggml ") + c.name, [&c] { return std::make_unique<RawOp>(c); });
    }
    return list;
}();

}  // namespace
