/* How long a stream's threads had to wait for a CPU. */
#ifndef SHIM_CONTENTION_H
#define SHIM_CONTENTION_H

#include <stdint.h>

#ifdef __cplusplus
#include <vector>

namespace shim {

/*
 * Reads from the scheduler's statistics (Linux: /proc/self/task/<id>/schedstat,
 * second number) how long threads were ready to run and did not.
 */
class waiting {
  public:
    /*
     * The longest that one of the threads, those with this name and the calling one,
     * has waited since the call before, in nanoseconds. A thread that is new counts
     * from now on. 0 where the system does not tell.
     */
    int64_t since_last(const char *workers);

  private:
    void find(const char *workers);

    char workers_[16] = {};
    struct thread {
        int id = 0;
        int64_t so_far = -1;  // -1: not read yet
    };
    std::vector<thread> found_;
    thread caller_;
};

}  // namespace shim

extern "C" {
#endif

struct shim_stream;
int64_t shim_stream_waited(struct shim_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
