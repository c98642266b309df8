// stories260K as kept ggml graphs of one step: the cache is f32, written with
// set_rows at the position, and read up to a bound that grows in buckets, one graph
// per bucket, all with the same weights and cache.
#include <gguf.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "files.hpp"
#include "raw_ggml.hpp"
#include "story_job.hpp"

namespace {

using bench::RawGraph;

constexpr int width = 64, layers = 5, heads = 8, kv_heads = 4, head = 8, context = 512;
constexpr int bucket = 64;
constexpr float epsilon = 1e-5f;

// The weights of the file and the caches, by name.
class Tensors {
  public:
    explicit Tensors(const std::string &path) {
        gguf_context *file = gguf_init_from_file(path.c_str(), {true, &ctx_});
        if (file == nullptr) {
            throw std::runtime_error("ggml cannot read " + path);
        }
        buffer_ = bench::allocate_tensors(ctx_);
        const std::string bytes = bench::read_file(path);
        for (int64_t i = 0; i < gguf_get_n_tensors(file); i++) {
            ggml_tensor *t = (*this)[gguf_get_tensor_name(file, i)];
            std::memcpy(t->data, bytes.data() + gguf_get_data_offset(file) + gguf_get_tensor_offset(file, i),
                        ggml_nbytes(t));
        }
        gguf_free(file);
    }

    ~Tensors() {
        ggml_backend_buffer_free(buffer_);
        ggml_free(ctx_);
    }

    ggml_tensor *operator[](const std::string &name) const {
        ggml_tensor *t = ggml_get_tensor(ctx_, name.c_str());
        if (t == nullptr) {
            throw std::runtime_error("the model has no tensor " + name);
        }
        return t;
    }

  private:
    ggml_context *ctx_ = nullptr;
    ggml_backend_buffer_t buffer_ = nullptr;
};

// The keys and values of all layers, [context, kv_heads * head] each.
struct Cache {
    Cache() {
        for (auto *side : {&keys, &values}) {
            for (ggml_tensor *&rows : *side) {
                rows = ggml_new_tensor_2d(memory.ctx(), GGML_TYPE_F32, kv_heads * head, context);
            }
        }
        memory.allocate();
    }

    RawGraph memory;
    ggml_tensor *keys[layers], *values[layers];
};

// One step with a cache that is read up to bound rows.
class Step {
  public:
    Step(const Tensors &w, const Cache &cache, int bound) : bound_(bound) {
        ggml_context *ctx = graph_.ctx();
        token_ = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 1);
        position_ = ggml_new_tensor_1d(ctx, GGML_TYPE_I32, 1);
        mask_ = ggml_new_tensor_2d(ctx, GGML_TYPE_F16, bound, 1);
        ggml_tensor *x = ggml_get_rows(ctx, w["token_embd.weight"], token_);
        for (int i = 0; i < layers; i++) {
            const auto weight = [&](const char *name) {
                return w["blk." + std::to_string(i) + "." + name + ".weight"];
            };
            x = ggml_add(ctx, x, attention(weight, norm(x, weight("attn_norm")), cache.keys[i], cache.values[i]));
            ggml_tensor *h = norm(x, weight("ffn_norm"));
            ggml_tensor *gate = ggml_mul_mat(ctx, weight("ffn_gate"), h);
            ggml_tensor *up = ggml_mul_mat(ctx, weight("ffn_up"), h);
            x = ggml_add(ctx, x, ggml_mul_mat(ctx, weight("ffn_down"), ggml_swiglu_split(ctx, gate, up)));
        }
        logits_ = ggml_mul_mat(ctx, w["token_embd.weight"], norm(x, w["output_norm.weight"]));
        graph_.expand(logits_);
        graph_.allocate();
    }

    const float *run(int32_t token, int32_t position) {
        std::memcpy(token_->data, &token, sizeof token);
        std::memcpy(position_->data, &position, sizeof position);
        auto *mask = static_cast<ggml_fp16_t *>(mask_->data);
        for (int i = 0; i < bound_; i++) {
            mask[i] = i <= position ? visible : hidden;
        }
        graph_.compute();
        return static_cast<const float *>(logits_->data);
    }

  private:
    static constexpr ggml_fp16_t visible = 0x0000, hidden = 0xfc00;  // 0 and -infinity

    ggml_tensor *norm(ggml_tensor *x, ggml_tensor *weight) const {
        return ggml_mul(graph_.ctx(), ggml_rms_norm(graph_.ctx(), x, epsilon), weight);
    }

    // A head-wise row [n * head], rotated by its position, and whole again.
    ggml_tensor *rotated(ggml_tensor *row, int n) const {
        ggml_tensor *by_head = ggml_reshape_3d(graph_.ctx(), row, head, n, 1);
        return ggml_rope(graph_.ctx(), by_head, position_, head, GGML_ROPE_TYPE_NORMAL);
    }

    // The cache's rows in use as [head, bound, kv_heads], a view.
    ggml_tensor *by_head(ggml_tensor *rows) const {
        return ggml_view_3d(graph_.ctx(), rows, head, bound_, kv_heads, rows->nb[1], head * sizeof(float), 0);
    }

    template <typename Weight>
    ggml_tensor *attention(const Weight &weight, ggml_tensor *h, ggml_tensor *keys, ggml_tensor *values) {
        ggml_context *ctx = graph_.ctx();
        ggml_tensor *q = rotated(ggml_mul_mat(ctx, weight("attn_q"), h), heads);
        ggml_tensor *k = rotated(ggml_mul_mat(ctx, weight("attn_k"), h), kv_heads);
        ggml_tensor *v = ggml_mul_mat(ctx, weight("attn_v"), h);
        graph_.expand(ggml_set_rows(ctx, keys, ggml_reshape_2d(ctx, k, kv_heads * head, 1), position_));
        graph_.expand(ggml_set_rows(ctx, values, v, position_));
        ggml_tensor *out = ggml_flash_attn_ext(ctx, ggml_permute(ctx, q, 0, 2, 1, 3), by_head(keys), by_head(values),
                                               mask_, 1 / std::sqrt(static_cast<float>(head)), 0, 0);
        return ggml_mul_mat(ctx, weight("attn_output"), ggml_reshape_2d(ctx, out, width, 1));
    }

    int bound_;
    RawGraph graph_;
    ggml_tensor *token_, *position_, *mask_, *logits_;
};

class RawStory : public bench::StoryJob {
  public:
    RawStory() : tensors_(data("stories260K_f32.gguf")) {}

  protected:
    // Rows beyond the position are masked: nothing to forget.
    void reset() override {}

    const float *step(int32_t token, int32_t position) override {
        std::unique_ptr<Step> &step = steps_[position / bucket];
        if (step == nullptr) {
            step = std::make_unique<Step>(tensors_, cache_, (position / bucket + 1) * bucket);
        }
        return step->run(token, position);
    }

  private:
    Tensors tensors_;
    Cache cache_;
    std::unique_ptr<Step> steps_[context / bucket];
};

const bench::Entry entry("raw ggml", [] { return std::make_unique<RawStory>(); });

}  // namespace
