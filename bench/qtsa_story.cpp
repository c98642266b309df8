// stories260K through qtsaccel's C API: the example's model.
#include <story_model.h>

#include <array>

#include "qtsa_cpu.hpp"
#include "story_job.hpp"

namespace {

class QtsaStory : public bench::StoryJob {
  public:
    QtsaStory() { bench::must(story_open(cpu_.get(), data("stories260K_f32.gguf").c_str(), &model_)); }
    ~QtsaStory() override { story_close(&model_); }

  protected:
    void reset() override { bench::must(story_reset(&model_)); }

    const float *step(int32_t token, int32_t position) override {
        bench::must(story_step(&model_, token, position, logits_.data()));
        return logits_.data();
    }

  private:
    static_assert(STORY_VOCABULARY == vocabulary, "the example's model is another one");

    bench::QtsaCpu cpu_;
    story_model model_{};
    std::array<float, vocabulary> logits_{};
};

const bench::Entry entry("qtsaccel", [] { return std::make_unique<QtsaStory>(); });

}  // namespace
