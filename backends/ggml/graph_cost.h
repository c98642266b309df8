/* What a graph costs on the CPU, roughly: enough to tell whether threads are worth it. */
#ifndef SHIM_GRAPH_COST_H
#define SHIM_GRAPH_COST_H

#include "library/table.h"

namespace shim {

struct graph_cost {
    double ns = 0;      // that moving the tensors takes on one thread
    int64_t steps = 0;  // operators, after each of which the threads wait for each other

    void add(const ggml_tensor *t);

    /* Whether so many threads are done before one would be, with these operations. */
    bool worth_sharing(int threads, double flops) const;
};

}  // namespace shim

#endif
