#include "contention.h"

#include "stream.h"

#if defined(__linux__)
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/* Reads a small file of a thread; gives its length, 0 if it cannot be read. */
size_t read_of(int thread, const char *file, char *text, size_t capacity) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, file);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    const ssize_t n = read(fd, text, capacity - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0 ? static_cast<size_t>(n) : 0;
}

int64_t waited_so_far(int thread) {
    char text[96];
    if (read_of(thread, "schedstat", text, sizeof text) == 0) return 0;
    const char *second = std::strchr(text, ' ');
    return second != nullptr ? std::strtoll(second, nullptr, 10) : 0;
}

}  // namespace

void shim::waiting::find(const char *workers) {
    std::snprintf(workers_, sizeof workers_, "%s", workers);
    found_.clear();
    DIR *tasks = workers[0] != 0 ? opendir("/proc/self/task") : nullptr;
    if (tasks == nullptr) return;
    while (const dirent *entry = readdir(tasks)) {
        const int id = std::atoi(entry->d_name);
        char name[32];
        size_t n = id > 0 ? read_of(id, "comm", name, sizeof name) : 0;
        if (n > 0 && name[n - 1] == '\n') name[n - 1] = 0;
        if (n > 0 && std::strcmp(name, workers) == 0) found_.push_back({id, -1});
    }
    closedir(tasks);
}

int64_t shim::waiting::since_last(const char *workers) {
    if (std::strcmp(workers, workers_) != 0) find(workers);
    const int self = static_cast<int>(syscall(SYS_gettid));
    if (caller_.id != self) caller_ = {self, -1};
    int64_t longest = 0;
    const auto look = [&](thread &t) {
        const int64_t now = waited_so_far(t.id);
        if (t.so_far >= 0) longest = std::max(longest, now - t.so_far);
        t.so_far = now;
    };
    look(caller_);
    for (thread &worker : found_) look(worker);
    return longest;
}

#else

int64_t shim::waiting::since_last(const char *) { return 0; }

#endif

int64_t shim_stream_waited(shim_stream *stream) {
    int64_t waited = 0;
    shim::guarded([&] { waited = stream->waiting.since_last(stream->pools.workers_name()); });
    return waited;
}
