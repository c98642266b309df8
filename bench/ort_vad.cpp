// Silero VAD on ONNX Runtime through its C API: one thread, the state's tensors
// swapped from window to window, all of them made once.
#include <array>

#include "ort.hpp"
#include "vad_job.hpp"

namespace {

using bench::must;
using bench::ort;

class OrtVad : public bench::VadJob {
  public:
    OrtVad() {
        OrtSessionOptions *options = bench::ort_options();
        must(ort()->CreateSession(bench::ort_environment(), data("silero_vad_op18_ifless.onnx").c_str(), options,
                                  &session_));
        ort()->ReleaseSessionOptions(options);

        must(ort()->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
        input_ = tensor(window_.data(), window_.size(), {1, samples}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
        rate_ = tensor(&rate_value_, 1, {}, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
        output_ = tensor(&probability_, 1, {1, 1}, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
        for (size_t i = 0; i < 2; i++) {
            state_[i] = tensor(state_values_[i].data(), state_values_[i].size(), {2, 1, 128},
                               ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
        }
    }

    ~OrtVad() override {
        for (OrtValue *value : {input_, rate_, output_, state_[0], state_[1]}) {
            ort()->ReleaseValue(value);
        }
        ort()->ReleaseMemoryInfo(memory_);
        ort()->ReleaseSession(session_);
    }

  protected:
    void reset() override { state_values_[now_].fill(0); }

    float probability(const float *window) override {
        static const char *const input_names[] = {"input", "state", "sr"};
        static const char *const output_names[] = {"output", "stateN"};
        std::copy(window, window + samples, window_.begin());
        const std::array<const OrtValue *, 3> inputs = {input_, state_[now_], rate_};
        std::array<OrtValue *, 2> outputs = {output_, state_[1 - now_]};
        must(ort()->Run(session_, nullptr, input_names, inputs.data(), inputs.size(), output_names, outputs.size(),
                        outputs.data()));
        now_ = 1 - now_;
        return probability_;
    }

  private:
    template <typename T>
    OrtValue *tensor(T *values, size_t count, const std::vector<int64_t> &shape, ONNXTensorElementDataType type) {
        OrtValue *value;
        must(ort()->CreateTensorWithDataAsOrtValue(memory_, values, count * sizeof(T), shape.data(), shape.size(), type,
                                                   &value));
        return value;
    }

    OrtSession *session_ = nullptr;
    OrtMemoryInfo *memory_ = nullptr;
    OrtValue *input_ = nullptr, *rate_ = nullptr, *output_ = nullptr;
    std::array<OrtValue *, 2> state_{};
    std::array<float, samples> window_{};
    std::array<std::array<float, 2 * 128>, 2> state_values_{};
    size_t now_ = 0;  // which state the next window reads
    int64_t rate_value_ = 16000;
    float probability_ = 0;
};

const bench::Entry entry("ONNX Runtime", [] { return std::make_unique<OrtVad>(); });

}  // namespace
