// The voice-activity job: the speech probability of each window of a recording.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "contest.hpp"

namespace bench {

// A window is 512 new samples after the last 64 of the window before it, zeros
// before the first; the last window is filled up with zeros.
class VadJob : public Contestant {
  public:
    static constexpr size_t context = 64, fresh = 512, samples = context + fresh;

    VadJob();

    long units() const override { return static_cast<long>(golden_.size()); }
    double check() override;

    // The job itself, over the windows below.
    void round() override;

  protected:
    static std::string data(const std::string &file);

    // Begins a new recording.
    virtual void reset() = 0;
    // The probability that a window holds speech.
    virtual float probability(const float *window) = 0;

  private:
    std::vector<float> windows_;  // [windows, samples]
    std::vector<double> golden_;
    std::vector<float> probabilities_;
};

}  // namespace bench
