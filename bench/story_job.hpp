// The story job: the greedy continuation of stories260K from the token that
// begins a text, one token a step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"

namespace bench {

class StoryJob : public Contestant {
  public:
    static constexpr int vocabulary = 512;

    StoryJob();

    long units() const override { return static_cast<long>(golden_.size()) - 1; }
    void round() override;
    double check() override;

  protected:
    static std::string data(const std::string &file);

    // Makes the model forget what it has seen.
    virtual void reset() = 0;
    // The logits [vocabulary] after a token at a position, valid until the next call.
    virtual const float *step(int32_t token, int32_t position) = 0;

  private:
    std::vector<double> golden_;
    std::vector<int32_t> tokens_;
};

}  // namespace bench
