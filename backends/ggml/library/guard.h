/*
 * Keeps failures of ggml inside the shim: exceptions of its C++ plugins, and
 * failed assertions, which would end the process.
 */
#ifndef SHIM_GUARD_H
#define SHIM_GUARD_H

#include <cstdint>
#include <exception>
#include <new>

#include "status_codes.h"

namespace shim {

/* Thrown out of ggml's abort callback; deliberately no std::exception, so that no
 * handler in between takes it. */
struct assertion_failed {};

/* Thrown by the shim itself, its words already kept. */
struct failed {
    status code;
};

/* Counts how deep the calling thread is in the shim: only then may the abort
 * callback throw. */
struct depth_scope {
    depth_scope() noexcept;
    ~depth_scope();
};

/* Keeps the words for the calling thread. */
void keep_failure(const char *format, ...) noexcept __attribute__((format(printf, 1, 2)));
[[noreturn]] void fail(status code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Turns the exception in flight into a status and keeps its words. */
status current_failure() noexcept;

/* Runs f; whatever it throws becomes a status. */
template <class F>
status guarded(F &&f) noexcept {
    depth_scope scope;
    try {
        f();
        return ok;
    } catch (...) {
        return current_failure();
    }
}

}  // namespace shim

#endif
