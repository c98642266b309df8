/*
 * Stands before libc's allocator (LD_PRELOAD) and gives null at the n-th allocation
 * since heap_arm(n), as libc does where memory is short.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static long left; /* allocations until the one that fails; 0: none does */
static int faulted;

void heap_arm(long n) {
    __atomic_store_n(&faulted, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&left, n, __ATOMIC_SEQ_CST);
}

int heap_disarm(void) {
    __atomic_store_n(&left, 0, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&faulted, __ATOMIC_SEQ_CST);
}

static int fails(void) {
    if (__atomic_load_n(&left, __ATOMIC_RELAXED) <= 0) return 0;
    if (__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) != 0) return 0;
    __atomic_store_n(&faulted, 1, __ATOMIC_SEQ_CST);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return n > 0 && fails() ? NULL : __libc_realloc(p, n); }
void *memalign(size_t alignment, size_t n) { return fails() ? NULL : __libc_memalign(alignment, n); }
void *aligned_alloc(size_t alignment, size_t n) { return fails() ? NULL : __libc_memalign(alignment, n); }
int posix_memalign(void **p, size_t alignment, size_t n) {
    if (fails()) return ENOMEM;
    *p = __libc_memalign(alignment, n);
    return *p == NULL ? ENOMEM : 0;
}
