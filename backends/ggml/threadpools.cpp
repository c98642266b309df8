#include "threadpools.h"

#include <atomic>
#include <cstdio>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "library/guard.h"

namespace {

ggml_threadpool *new_pool(int threads) {
    ggml_threadpool_params params = gg.threadpool_params_default(threads);
    params.poll = 50;                      // a millisecond or so between runs costs no wake-up
    params.prio = GGML_SCHED_PRIO_NORMAL;  // more would reach the host's own thread
    ggml_threadpool *pool = gg.threadpool_new(&params);
    if (pool == nullptr) throw std::bad_alloc();
    return pool;
}

/* Threads begin with the name of the thread that makes them. */
class borrowed_name {
  public:
    explicit borrowed_name(const char *name) {
#if defined(__linux__)
        prctl(PR_GET_NAME, own_);
        prctl(PR_SET_NAME, name);
#else
        (void)name;
#endif
    }
    ~borrowed_name() {
#if defined(__linux__)
        prctl(PR_SET_NAME, own_);
#endif
    }

  private:
    [[maybe_unused]] char own_[16] = {};
};

}  // namespace

shim::threadpools::~threadpools() {
    guarded([&] {
        if (single_ != nullptr) gg.threadpool_free(single_);
        if (many_ != nullptr) gg.threadpool_free(many_);
    });
}

ggml_threadpool *shim::threadpools::single() {
    if (single_ == nullptr) single_ = new_pool(1);
    return single_;
}

ggml_threadpool *shim::threadpools::many(int threads) {
    if (many_ != nullptr && many_threads_ != threads) {
        gg.threadpool_free(many_);
        many_ = nullptr;
    }
    if (many_ == nullptr) {
        static std::atomic<unsigned> count;
        std::snprintf(name_, sizeof name_, "qtsa-%u", count.fetch_add(1) % 1000000000u);
        borrowed_name name(name_);
        many_ = new_pool(threads);
        many_threads_ = threads;
    }
    parked_ = false;
    return many_;
}

void shim::threadpools::park() {
    if (many_ == nullptr || parked_) return;
    gg.threadpool_pause(many_);
    parked_ = true;
}

void shim::threadpools::abandon() {
    many_ = nullptr;
    abandoned_ = true;
}
