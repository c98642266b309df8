/* The first failure after which something cannot be trusted. */
#ifndef SHIM_POISON_H
#define SHIM_POISON_H

#include <atomic>

#include "guard.h"

namespace shim {

/* Set once, by whoever is first; from then on every use fails with that failure. */
class poison {
  public:
    /* Takes the words from the calling thread's last failure. */
    void set(status code) noexcept;

    /* Fails if it is set; what names the thing that is lost. */
    void check(const char *what) const {
        if (code_.load(std::memory_order_acquire) != ok) refuse(what);
    }

    bool is_set() const { return code_.load(std::memory_order_acquire) != ok; }

  private:
    [[noreturn]] void refuse(const char *what) const;

    std::atomic_flag claimed_ = ATOMIC_FLAG_INIT;
    std::atomic<int32_t> code_{ok};
    char text_[2048] = {};  // written before the code is set, by the one who claimed it
};

}  // namespace shim

#endif
