// Single operators through qtsaccel's operator-level calls.
#include "ops_weight.hpp"
#include "qtsa_cpu.hpp"

namespace {

using bench::must;
using bench::Operation;

class QtsaOp : public bench::OpsJob {
  public:
    explicit QtsaOp(const bench::OpsCase &c) : OpsJob(c) {
        if (c.operation == Operation::attention) return;
        qtsa_matrix_desc desc;
        must(qtsa_matrix_desc_init(&desc, sizeof desc));
        desc.rank = 2;
        desc.shape[0] = c.operation == Operation::product ? c.n_out : bench::conv_channels;
        desc.shape[1] = c.operation == Operation::product ? c.n_in : 9 * bench::conv_channels;
        const std::string dtype = c.dtype;
        desc.dtype = dtype == "f16"    ? QTSA_DTYPE_F16
                     : dtype == "bf16" ? QTSA_DTYPE_BF16
                     : dtype == "q8_0" ? QTSA_DTYPE_Q8_0
                     : dtype == "q4_0" ? QTSA_DTYPE_Q4_0
                                       : QTSA_DTYPE_F32;
        const std::vector<char> data = bench::packed(c, weight());
        desc.data = data.data();
        desc.bytes = data.size();
        must(qtsa_matrix_create(cpu_.get(), &desc, &job_.weight));
        job_.n_out = desc.shape[0];
    }
    ~QtsaOp() override { qtsa_matrix_free(job_.weight); }

  protected:
    void run(const float *x, float *y) override {
        const int64_t size = bench::att_rows * bench::att_heads * bench::att_dim;
        job_.y = y;
        switch (what().operation) {
            case Operation::product:
                must(qtsa_matmul(cpu_.get(), x, what().rows, what().n_in, &job_, 1, 0));
                break;
            case Operation::convolution: {
                const qtsa_conv2d_geometry g = {bench::conv_side, bench::conv_side, bench::conv_channels, 3, 1,
                                                bench::conv_side, bench::conv_side};
                must(qtsa_conv2d(cpu_.get(), x, &g, nullptr, &job_, 0));
                break;
            }
            case Operation::attention:
                must(qtsa_attention(cpu_.get(), x, x + size, x + 2 * size, bench::att_rows, bench::att_rows,
                                    bench::att_heads, bench::att_heads, bench::att_dim, 0, 0, 0, y, 0));
                break;
        }
    }

  private:
    bench::QtsaCpu cpu_;
    qtsa_job job_{};
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        list.emplace_back(std::string("qtsaccel ") + c.name, [&c] { return std::make_unique<QtsaOp>(c); });
    }
    return list;
}();

}  // namespace
