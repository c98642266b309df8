// Products with quantised weights on raw ggml: with the weight in the buffer type that
// rearranges it for the processor, and as it is stored.
#include <cstring>

#include "quantised_job.hpp"
#include "raw_ggml.hpp"

namespace {

ggml_backend_buffer_type_t *rearranging_types() {
    ggml_backend_dev_t device = ggml_backend_get_device(bench::raw_cpu());
    const auto types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
    return types(device);
}

class RawQuantised : public bench::QuantisedJob {
  public:
    RawQuantised(const bench::QuantisedCase &c, bool rearranged)
        : QuantisedJob(c), weights_(ggml_init({ggml_tensor_overhead(), nullptr, true})) {
        ggml_tensor *w = ggml_new_tensor_2d(weights_, c.type, c.size, c.size);
        place(w, rearranged);
        ggml_backend_tensor_set(w, weight().data(), 0, weight().size());
        in_ = ggml_new_tensor_2d(graph_.ctx(), GGML_TYPE_F32, c.size, c.rows);
        out_ = ggml_mul_mat(graph_.ctx(), w, in_);
        graph_.expand(out_);
        graph_.allocate();
    }
    ~RawQuantised() override {
        ggml_backend_buffer_free(buffer_);
        ggml_free(weights_);
    }

  protected:
    void run(const std::vector<float> &x, std::vector<float> &y) override {
        std::memcpy(in_->data, x.data(), ggml_nbytes(in_));
        graph_.compute();
        std::memcpy(y.data(), out_->data, ggml_nbytes(out_));
    }

  private:
    void place(ggml_tensor *w, bool rearranged) {
        ggml_backend_buffer_type_t *type = rearranging_types();
        if (rearranged && (type == nullptr || *type == nullptr)) {
            throw bench::CannotDo("this processor has no such buffer type");
        }
        ggml_backend_buffer_type_t in = rearranged ? *type : ggml_backend_get_default_buffer_type(bench::raw_cpu());
        buffer_ = ggml_backend_buft_alloc_buffer(in, ggml_backend_buft_get_alloc_size(in, w));
        ggml_backend_tensor_alloc(buffer_, w, ggml_backend_buffer_get_base(buffer_));
    }

    bench::RawGraph graph_;
    ggml_context *weights_;
    ggml_backend_buffer_t buffer_ = nullptr;
    ggml_tensor *in_, *out_;
};

const auto entries = [] {
    std::vector<bench::Entry> list;
    for (const bench::QuantisedCase &c : bench::quantised_cases) {
        list.emplace_back(std::string("raw ggml ") + c.name, [&c] { return std::make_unique<RawQuantised>(c, true); });
        list.emplace_back(std::string("raw ggml, as stored ") + c.name,
                          [&c] { return std::make_unique<RawQuantised>(c, false); });
    }
    return list;
}();

}  // namespace
