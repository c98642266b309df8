// One node through qtsaccel's C API, a plan on the CPU with one thread.
#include "one_node_job.hpp"
#include "qtsa_cpu.hpp"

namespace {

using bench::must;

class QtsaOneNode : public bench::OneNodeJob {
  public:
    explicit QtsaOneNode(Node node) : OneNodeJob(node) {
        constexpr int64_t row[] = {1, width}, matrix[] = {width, width};
        must(qtsa_weights_create(&weights_));
        must(qtsa_graph_create("one node", &graph_));

        qtsa_tensor in[2], out;
        must(qtsa_graph_input(graph_, "a", QTSA_DTYPE_F32, row, 2, &in[0]));
        if (node == Node::add) {
            must(qtsa_graph_input(graph_, "b", QTSA_DTYPE_F32, row, 2, &in[1]));
        } else {
            const qtsa_array w = qtsa_array_dense(QTSA_DTYPE_F32, matrix, 2, weight().data(), sizeof weight());
            must(qtsa_weights_add(weights_, "w", &w));
            must(qtsa_graph_weight(graph_, weights_, "w", &in[1]));
        }
        must(qtsa_graph_op(graph_, node == Node::add ? "add" : "linear", in, 2, nullptr, 0, &out, 1));
        must(qtsa_graph_output(graph_, "out", out));
        must(qtsa_session_create(cpu_.get(), &session_));
        must(qtsa_plan_create(session_, graph_, nullptr, &plan_));
    }

    ~QtsaOneNode() override {
        qtsa_plan_free(plan_);
        qtsa_session_free(session_);
        qtsa_graph_free(graph_);
        qtsa_weights_free(weights_);
    }

  protected:
    void run(const Row &a, const Row &b, Row &out) override {
        const qtsa_input inputs[] = {{a.data(), sizeof a}, {b.data(), sizeof b}};
        const qtsa_output outputs[] = {{out.data(), sizeof out}};
        must(qtsa_plan_run(plan_, inputs, node() == Node::add ? 2 : 1, outputs, 1, nullptr));
    }

  private:
    bench::QtsaCpu cpu_;
    qtsa_weights weights_ = nullptr;
    qtsa_graph graph_ = nullptr;
    qtsa_session session_ = nullptr;
    qtsa_plan plan_ = nullptr;
};

const bench::Entry add("qtsaccel add", [] { return std::make_unique<QtsaOneNode>(QtsaOneNode::Node::add); });
const bench::Entry linear("qtsaccel linear", [] { return std::make_unique<QtsaOneNode>(QtsaOneNode::Node::linear); });

}  // namespace
