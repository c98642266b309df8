/* What ggml's products on the CPU make of numbers that they round; see check_body.h of the kernels. */
#ifndef SHIM_PRODUCT_CHECK_H
#define SHIM_PRODUCT_CHECK_H

#include "library/table.h"

namespace shim {

/* Between which magnitudes the largest of a row of x may be. */
struct range {
    float least, most;
};

/* That of ggml's product with a weight of a type. */
range range_of_product(ggml_type weight);

}  // namespace shim

#endif
