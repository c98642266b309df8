#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>

#include "ggml.h"
#include "library.h"
#include "log.h"

namespace {

// Held shared while a line is delivered, so that a sink is no longer in use once
// another one has been set.
std::shared_mutex sink_mutex;
shim_log_sink current_sink;
void *current_user;

// ggml logs a line in pieces: those without a line end wait here for the rest.
struct pending_line {
    char text[1024];
    size_t length;
    int32_t level;
};
thread_local std::unique_ptr<pending_line> pending;  // see guard.cpp about thread-local memory

void flush() {
    pending->text[pending->length] = 0;
    if (pending->length > 0) shim_log_emit(pending->level, pending->text);
    pending->length = 0;
}

}  // namespace

void shim_log_set_sink(shim_log_sink sink, uintptr_t user) {
    std::unique_lock<std::shared_mutex> lock(sink_mutex);
    current_sink = sink;
    current_user = reinterpret_cast<void *>(user);
}

bool shim_log_emit(int32_t level, const char *text) {
    std::shared_lock<std::shared_mutex> lock(sink_mutex);
    if (current_sink == nullptr) return false;
    current_sink(level, text, current_user);
    return true;
}

bool shim::last_line_has(const char *words) { return pending && std::strstr(pending->text, words) != nullptr; }

void shim::log_ggml(int level, const char *text) {
    if (!pending) pending.reset(new (std::nothrow) pending_line{});
    if (!pending) return;
    if (level != GGML_LOG_LEVEL_CONT) {
        flush();
        pending->level = level >= GGML_LOG_LEVEL_DEBUG && level <= GGML_LOG_LEVEL_ERROR ? level : 2;
    }
    for (; *text != 0; text++) {
        if (*text == '\n' || pending->length + 1 == sizeof pending->text) flush();
        if (*text != '\n') pending->text[pending->length++] = *text;
    }
}
