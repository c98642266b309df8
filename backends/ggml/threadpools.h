/* The kept threads of a stream's CPU runs. */
#ifndef SHIM_THREADPOOLS_H
#define SHIM_THREADPOOLS_H

#include "library/table.h"

namespace shim {

/*
 * Two pools: one without workers for runs on the calling thread alone, and one for
 * runs on several. A run on one thread would wake the workers of a larger pool.
 * Each is made when it is needed first.
 */
class threadpools {
  public:
    threadpools() = default;
    ~threadpools();
    threadpools(const threadpools &) = delete;
    threadpools &operator=(const threadpools &) = delete;

    ggml_threadpool *single();
    ggml_threadpool *many(int threads);

    /* Sends the workers to sleep at once, instead of after their time of polling. */
    void park();

    /* The name that the workers go by in /proc; "" while there are none. */
    const char *workers_name() const { return many_ != nullptr ? name_ : ""; }

    /* The workers wait for a thread that will never come: leave them. */
    void abandon();
    bool abandoned() const { return abandoned_; }

  private:
    ggml_threadpool *single_ = nullptr;
    ggml_threadpool *many_ = nullptr;
    int many_threads_ = 0;
    bool parked_ = false;
    bool abandoned_ = false;
    char name_[16] = {};
};

}  // namespace shim

#endif
