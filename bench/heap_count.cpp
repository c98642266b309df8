// The executable's malloc family comes before libc's in symbol resolution, so every
// library's calls, operator new's too, pass through here. glibc only.
#include "heap_count.hpp"

#include <cerrno>
#include <cstddef>

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
}

// A plain long of the executable: to reach it allocates nothing.
static thread_local long count;

long bench::heap_count() { return count; }

extern "C" {

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}

void *calloc(size_t n, size_t size) {
    count++;
    return __libc_calloc(n, size);
}

void *realloc(void *block, size_t size) {
    count++;
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    count++;
    void *block = __libc_memalign(alignment, size);
    if (block == nullptr) {
        return ENOMEM;
    }
    *out = block;
    return 0;
}

}  // extern "C"
