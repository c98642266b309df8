// Silero VAD through qtsaccel's C API: the example's model.
#include <vad_model.h>

#include "qtsa_cpu.hpp"
#include "vad_job.hpp"

namespace {

class QtsaVad : public bench::VadJob {
  public:
    QtsaVad() { bench::must(vad_open(cpu_.get(), data("silero_vad_v6.2_16k_from_onnx.safetensors").c_str(), &model_)); }
    ~QtsaVad() override { vad_close(&model_); }

  protected:
    void reset() override { bench::must(vad_reset(&model_)); }

    float probability(const float *window) override {
        float probability = 0;
        bench::must(vad_window(&model_, window, &probability));
        return probability;
    }

  private:
    static_assert(VAD_WINDOW == samples, "the example's model takes another window");

    bench::QtsaCpu cpu_;
    vad_model model_{};
};

const bench::Entry entry("qtsaccel", [] { return std::make_unique<QtsaVad>(); });

}  // namespace
