/* What steps of several kinds share. */
#ifndef FUZZCALLS_STEPS_H
#define FUZZCALLS_STEPS_H

#include "thread.h"

/* Makes a call of a _copy function, whose last three parameters are buffer, capacity
 * and out_size, and looks at what it wrote. */
template <class... P, class... A>
void copy_text(Thread &t, Function f, qtsa_status (*function)(P...), A... arguments) {
    static const size_t sizes[] = {0, 1, 2, 7, 64, 4096, 65536};
    size_t capacity = t.random.of(sizes);
    const bool null = t.random.chance(30);
    char *buffer = null ? nullptr : t.memory<char>(capacity, 'z');
    if (null && t.random.chance(80)) capacity = 0;
    Out<size_t> size = t.out<size_t>();
    size.kept_on_failure = true;
    const qtsa_status s = t.call(f, function, arguments..., buffer, capacity, size);
    if (size.p == nullptr) return;
    if (s == QTSA_OK) {
        if (*size.p == 0) t.violation("%s: no room for the zero at the end", Thread::name_of(f));
        if (buffer != nullptr && (*size.p > capacity || buffer[*size.p - 1] != 0))
            t.violation("%s: %zu bytes in a buffer of %zu", Thread::name_of(f), *size.p, capacity);
    } else if (*size.p != 0 && !(s == QTSA_ERR_INVALID_ARGUMENT && (*size.p > capacity || buffer == nullptr))) {
        t.violation("%s gave %s and %zu bytes", Thread::name_of(f), qtsa_status_name(s), *size.p);
    } else if (buffer != nullptr && capacity > 0 && buffer[capacity - 1] != 'z') {
        t.violation("%s gave %s and wrote into the buffer", Thread::name_of(f), qtsa_status_name(s));
    }
}
#define COPY(name, ...) copy_text(t, F_##name, name, __VA_ARGS__)

/* An options struct of a size that a host could have: as initialised, smaller, larger,
 * or whatever. The memory is that of the size. */
template <class T>
T *options_of(Thread &t, size_t first) {
    static const size_t odd[] = {0, 1, 7, sizeof(T) - 8, sizeof(T) - 1, sizeof(T) + 1, sizeof(T) + 8, 4096, SIZE_MAX};
    if (t.random.chance(15)) return nullptr;
    T *o = t.memory<T>(1);
    o->struct_size = sizeof(T);
    if (t.random.chance(8)) {
        const size_t size = t.random.of(odd);
        /* As large as it says, so that only what it says may be read. */
        char *p = t.guarded.take(t.random, size >= 8 && size <= 4096 ? size : sizeof(T), 8);
        memcpy(p, &size, sizeof size);
        /* Whoever fills in fields writes no further. */
        if (size < sizeof(T)) return size < first ? reinterpret_cast<T *>(p) : o;
        o = reinterpret_cast<T *>(p);
    }
    return o;
}

/* Attributes: those of an operator, in types that it wants or others. */
inline const qtsa_attr *attributes_of(Thread &t, const Operator *op, size_t *n, qtsa_graph g = nullptr) {
    const Operator::Attribute *known = op == nullptr ? nullptr : op->attributes;
    qtsa_attr *all = t.memory<qtsa_attr>(10);
    size_t used = 0;
    for (; known != nullptr && known->name != nullptr && used < 9; known++) {
        if (!t.random.chance(known->required ? 95 : 45)) continue;
        qtsa_attr &a = all[used++];
        a.name = t.random.chance(98) ? known->name : t.name();
        a.type = t.random.chance(95) ? known->type : t.flag(6);
        a.i = t.random.chance(5) ? t.dim(g) : t.number();
        a.f = t.real();
        a.s = t.text(t.any_text());
        a.count = static_cast<int32_t>(t.random.between(0, 4));
        int64_t *ints = t.memory<int64_t>(4);
        double *reals = t.memory<double>(4);
        for (int i = 0; i < 4; i++) {
            ints[i] = t.random.chance(5) ? t.dim(g) : t.number();
            reals[i] = t.real();
        }
        a.ints = ints;
        a.floats = reals;
        if (t.random.chance(3)) a.s = nullptr, a.ints = nullptr, a.floats = nullptr;
        if (t.random.chance(2)) a.count = t.random.chance(50) ? -1 : INT32_MIN;
    }
    if (t.random.chance(4)) all[used++] = qtsa_attr_int(t.name(), t.number());
    *n = used;
    if (t.random.chance(2)) *n = SIZE_MAX;
    return used == 0 && t.random.chance(50) ? nullptr : all;
}

inline const Operator *any_operator(Thread &t) {
    return &operators[t.random.below(sizeof operators / sizeof operators[0])];
}

inline void on_log(int32_t level, const char *text, void *user) {
    (void)text;
    if (level >= QTSA_LOG_DEBUG && level <= QTSA_LOG_ERROR) static_cast<Process *>(user)->logged++;
}
inline void on_release(void *user) { static_cast<Process *>(user)->released++; }
inline int32_t go_on(uint64_t, uint64_t, void *) { return 0; }
inline int32_t stop(uint64_t, uint64_t, void *) { return 1; }

inline qtsa_progress_callback progress(Thread &t) {
    return t.random.chance(60) ? nullptr : t.random.chance(80) ? go_on : stop;
}

#endif
