#include "poison.h"

#include <cstring>

#include "library.h"

void shim::poison::set(status code) noexcept {
    if (claimed_.test_and_set()) return;
    std::strncpy(text_, shim_failure_text(), sizeof text_ - 1);
    code_.store(code, std::memory_order_release);
}

void shim::poison::refuse(const char *what) const {
    fail(status(code_.load(std::memory_order_acquire)), "%s has failed before and must be made anew: %s", what, text_);
}
