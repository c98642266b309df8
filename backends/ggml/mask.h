/* The masks of attention: which keys a query sees, as numbers added to the scores. */
#ifndef SHIM_MASK_H
#define SHIM_MASK_H

#include <cstdint>

struct ggml_tensor;

namespace shim {

/* A mask that is made from the queries' positions; see shim_mask(). */
struct mask {
    int32_t input;  // that holds the positions, -1 for none
    ggml_tensor *leaf;
    int64_t window;
    bool wide;  // positions are i64

    /* Writes t rows of n numbers to dst; positions may be null. */
    void fill(void *dst, const void *positions) const;
};

}  // namespace shim

#endif
