#include "story_job.hpp"

#include <algorithm>
#include <stdexcept>

#include "files.hpp"

namespace bench {

std::string StoryJob::data(const std::string &file) { return place("QTSACCEL_SHARED_DATA") + "/stories260k/" + file; }

StoryJob::StoryJob() : golden_(read_numbers(data("golden_greedy_tokens.json"), "tokens")), tokens_(golden_.size()) {
    tokens_[0] = static_cast<int32_t>(golden_[0]);
}

void StoryJob::round() {
    reset();
    for (size_t i = 1; i < tokens_.size(); i++) {
        const float *logits = step(tokens_[i - 1], static_cast<int32_t>(i - 1));
        tokens_[i] = static_cast<int32_t>(std::max_element(logits, logits + vocabulary) - logits);
    }
}

double StoryJob::check() {
    for (size_t i = 0; i < tokens_.size(); i++) {
        if (tokens_[i] != static_cast<int32_t>(golden_[i])) {
            throw std::runtime_error("token " + std::to_string(i) + " is " + std::to_string(tokens_[i]) + ", golden " +
                                     std::to_string(static_cast<int>(golden_[i])));
        }
    }
    return 0;
}

}  // namespace bench
