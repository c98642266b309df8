// Single operators: products with weights of several types, a convolution, an
// attention, and a product so small that it is all overhead.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"

namespace bench {

enum class Operation { product, convolution, attention };

// What one field of dist/bench/ops.json is about.
struct OpsCase {
    const char *name;
    Operation operation;
    const char *dtype;  // of a product's weight
    int64_t rows, n_in, n_out;
    long units;  // calls in a round
};

// A convolution is of a side by side image with channels to as many, 3 by 3.
constexpr int64_t conv_side = 32, conv_channels = 128;
// An attention is of as many queries as keys.
constexpr int64_t att_rows = 512, att_heads = 8, att_dim = 64;

constexpr OpsCase ops_cases[] = {
    {"overhead", Operation::product, "f32", 1, 64, 64, 5000},
    {"matmul_f32_512", Operation::product, "f32", 512, 2048, 2048, 1},
    {"matmul_f16_512", Operation::product, "f16", 512, 2048, 2048, 1},
    {"matmul_bf16_512", Operation::product, "bf16", 512, 2048, 2048, 1},
    {"matmul_q8_0_512", Operation::product, "q8_0", 512, 2048, 2048, 1},
    {"matmul_q4_0_512", Operation::product, "q4_0", 512, 2048, 2048, 1},
    {"matmul_f32_1", Operation::product, "f32", 1, 2048, 2048, 20},
    {"conv2d", Operation::convolution, "f32", 0, 0, 0, 1},
    {"attention", Operation::attention, "f32", 0, 0, 0, 1},
};

class OpsJob : public Contestant {
  public:
    // channels_first: a convolution's image comes and goes as [channels, side, side],
    // which some like better; bringing it there is no part of the job.
    explicit OpsJob(const OpsCase &c, bool channels_first = false);

    long units() const override { return case_.units; }
    void round() override;
    double check() override;

  protected:
    // x (or q, k and v one after the other) to y.
    virtual void run(const float *x, float *y) = 0;

    const OpsCase &what() const { return case_; }
    // A product's weight [n_out, n_in], a convolution's [n_out, 3, 3, c_in]: numbers that
    // bf16 has and, if it is the case's type, q4_0; q8_0 and f16 nearly.
    const std::vector<float> &weight() const { return weight_; }
    // A convolution's as [n_out, c_in, 3, 3].
    std::vector<float> channels_first_weight() const;

  private:
    double want(size_t i) const;

    OpsCase case_;
    bool channels_first_;
    std::vector<float> weight_, x_;  // the channels last
    std::vector<float> given_, y_;   // as the contestant has them
};

}  // namespace bench
