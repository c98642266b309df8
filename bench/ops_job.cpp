#include "ops_job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace bench {

namespace {

float as_bf16(float v) {
    uint32_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    bits &= 0xffff0000u;
    std::memcpy(&v, &bits, sizeof bits);
    return v;
}

// q4_0 has eighths where a block's largest magnitude is that of -1.
float as_eighth(float v) { return std::floor(v * 8) / 8; }

// [rows, columns] as [columns, rows].
std::vector<float> transposed(const std::vector<float> &x, size_t columns) {
    const size_t rows = x.size() / columns;
    std::vector<float> y(x.size());
    for (size_t i = 0; i < x.size(); i++) {
        y[i % columns * rows + i / columns] = x[i];
    }
    return y;
}

std::vector<float> numbers(size_t n, uint32_t seed) {
    std::vector<float> x(n);
    for (float &v : x) {
        seed = seed * 1664525u + 1013904223u;
        v = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
    }
    return x;
}

size_t inputs(const OpsCase &c) {
    switch (c.operation) {
        case Operation::product:
            return static_cast<size_t>(c.rows * c.n_in);
        case Operation::convolution:
            return static_cast<size_t>(conv_side * conv_side * conv_channels);
        case Operation::attention:
            return static_cast<size_t>(3 * att_rows * att_heads * att_dim);
    }
    return 0;
}

size_t outputs(const OpsCase &c) {
    switch (c.operation) {
        case Operation::product:
            return static_cast<size_t>(c.rows * c.n_out);
        case Operation::convolution:
            return static_cast<size_t>(conv_side * conv_side * conv_channels);
        case Operation::attention:
            return static_cast<size_t>(att_rows * att_heads * att_dim);
    }
    return 0;
}

size_t weights(const OpsCase &c) {
    switch (c.operation) {
        case Operation::product:
            return static_cast<size_t>(c.n_out * c.n_in);
        case Operation::convolution:
            return static_cast<size_t>(conv_channels * 9 * conv_channels);
        case Operation::attention:
            return 0;
    }
    return 0;
}

}  // namespace

OpsJob::OpsJob(const OpsCase &c, bool channels_first)
    : case_(c),
      channels_first_(channels_first),
      weight_(numbers(weights(c), 1)),
      x_(numbers(inputs(c), 2)),
      given_(channels_first ? transposed(x_, conv_channels) : x_),
      y_(outputs(c)) {
    const bool eighths = std::string(c.dtype) == "q4_0";
    std::transform(weight_.begin(), weight_.end(), weight_.begin(), eighths ? as_eighth : as_bf16);
    for (size_t block = 0; eighths && block < weight_.size(); block += 32) {
        weight_[block] = -1;
    }
}

std::vector<float> OpsJob::channels_first_weight() const {
    constexpr size_t channels = conv_channels, taps = 9;
    std::vector<float> k(weight_.size());
    for (size_t i = 0; i < k.size(); i++) {
        k[(i / channels / taps * channels + i % channels) * taps + i / channels % taps] = weight_[i];
    }
    return k;
}

void OpsJob::round() {
    std::fill(y_.begin(), y_.end(), 0.0f);
    for (long i = 0; i < case_.units; i++) {
        run(given_.data(), y_.data());
    }
}

// Element i of the result, in double.
double OpsJob::want(size_t i) const {
    double sum = 0;
    switch (case_.operation) {
        case Operation::product: {
            const size_t n = static_cast<size_t>(case_.n_in), out = static_cast<size_t>(case_.n_out);
            for (size_t k = 0; k < n; k++) {
                sum += static_cast<double>(x_[i / out * n + k]) * weight_[i % out * n + k];
            }
            return sum;
        }
        case Operation::convolution: {
            const auto at = static_cast<int64_t>(i);
            const int64_t o = at % conv_channels, px = at / conv_channels % conv_side,
                          py = at / conv_channels / conv_side;
            for (int64_t ky = 0; ky < 3; ky++) {
                for (int64_t kx = 0; kx < 3; kx++) {
                    const int64_t iy = py + ky - 1, ix = px + kx - 1;
                    if (iy < 0 || iy >= conv_side || ix < 0 || ix >= conv_side) continue;
                    for (int64_t c = 0; c < conv_channels; c++) {
                        sum += static_cast<double>(x_[static_cast<size_t>((iy * conv_side + ix) * conv_channels + c)]) *
                               weight_[static_cast<size_t>(((o * 3 + ky) * 3 + kx) * conv_channels + c)];
                    }
                }
            }
            return sum;
        }
        case Operation::attention:
            break;
    }
    constexpr auto width = static_cast<size_t>(att_heads * att_dim), dim = static_cast<size_t>(att_dim);
    const size_t row = i / width, head = i % width / dim * dim, size = width * static_cast<size_t>(att_rows);
    double total = 0;
    for (size_t key = 0; key < static_cast<size_t>(att_rows); key++) {
        double score = 0;
        for (size_t d = 0; d < dim; d++) {
            score += static_cast<double>(x_[row * width + head + d]) * x_[size + key * width + head + d];
        }
        const double p = std::exp(score / std::sqrt(static_cast<double>(dim)));
        total += p;
        sum += p * x_[2 * size + key * width + i % width];
    }
    return sum / total;
}

double OpsJob::check() {
    const std::string dtype = case_.dtype;
    const double tolerance = dtype == "f32" ? 1e-4 : dtype == "f16" ? 2e-3 : 2e-2;
    const std::vector<float> y = channels_first_ ? transposed(y_, y_.size() / conv_channels) : y_;
    double worst = 0, top = 1;
    const size_t step = std::max<size_t>(1, y.size() / 61);
    std::vector<double> wants;
    for (size_t i = 0; i < y_.size(); i += step) {
        wants.push_back(want(i));
        top = std::max(top, std::fabs(wants.back()));
    }
    for (size_t i = 0; i < wants.size(); i++) {
        worst = std::max(worst, std::fabs(y[i * step] - wants[i]) / top);
    }
    if (!(worst <= tolerance)) {
        throw std::runtime_error(std::string(case_.name) + ": error " + std::to_string(worst));
    }
    // Threads that still spin after their work shall not take the next one's time.
    std::this_thread::sleep_for(std::chrono::milliseconds(threads() > 1 ? 5 : 0));
    return worst;
}

}  // namespace bench
