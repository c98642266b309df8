// The weight of a case in ggml's form, for those that take it so or make theirs of it.
#pragma once

#include <ggml.h>

#include <string>
#include <vector>

#include "ops_job.hpp"

namespace bench {

inline ggml_type weight_type(const OpsCase &c) {
    const std::string dtype = c.dtype;
    return dtype == "f16"    ? GGML_TYPE_F16
           : dtype == "bf16" ? GGML_TYPE_BF16
           : dtype == "q8_0" ? GGML_TYPE_Q8_0
           : dtype == "q4_0" ? GGML_TYPE_Q4_0
                             : GGML_TYPE_F32;
}

inline std::vector<char> packed(const OpsCase &c, const std::vector<float> &weight) {
    const ggml_type type = weight_type(c);
    const auto n = static_cast<int64_t>(weight.size());
    std::vector<char> data(ggml_row_size(type, n));
    if (type == GGML_TYPE_F32) {
        const auto *bytes = reinterpret_cast<const char *>(weight.data());
        data.assign(bytes, bytes + data.size());
    } else {
        ggml_get_type_traits(type)->from_float_ref(weight.data(), data.data(), n);
    }
    return data;
}

}  // namespace bench
