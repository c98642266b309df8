#include "rope_frequencies.h"

#include <cmath>

#include "library/table.h"

void shim::rope_frequencies::fill(float *dst) const {
    const int64_t half = leaf->ne[0];
    for (int64_t i = 0; i < half; i++) {
        const double f = scale * std::pow(base, -double(i) / double(half));
        dst[i] = float(f);
        dst[half + i] = float(f - dst[i]);
    }
}
