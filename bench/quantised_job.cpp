#include "quantised_job.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace bench {

namespace {

std::vector<float> numbers(int64_t n, uint32_t seed) {
    std::vector<float> x(static_cast<size_t>(n));
    for (float &v : x) {
        seed = seed * 1664525u + 1013904223u;
        v = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

}  // namespace

QuantisedJob::QuantisedJob(const QuantisedCase &c)
    : case_(c),
      weight_(ggml_row_size(c.type, c.size) * static_cast<size_t>(c.size)),
      x_(numbers(c.rows * c.size, 2)),
      y_(static_cast<size_t>(c.rows * c.size)) {
    ggml_get_type_traits(c.type)->from_float_ref(numbers(c.size * c.size, 1).data(), weight_.data(), c.size * c.size);
}

long QuantisedJob::units() const {
    constexpr double wanted = 2e9;  // operations in a round
    return std::max(1L, std::lround(wanted / (2.0 * static_cast<double>(case_.rows * case_.size * case_.size))));
}

void QuantisedJob::round() {
    std::fill(y_.begin(), y_.end(), 0.0f);
    for (long i = units(); i > 0; i--) {
        run(x_, y_);
    }
}

// Compares some of the sums with float64's over what the blocks mean; ggml takes x in
// 8-bit levels.
double QuantisedJob::check() {
    const auto n = static_cast<size_t>(case_.size);
    const size_t row_bytes = weight_.size() / n;
    std::vector<float> w(n);
    std::vector<double> errors;
    double worst = 0, top = 0;
    for (size_t i = 0; i < y_.size(); i += y_.size() / 61) {
        ggml_get_type_traits(case_.type)->to_float(&weight_[i % n * row_bytes], w.data(), case_.size);
        double sum = 0;
        for (size_t k = 0; k < n; k++) {
            sum += static_cast<double>(x_[i / n * n + k]) * w[k];
        }
        worst = std::max(worst, std::fabs(static_cast<double>(y_[i]) - sum));
        top = std::max(top, std::fabs(sum));
    }
    if (!(worst <= 2e-2 * top)) {
        throw std::runtime_error(std::string(case_.name) + ": error " + std::to_string(worst / top));
    }
    return worst / top;
}

}  // namespace bench
