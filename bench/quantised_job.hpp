// Products with quantised weights, through kept graphs: what a language model does when
// it writes (few rows) and when it reads (many).
#pragma once

#include <ggml.h>

#include <cstdint>
#include <vector>

#include "contest.hpp"

namespace bench {

struct QuantisedCase {
    const char *name;  // as its fields in dist/bench/weights.json begin
    ggml_type type;
    int64_t size;  // the weight is [size, size]
    int64_t rows;
};

constexpr QuantisedCase quantised_cases[] = {
    {"q4_0_2048_1", GGML_TYPE_Q4_0, 2048, 1},   {"q4_0_2048_8", GGML_TYPE_Q4_0, 2048, 8},
    {"q4_0_2048_64", GGML_TYPE_Q4_0, 2048, 64}, {"q4_0_2048_512", GGML_TYPE_Q4_0, 2048, 512},
    {"q4_0_4096_1", GGML_TYPE_Q4_0, 4096, 1},   {"q4_0_4096_8", GGML_TYPE_Q4_0, 4096, 8},
    {"q4_0_4096_64", GGML_TYPE_Q4_0, 4096, 64}, {"q4_0_4096_512", GGML_TYPE_Q4_0, 4096, 512},
    {"q4_K_2048_1", GGML_TYPE_Q4_K, 2048, 1},   {"q4_K_2048_8", GGML_TYPE_Q4_K, 2048, 8},
    {"q4_K_2048_64", GGML_TYPE_Q4_K, 2048, 64}, {"q4_K_2048_512", GGML_TYPE_Q4_K, 2048, 512},
    {"q4_K_4096_1", GGML_TYPE_Q4_K, 4096, 1},   {"q4_K_4096_8", GGML_TYPE_Q4_K, 4096, 8},
    {"q4_K_4096_64", GGML_TYPE_Q4_K, 4096, 64}, {"q4_K_4096_512", GGML_TYPE_Q4_K, 4096, 512},
};

class QuantisedJob : public Contestant {
  public:
    explicit QuantisedJob(const QuantisedCase &c);

    long units() const override;
    void round() override;
    double check() override;

  protected:
    // x [rows, size] to y [rows, size].
    virtual void run(const std::vector<float> &x, std::vector<float> &y) = 0;

    const QuantisedCase &what() const { return case_; }
    // In ggml's blocks.
    const std::vector<char> &weight() const { return weight_; }

  private:
    QuantisedCase case_;
    std::vector<char> weight_;
    std::vector<float> x_, y_;
};

}  // namespace bench
