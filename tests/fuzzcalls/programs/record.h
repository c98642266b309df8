/* What a child tells its parent, in memory that both map: it is there when the child
 * is no more. */
#ifndef FUZZCALLS_RECORD_H
#define FUZZCALLS_RECORD_H

#include <cstddef>
#include <cstdint>

struct Operator {
    const char *name;
    struct Input {
        int dtypes; /* as core/ops orders its classes: f32, weights, floats, indices, any */
        int least_rank, most_rank;
        bool optional, variadic;
    } inputs[9];
    struct Attribute {
        const char *name;
        int type;
        bool required;
    } attributes[10];
    size_t outputs;
};

#include "table.h"

enum Function {
#define F(name) F_##name,
    FUNCTIONS(F)
#undef F
        n_functions
};

struct Call {
    uint64_t step;
    int32_t function;
    int32_t n;
    uint64_t arguments[12];
};

/* One thread's calls; the last are kept. */
struct Trace {
    static constexpr size_t kept = 16;
    uint64_t n;
    uint64_t ok[n_functions], failed[n_functions];
    uint64_t statuses[32]; /* by -status */
    uint64_t values;       /* results that were computed again here and were right */
    Call last[kept];
};

struct Record {
    static constexpr size_t most_threads = 16;
    uint64_t sequence; /* that the child is at */
    uint64_t sequences;
    uint64_t threads;     /* of that sequence */
    char violation[2048]; /* what was not as promised */
    Trace traces[most_threads];
};

#endif
