// The few files that the contests read: trained weights, a recording, goldens.
// They are trusted, so a missing name throws and nothing else is checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

std::string read_file(const std::string &path);

// The numbers of the array at key in a JSON file.
std::vector<double> read_numbers(const std::string &path, const std::string &key);

// The samples of a mono 16-bit WAV file, in [-1, 1).
std::vector<float> read_wav(const std::string &path);

// A safetensors file of f32 tensors.
class Safetensors {
  public:
    explicit Safetensors(const std::string &path) : bytes_(read_file(path)) {}

    std::vector<float> floats(const std::string &name) const;

  private:
    std::string bytes_;
};

}  // namespace bench
