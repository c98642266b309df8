#include "files.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace bench {

namespace {

// Where the value of "key": begins, from a place on.
size_t value_of(const std::string &json, const std::string &key, size_t from = 0) {
    const std::string quoted = "\"" + key + "\":";
    const size_t at = json.find(quoted, from);
    if (at == std::string::npos) {
        throw std::runtime_error("no " + quoted + " where it should be");
    }
    return at + quoted.size();
}

std::vector<double> numbers_at(const std::string &json, size_t at) {
    std::vector<double> numbers;
    const char *p = json.c_str() + json.find('[', at);
    while (*p != ']') {
        char *end;
        numbers.push_back(std::strtod(++p, &end));
        p = end;
    }
    return numbers;
}

template <typename T>
T little_endian(const std::string &bytes, size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

}  // namespace

std::string read_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        throw std::runtime_error("cannot open " + path);
    }
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
}

std::vector<double> read_numbers(const std::string &path, const std::string &key) {
    const std::string json = read_file(path);
    return numbers_at(json, value_of(json, key));
}

std::vector<float> read_wav(const std::string &path) {
    const std::string wav = read_file(path);
    const size_t data = wav.find("data");
    if (data == std::string::npos) {
        throw std::runtime_error(path + " has no data chunk");
    }
    std::vector<float> samples(little_endian<uint32_t>(wav, data + 4) / 2);
    for (size_t i = 0; i < samples.size(); i++) {
        samples[i] = static_cast<float>(little_endian<int16_t>(wav, data + 8 + 2 * i)) / 32768.0f;
    }
    return samples;
}

std::vector<float> Safetensors::floats(const std::string &name) const {
    constexpr size_t length_bytes = 8;
    const auto header_bytes = little_endian<uint64_t>(bytes_, 0);
    const std::string header = bytes_.substr(length_bytes, header_bytes);
    const std::vector<double> range = numbers_at(header, value_of(header, "data_offsets", value_of(header, name)));
    const auto begin = static_cast<size_t>(range[0]), end = static_cast<size_t>(range[1]);
    std::vector<float> values((end - begin) / sizeof(float));
    std::memcpy(values.data(), bytes_.data() + length_bytes + header_bytes + begin, end - begin);
    return values;
}

}  // namespace bench
