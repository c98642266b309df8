// Single operators on raw ggml: products as it has them, its flash attention, its
// convolution without im2col, which has the channels first.
#include <cmath>
#include <cstring>

#include "ops_weight.hpp"
#include "raw_ggml.hpp"

namespace {

using bench::Operation;

class RawOp : public bench::OpsJob {
  public:
    explicit RawOp(const bench::OpsCase &c) : OpsJob(c, c.operation == Operation::convolution) {
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
        ggml_tensor *w;
        if (c.operation == Operation::convolution) {
            constexpr auto side = bench::conv_side, channels = bench::conv_channels;
            w = ggml_new_tensor_4d(ctx, GGML_TYPE_F32, 3, 3, channels, channels);
            in_[0] = ggml_new_tensor_3d(ctx, GGML_TYPE_F32, side, side, channels);
            out_ = ggml_conv_2d_direct(ctx, w, in_[0], 1, 1, 1, 1, 1, 1);
        } else {
            w = ggml_new_tensor_2d(ctx, bench::weight_type(c), c.n_in, c.n_out);
            in_[0] = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, c.n_in, c.rows);
            out_ = ggml_mul_mat(ctx, w, in_[0]);
        }
        graph_.expand(out_);
        graph_.allocate();
        const std::vector<char> data =
            bench::packed(c, c.operation == Operation::convolution ? channels_first_weight() : weight());
        std::memcpy(w->data, data.data(), data.size());
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
        list.emplace_back(std::string("raw ggml ") + c.name, [&c] { return std::make_unique<RawOp>(c); });
    }
    return list;
}();

}  // namespace
