/* Runs a plan n times with the same arguments, so that bench.py can time the C API
 * without Python's part in it. Gives nanoseconds of CPU time a run,
 * or -1 on failure. */
#include <time.h>

#include "qtsaccel.h"

typedef qtsa_status (*run_function)(qtsa_plan, const qtsa_input *, size_t, const qtsa_output *, size_t,
                                    const qtsa_run_options *);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

double loop(run_function run, qtsa_plan plan, const qtsa_input *inputs, const qtsa_output *outputs,
            const qtsa_run_options *options, int n) {
    const double start = now();
    for (int i = 0; i < n; i++) {
        if (run(plan, inputs, 1, outputs, 1, options) != QTSA_OK) {
            return -1;
        }
    }
    return (now() - start) / n;
}
