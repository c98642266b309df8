#include "vad_job.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "files.hpp"

namespace bench {

std::string VadJob::data(const std::string &file) { return place("QTSACCEL_SHARED_DATA") + "/silero-vad/" + file; }

VadJob::VadJob() : golden_(read_numbers(data("golden_probs_jfk.json"), "probs")), probabilities_(golden_.size()) {
    std::vector<float> wav = read_wav(data("jfk.wav"));
    wav.insert(wav.begin(), context, 0.0f);
    wav.resize(context + golden_.size() * fresh);
    for (size_t w = 0; w < golden_.size(); w++) {
        const auto begin = wav.begin() + static_cast<std::ptrdiff_t>(w * fresh);
        windows_.insert(windows_.end(), begin, begin + samples);
    }
}

void VadJob::round() {
    reset();
    for (size_t w = 0; w < probabilities_.size(); w++) {
        probabilities_[w] = probability(&windows_[w * samples]);
    }
}

double VadJob::check() {
    constexpr double tolerance = 1e-4;
    double worst = 0;
    for (size_t w = 0; w < golden_.size(); w++) {
        const double error = std::fabs(probabilities_[w] - golden_[w]);
        if (!(error <= tolerance)) {
            throw std::runtime_error("window " + std::to_string(w) + ": probability " +
                                     std::to_string(probabilities_[w]) + ", golden " + std::to_string(golden_[w]));
        }
        worst = std::max(worst, error);
    }
    return worst;
}

}  // namespace bench
