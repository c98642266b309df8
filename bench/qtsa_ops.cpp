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
        qtsa_matrix_desc desc = qtsa_matrix_desc_init();
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
        must(qtsa_matrix_create(cpu_.get(), &desc, &product_.weight));
        product_.n_out = desc.shape[0];
    }
    ~QtsaOp() override { qtsa_matrix_free(product_.weight); }

  protected:
    void run(const float *x, float *y) override {
        const int64_t size = bench::att_rows * bench::att_heads * bench::att_dim;
        product_.y = y;
        switch (what().operation) {
            case Operation::product:
                must(qtsa_matmul(cpu_.get(), x, what().rows, what().n_in, &product_, 1, 0));
                break;
            case Operation::convolution: {
                const qtsa_conv2d_geometry g = {sizeof g, bench::conv_side, bench::conv_side, bench::conv_channels, 3,
                                                1,        bench::conv_side, bench::conv_side};
                must(qtsa_conv2d(cpu_.get(), x, &g, nullptr, &product_, 0));
                break;
            }
            case Operation::attention: {
                qtsa_attention_desc d{};
                d.struct_size = sizeof d;
                d.q = x, d.k = x + size, d.v = x + 2 * size, d.out = y;
                d.tq = d.tk = bench::att_rows;
                d.heads = d.kv_heads = bench::att_heads;
                d.head_dim = bench::att_dim;
                must(qtsa_attention(cpu_.get(), &d, 0));
                break;
            }
        }
    }

  private:
    bench::QtsaCpu cpu_;
    qtsa_product product_ = {sizeof(qtsa_product), nullptr, nullptr, nullptr, 0, 0, 0};
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::OpsCase &c : bench::ops_cases) {
        list.emplace_back(std::string("qtsaccel ") + c.name, [&c] { return std::make_unique<QtsaOp>(c); });
    }
    return list;
}();

}  // namespace
