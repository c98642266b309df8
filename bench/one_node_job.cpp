#include "one_node_job.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace bench {

OneNodeJob::OneNodeJob(Node node) : node_(node) {
    for (size_t i = 0; i < width; i++) {
        a_[i] = std::sin(static_cast<float>(i));
        b_[i] = std::cos(static_cast<float>(i));
        for (size_t j = 0; j < width; j++) {
            weight_[i][j] = std::sin(static_cast<float>(i * width + j));
        }
    }
}

void OneNodeJob::round() {
    out_.fill(0);
    for (long i = 0; i < runs; i++) {
        run(a_, b_, out_);
    }
}

double OneNodeJob::check() {
    constexpr double tolerance = 1e-5;
    double worst = 0;
    for (size_t i = 0; i < width; i++) {
        double want = 0;
        if (node_ == Node::add) {
            want = static_cast<double>(a_[i]) + b_[i];
        } else {
            for (size_t j = 0; j < width; j++) {
                want += static_cast<double>(weight_[i][j]) * a_[j];
            }
        }
        worst = std::max(worst, std::fabs(out_[i] - want));
    }
    if (!(worst <= tolerance)) {
        throw std::runtime_error("one node: error " + std::to_string(worst));
    }
    return worst;
}

}  // namespace bench
