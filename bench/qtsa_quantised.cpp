// Products with quantised weights through plans.
#include "qtsa_cpu.hpp"
#include "quantised_job.hpp"

namespace {

using bench::must;

class QtsaQuantised : public bench::QuantisedJob {
  public:
    explicit QtsaQuantised(const bench::QuantisedCase &c) : QuantisedJob(c) {
        const int64_t x[] = {c.rows, c.size}, w[] = {c.size, c.size};
        const qtsa_dtype dtype = c.type == GGML_TYPE_Q4_0 ? QTSA_DTYPE_Q4_0 : QTSA_DTYPE_Q4_K;
        qtsa_tensor in[2], out;
        must(qtsa_weights_create(&weights_));
        const qtsa_array array = qtsa_array_dense(dtype, w, 2, weight().data(), weight().size());
        must(qtsa_weights_add(weights_, "w", &array));
        must(qtsa_graph_create(c.name, &graph_));
        must(qtsa_graph_input(graph_, "x", QTSA_DTYPE_F32, x, 2, &in[0]));
        must(qtsa_graph_weight(graph_, weights_, "w", &in[1]));
        must(qtsa_graph_op(graph_, "linear", in, 2, nullptr, 0, &out, 1));
        must(qtsa_graph_output(graph_, "y", out));
        must(qtsa_session_create(cpu_.get(), &session_));
        must(qtsa_plan_create(session_, graph_, nullptr, &plan_));
    }
    ~QtsaQuantised() override {
        qtsa_plan_free(plan_);
        qtsa_session_free(session_);
        qtsa_graph_free(graph_);
        qtsa_weights_free(weights_);
    }

  protected:
    void run(const std::vector<float> &x, std::vector<float> &y) override {
        const qtsa_input in = {x.data(), x.size() * sizeof(float)};
        const qtsa_output out = {y.data(), y.size() * sizeof(float)};
        must(qtsa_plan_run(plan_, &in, 1, &out, 1, nullptr));
    }

  private:
    bench::QtsaCpu cpu_;
    qtsa_weights weights_ = nullptr;
    qtsa_graph graph_ = nullptr;
    qtsa_session session_ = nullptr;
    qtsa_plan plan_ = nullptr;
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::QuantisedCase &c : bench::quantised_cases) {
        list.emplace_back(std::string("qtsaccel ") + c.name, [&c] { return std::make_unique<QtsaQuantised>(c); });
    }
    return list;
}();

}  // namespace
