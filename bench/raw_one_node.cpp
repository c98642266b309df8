// One node on raw ggml.
#include <cstring>

#include "one_node_job.hpp"
#include "raw_ggml.hpp"

namespace {

class RawOneNode : public bench::OneNodeJob {
  public:
    explicit RawOneNode(Node node) : OneNodeJob(node) {
        ggml_context *ctx = graph_.ctx();
        a_ = ggml_new_tensor_1d(ctx, GGML_TYPE_F32, width);
        b_ = node == Node::add ? ggml_new_tensor_1d(ctx, GGML_TYPE_F32, width)
                               : ggml_new_tensor_2d(ctx, GGML_TYPE_F32, width, width);
        out_ = node == Node::add ? ggml_add(ctx, a_, b_) : ggml_mul_mat(ctx, b_, a_);
        graph_.expand(out_);
        graph_.allocate();
        if (node == Node::linear) {
            std::memcpy(b_->data, weight().data(), sizeof weight());
        }
    }

  protected:
    void run(const Row &a, const Row &b, Row &out) override {
        std::memcpy(a_->data, a.data(), sizeof a);
        if (node() == Node::add) {
            std::memcpy(b_->data, b.data(), sizeof b);
        }
        graph_.compute();
        std::memcpy(out.data(), out_->data, sizeof out);
    }

  private:
    bench::RawGraph graph_;
    ggml_tensor *a_, *b_, *out_;
};

const bench::Entry add("raw ggml add", [] { return std::make_unique<RawOneNode>(RawOneNode::Node::add); });
const bench::Entry linear("raw ggml linear", [] { return std::make_unique<RawOneNode>(RawOneNode::Node::linear); });

}  // namespace
