#include "guard.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

#include "library.h"
#include "log.h"
#include "table.h"

namespace shim {
namespace {

// Go makes the thread-local storage of a shared library static, and dlopen() has a
// few hundred bytes of that for all libraries together: what is large is allocated
// at its first use.
constexpr size_t max_words = 2048;
thread_local std::unique_ptr<char[]> words;

const char *kept_words() { return words ? words.get() : ""; }

void keep(const char *format, va_list args) {
    if (!words) words.reset(new (std::nothrow) char[max_words]);
    if (words) std::vsnprintf(words.get(), max_words, format, args);
}

thread_local int depth;
thread_local status code = ok;

std::terminate_handler host_terminate;

/* What drivers and plugins write when a device is gone, or its memory. */
status classify(const char *text) {
    for (const char *lost : {"DeviceLost", "device lost", "CUDA error", "DEVICE_LOST"}) {
        if (std::strstr(text, lost) != nullptr) return device_lost;
    }
    // The last ones are what ggml asserts of what it has allocated for itself.
    for (const char *memory : {"OutOfDeviceMemory", "OutOfHostMemory", "out of memory",
                               "GGML_ASSERT(ctx->mem_buffer != NULL)", "GGML_ASSERT(galloc"}) {
        if (std::strstr(text, memory) != nullptr) return out_of_memory;
    }
    return internal;
}

/*
 * ggml calls this on a failed assertion and ends the process when it returns. Above
 * the shim the thread is ours to unwind. On one of ggml's own threads nothing
 * would catch: the words go to the log, and the process ends. To stop that thread
 * here would not help: the others, the caller's among them, then spin in ggml's
 * barrier, which counts threads, looks at no flag, and is not to be had from outside.
 * So whatever could lead there is refused before: core/ops/limits.go,
 * shim_exec::check_extents(), shim::check_size().
 */
void on_abort(const char *text) {
    if (depth == 0) {
        shim_log_emit(4, text);
        return;
    }
    // ggml_malloc() says in the log what could not be had, and then only "fatal error".
    const bool memory = std::strstr(text, "fatal error") != nullptr && last_line_has("failed to allocate");
    keep_failure(memory ? "ggml: out of memory: %s" : "ggml: %s", text);
    throw assertion_failed{};
}

}  // namespace

depth_scope::depth_scope() noexcept { depth++; }
depth_scope::~depth_scope() { depth--; }

void keep_failure(const char *format, ...) noexcept {
    va_list args;
    va_start(args, format);
    keep(format, args);
    va_end(args);
}

void fail(status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    keep(format, args);
    va_end(args);
    throw failed{code};
}

namespace {

status code_of_current_exception() noexcept {
    try {
        throw;
    } catch (const failed &f) {
        return f.code;
    } catch (const assertion_failed &) {
        return classify(kept_words());
    } catch (const std::bad_alloc &) {
        keep_failure("the host is out of memory");
        return out_of_memory;
    } catch (const std::exception &e) {
        keep_failure("ggml: %s", e.what());
        return classify(kept_words());
    } catch (...) {
        keep_failure("ggml threw something unknown");
        return internal;
    }
}

}  // namespace

status current_failure() noexcept { return code = code_of_current_exception(); }

}  // namespace shim

int32_t shim_failure_code(void) { return shim::code; }
const char *shim_failure_text(void) { return shim::kept_words(); }

void shim_terminate_keep(void) { shim::host_terminate = std::get_terminate(); }
void shim_terminate_restore(void) { std::set_terminate(shim::host_terminate); }

int32_t shim_library_init(void) {
    return shim::guarded([] {
        // A tensor is laid out behind an object header of 32 bytes in every version.
        const size_t want = 32 + sizeof(struct ggml_tensor);
        if (gg.tensor_overhead() != want) {
            shim::fail(shim::version_mismatch, "ggml %s keeps %zu bytes a tensor, the headers compiled with say %zu",
                       gg.version(), gg.tensor_overhead(), want);
        }
        gg.set_abort_callback(shim::on_abort);
        gg.log_set([](enum ggml_log_level level, const char *text, void *) { shim::log_ggml(level, text); }, nullptr);
    });
}

const char *shim_library_version(void) { return gg.version(); }
