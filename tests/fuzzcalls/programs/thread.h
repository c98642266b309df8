/* One thread of a sequence: what it makes calls with, and what it looks at after each. */
#ifndef FUZZCALLS_THREAD_H
#define FUZZCALLS_THREAD_H

#include <atomic>
#include <cinttypes>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "guarded.h"
#include "qtsaccel.h"
#include "random.h"
#include "record.h"

enum Kind { BACKEND, WEIGHTS, GRAPH, SESSION, PLAN, MATRIX, n_kinds };

/* Handles that calls may be made with; any thread may take from it at any time. */
struct Pool {
    static constexpr size_t room = 6;
    std::atomic<uintptr_t> live[n_kinds][room] = {};
    std::atomic<uintptr_t> stale[n_kinds][room] = {};
};

/* What all threads and sequences of a process share. */
struct Process {
    Record *record;
    qtsa_backend backends[2]; /* that live as long as the process */
    size_t n_backends;
    bool installs;      /* whether a backend may be settled on, for good */
    bool prints;        /* each call, before it is made */
    std::string folder; /* with the files of files.h */
    uint64_t seed;
    std::atomic<int64_t> lent, released, logged;
};

/* A parameter that receives a result: zero after a failure. */
template <class T>
struct Out {
    T *p;
    bool kept_on_failure = false; /* sizes of what there was no room for */
    T value() const { return p == nullptr ? T() : *p; }
};

#define CALL(name, ...) call(F_##name, name, __VA_ARGS__)

class Thread {
  public:
    Thread(Process &process, Pool &shared, uint64_t sequence, size_t index)
        : process(process), shared(shared), trace(process.record->traces[index]), sequence(sequence), index(index) {}

    Process &process;
    Pool own, &shared;
    Trace &trace;
    uint64_t sequence;
    size_t index;
    uint64_t step = 0;
    Random random{0};
    Guarded guarded;

    void begin(uint64_t at) {
        step = at;
        random = Random::of(process.seed, sequence, index, at);
        guarded.give_back();
    }

    void end() {
        if (!guarded.intact()) violation("memory beside what was passed was written to");
    }

    /* Gives the memory back in the middle of a step. */
    void renew() {
        end();
        guarded.give_back();
    }

    /* ------------------------------------------------------------------ Calls -- */

    template <class... P, class... A>
    qtsa_status call(Function f, qtsa_status (*function)(P...), A... arguments) {
        note(f, {bits(raw(arguments))...});
        if (process.prints) print(f, arguments...);
        const qtsa_status s = function(P(raw(arguments))...);
        if (process.prints) fprintf(stderr, " = %s\n", qtsa_status_name(s));
        count(f, s);
        if (s != QTSA_OK) failed(f, s);
        (look(f, s, arguments), ...);
        return s;
    }

    void note(Function f, std::initializer_list<uint64_t> arguments) {
        Call &c = trace.last[trace.n % Trace::kept];
        c.step = step;
        c.function = f;
        c.n = 0;
        for (uint64_t a : arguments)
            if (c.n < 12) c.arguments[c.n++] = a;
        __atomic_store_n(&trace.n, trace.n + 1, __ATOMIC_RELEASE);
    }

    void count(Function f, qtsa_status s) {
        if (s > 0 || s < QTSA_ERR_INTERNAL) violation("%s gave %d, which is no status", name_of(f), s);
        trace.statuses[-s]++;
        (s == QTSA_OK ? trace.ok : trace.failed)[f]++;
    }

    /* After a failure there are words, and they are UTF-8. */
    void failed(Function f, qtsa_status s) {
        if (s == QTSA_ERR_NOT_WORTHWHILE) return;
        const char *words = qtsa_last_error();
        if (words == nullptr || *words == 0) violation("%s gave %s without words", name_of(f), qtsa_status_name(s));
        if (!utf8(words)) violation("%s: the message is not UTF-8: %s", name_of(f), words);
        if (process.prints) fprintf(stderr, "      %s\n", words);
        switch (s) {
            case QTSA_ERR_INTERNAL:
            case QTSA_ERR_FORKED:
            case QTSA_ERR_DEVICE_LOST:
            case QTSA_ERR_TIMEOUT:
                violation("%s gave %s: %s", name_of(f), qtsa_status_name(s), words);
        }
    }

    template <class T>
    void look(Function f, qtsa_status s, Out<T> out) {
        if (s == QTSA_OK && out.p == nullptr) violation("%s took null for its out parameter", name_of(f));
        if (s == QTSA_OK || out.p == nullptr || out.kept_on_failure) return;
        const char *bytes = reinterpret_cast<const char *>(out.p);
        for (size_t i = 0; i < sizeof(T); i++)
            if (bytes[i] != 0)
                violation("%s gave %s and left byte %zu of its out parameter %d", name_of(f), qtsa_status_name(s), i,
                          bytes[i]);
    }
    template <class T>
    void look(Function, qtsa_status, T) {}

    /* What was promised and is not so: the end of the process. */
    __attribute__((format(printf, 2, 3), noreturn)) void violation(const char *form, ...) {
        char *to = process.record->violation;
        va_list list;
        va_start(list, form);
        vsnprintf(to, sizeof process.record->violation, form, list);
        va_end(list);
        fprintf(stderr, "%s\n", to);
        abort();
    }

    void right(bool holds, const char *what) {
        if (!holds) violation("%s: a wrong value", what);
        trace.values++;
    }

    static const char *name_of(int f) {
        static const char *const names[] = {
#define F(name) #name,
            FUNCTIONS(F)
#undef F
        };
        return f >= 0 && f < n_functions ? names[f] : "?";
    }

    /* ---------------------------------------------------------------- Handles -- */

    Pool &pool() { return random.chance(70) ? own : shared; }

    /* A handle of a kind: mostly one that lives, else any value that a host could have. */
    uintptr_t handle(Kind k) {
        const size_t how = random.below(100);
        if (how < 4) return 0;
        if (how < 8) return pool().stale[k][random.below(Pool::room)];
        if (how < 11) return pool().live[random.below(n_kinds)][random.below(Pool::room)];
        if (how < 13) return random.next() >> random.below(64);
        if (how < 15) return live(k) ^ uintptr_t(1) << random.below(64);
        return live(k);
    }

    uintptr_t live(Kind k) {
        if (k == BACKEND && random.chance(80)) return bits(main_backend());
        Pool &p = pool();
        const size_t from = random.below(Pool::room);
        for (size_t i = 0; i < Pool::room; i++)
            if (uintptr_t h = p.live[k][(from + i) % Pool::room]) return h;
        return 0;
    }

    qtsa_backend main_backend() { return process.backends[random.below(process.n_backends)]; }

    qtsa_backend backend() { return reinterpret_cast<qtsa_backend>(handle(BACKEND)); }
    qtsa_weights weights() { return reinterpret_cast<qtsa_weights>(handle(WEIGHTS)); }
    qtsa_graph graph() { return reinterpret_cast<qtsa_graph>(handle(GRAPH)); }
    qtsa_session session() { return reinterpret_cast<qtsa_session>(handle(SESSION)); }
    qtsa_plan plan() { return reinterpret_cast<qtsa_plan>(handle(PLAN)); }
    qtsa_matrix matrix() { return reinterpret_cast<qtsa_matrix>(handle(MATRIX)); }

    /* What a thread knows of a graph that it or another one made. */
    struct Known {
        std::vector<qtsa_tensor> tensors;
        std::vector<int64_t> dims;
    };

    Known &known(qtsa_graph g) { return graphs[bits(g)]; }

    /* A tensor of a graph; of another one, or none, now and then. */
    qtsa_tensor tensor(qtsa_graph g) {
        static const qtsa_tensor odd[] = {QTSA_NONE, -2, 0, 1, 2, 1000, INT32_MAX, INT64_MIN, INT64_MAX};
        const std::vector<qtsa_tensor> &all = known(g).tensors;
        if (!all.empty() && random.chance(92)) return all[random.below(all.size())];
        if (random.chance(50) && !graphs.empty()) {
            auto other = graphs.begin();
            std::advance(other, static_cast<ptrdiff_t>(random.below(graphs.size() < 8 ? graphs.size() : 8)));
            if (!other->second.tensors.empty()) return other->second.tensors[0] + random.between(-1, 1);
        }
        return random.of(odd);
    }

    /* A dynamic dimension or an expression of a graph, or arithmetic on its number. */
    int64_t dim(qtsa_graph g) {
        const std::vector<int64_t> &all = known(g).dims;
        if (all.empty()) return number();
        const int64_t d = all[random.below(all.size())];
        return random.chance(90) ? d : static_cast<int64_t>(static_cast<uint64_t>(d) * 2 + random.below(3));
    }

    bool is_main(uintptr_t h) const {
        for (size_t i = 0; i < process.n_backends; i++)
            if (h == bits(process.backends[i])) return true;
        return false;
    }

    /* Keeps a new handle; the one whose place it takes is freed. */
    template <class H>
    void keep(Kind k, H h) {
        if (h == nullptr) return;
        const uintptr_t before = pool().live[k][random.below(Pool::room)].exchange(bits(h));
        if (before != 0) free_handle(k, before);
    }

    /* Frees a handle that was kept, if nobody has done so. */
    template <class H>
    void drop(Kind k, H h) {
        for (Pool *p : {&own, &shared})
            for (auto &slot : p->live[k]) {
                uintptr_t expected = bits(h);
                if (slot.compare_exchange_strong(expected, 0)) free_handle(k, bits(h));
            }
    }

    void free_handle(Kind k, uintptr_t h) {
        pool().stale[k][random.below(Pool::room)] = h;
        if (is_main(h)) return;
        switch (k) {
            case BACKEND:
                CALL(qtsa_backend_free, reinterpret_cast<qtsa_backend>(h));
                break;
            case WEIGHTS:
                CALL(qtsa_weights_free, reinterpret_cast<qtsa_weights>(h));
                break;
            case GRAPH:
                CALL(qtsa_graph_free, reinterpret_cast<qtsa_graph>(h));
                break;
            case SESSION:
                CALL(qtsa_session_free, reinterpret_cast<qtsa_session>(h));
                break;
            case PLAN:
                CALL(qtsa_plan_free, reinterpret_cast<qtsa_plan>(h));
                break;
            default:
                CALL(qtsa_matrix_free, reinterpret_cast<qtsa_matrix>(h));
        }
    }

    void free_all(Pool &p) {
        for (size_t i = 0; i < n_kinds * Pool::room; i++) {
            /* In an order that is no sensible one, each time another. */
            const size_t k = (i + step) % n_kinds;
            if (uintptr_t h = p.live[k][i / n_kinds].exchange(0)) free_handle(Kind(k), h);
        }
    }

    /* ----------------------------------------------------------------- Values -- */

    template <class T>
    T *memory(size_t n, int fill = 0) {
        return reinterpret_cast<T *>(guarded.take(random, n * sizeof(T), alignof(T), fill));
    }

    template <class T>
    Out<T> out(int nulls = 2) {
        return {random.chance(nulls) ? nullptr : memory<T>(1, 0xA5)};
    }

    /* A copy of a text that ends where memory does, or null. */
    const char *text(const std::string &s) {
        char *p = guarded.take(random, s.size() + 1);
        if (p != nullptr) memcpy(p, s.data(), s.size());
        return p;
    }

    std::string any_text() {
        static const char *const some[] = {
            "",
            "a",
            "x",
            "\xff\xfe",
            "\xc0\xaf",
            "a\nb",
            "%s%n%x",
            "\xed\xa0\x80",
            "../../etc/passwd",
            "f32",
            "cpu",
            "q4_K",
            "*",
            "?*?",
            "\x01",
            "\xe2\x82\xac",
            "reflect",
            "constant",
            "edge",
            "tanh",
            "nearest",
            "linear",
            "i32",
            "f16",
            "bf16",
            "i64",
            "general.name",
        };
        switch (random.below(12)) {
            case 0:
                return std::string(random.below(5000), 'n');
            case 1: {
                std::string s;
                for (size_t n = random.below(20); n > 0; n--) s += static_cast<char>(1 + random.below(255));
                return s;
            }
        }
        return random.of(some);
    }

    /* A name out of few, so that what one call names another one finds. */
    const char *name() {
        static const char *const few[] = {"a", "b", "x", "w", "n"};
        if (random.chance(3)) return nullptr;
        return text(random.chance(90) ? random.of(few) : any_text());
    }

    qtsa_dtype dtype() {
        static const qtsa_dtype all[] = {1,  1,  1,  1,  1,  1,  2,  3,  8,  9,  10, 10, 11,
                                         32, 33, 34, 35, 36, 64, 65, 48, 49, 50, 51, 52};
        static const qtsa_dtype none[] = {0, -1, 4, 7, 12, 31, 37, 53, 66, 1 << 30, INT32_MIN, INT32_MAX};
        return random.chance(95) ? random.of(all) : random.of(none);
    }

    int64_t number() {
        static const int64_t odd[] = {0,
                                      -1,
                                      -2,
                                      INT64_MIN,
                                      INT64_MAX,
                                      INT64_MIN + 1,
                                      INT64_C(1) << 62,
                                      INT64_C(1) << 47,
                                      INT32_MIN,
                                      -1000,
                                      INT64_C(1) << 59,
                                      (INT64_C(1) << 60) + 1};
        return random.chance(80) ? random.between(0, 5) : random.of(odd);
    }

    double real() {
        static const double some[] = {0, 1, -1, 0.5, 1e-5, -0.0, 2, 1e300, -1e300, 5e-324, 1e-40, 3.5e38, 1e20};
        switch (random.below(16)) {
            case 0:
                return std::numeric_limits<double>::quiet_NaN();
            case 1:
                return std::numeric_limits<double>::infinity();
            case 2:
                return -std::numeric_limits<double>::infinity();
        }
        return random.of(some);
    }

    int64_t dimension() {
        static const int64_t usual[] = {1, 1, 2, 2, 3, 4, 4, 5, 7, 8, 16, 17, 32, 32, 64};
        static const int64_t odd[] = {
            0, -1, -7, INT64_MIN, INT64_MAX, INT64_C(1) << 58, INT64_C(1) << 62, (INT64_C(1) << 47) + 3, 256, 257};
        return random.chance(96) ? random.of(usual) : random.of(odd);
    }

    /* A shape; rank says how many dimensions are claimed. */
    const int64_t *shape(int32_t *rank) {
        static const int32_t none[] = {-1, 5, 100, INT32_MIN, INT32_MAX};
        *rank = static_cast<int32_t>(random.between(0, QTSA_MAX_RANK));
        int64_t *p = memory<int64_t>(static_cast<size_t>(*rank));
        for (int32_t i = 0; i < *rank; i++) p[i] = dimension();
        if (random.chance(2)) return nullptr;
        if (random.chance(2)) *rank = random.of(none);
        return p;
    }

    /* The bytes of a tensor, 0 where it is none or more than is worth having. */
    static size_t bytes_of(qtsa_dtype dtype, const int64_t *shape, int32_t rank) {
        size_t n = 0;
        if (rank < 0 || rank > QTSA_MAX_RANK || (shape == nullptr && rank > 0)) return 0;
        return qtsa_tensor_bytes(dtype, shape, rank, &n) == QTSA_OK && n <= Guarded::most ? n : 0;
    }

    /* Content for a tensor: zeros, small numbers of its type, or any bytes at all. */
    void *content(qtsa_dtype dtype, size_t bytes) {
        char *p = guarded.take(random, bytes, random.chance(80) && bytes % 8 == 0 ? 8 : 1);
        if (p == nullptr) return nullptr;
        const size_t how = random.below(10);
        if (how == 0) return p;
        for (size_t i = 0; i < bytes;) {
            uint64_t v = random.next();
            if (how < 8 && (dtype == QTSA_DTYPE_F32)) {
                const float f = static_cast<float>(random.between(-8, 8));
                memcpy(&v, &f, sizeof f);
            } else if (how < 9 && dtype != QTSA_DTYPE_F32) {
                v &= dtype == QTSA_DTYPE_I64 ? 3 : dtype == QTSA_DTYPE_I32 ? 0x0000000300000003 : 0x2322232223222322;
            }
            const size_t size = dtype == QTSA_DTYPE_F32 && how < 8 ? 4 : 8, n = size < bytes - i ? size : bytes - i;
            memcpy(p + i, &v, n);
            i += n;
        }
        return p;
    }

    /* How many there are, or a number that cannot be right: never one with which the
     * library would be right to read beyond what there is. */
    size_t claim(size_t n) {
        static const size_t far[] = {SIZE_MAX, SIZE_MAX / 2 + 1, size_t(1) << 62, (size_t(1) << 47) + 1};
        return random.chance(95) ? n : random.chance(50) ? random.of(far) : random.below(n + 1);
    }

    int32_t flag(int32_t most) {
        static const int32_t odd[] = {-1, 100, INT32_MIN, INT32_MAX, 4, 8};
        return random.chance(92) ? static_cast<int32_t>(random.between(0, most)) : random.of(odd);
    }

    template <class T>
    static uint64_t bits(T v) {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<uintptr_t>(v);
        } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
            return 0;
        } else if constexpr (std::is_floating_point_v<T>) {
            double d = v;
            uint64_t b;
            memcpy(&b, &d, sizeof b);
            return b;
        } else {
            return static_cast<uint64_t>(v);
        }
    }

  private:
    std::map<uintptr_t, Known> graphs;

    template <class T>
    static T *raw(Out<T> o) {
        return o.p;
    }
    template <class T>
    static T raw(T a) {
        return a;
    }

    template <class... A>
    void print(Function f, A... arguments) {
        fprintf(stderr, "[%zu] %" PRIu64 " %s(", index, step, name_of(f));
        const char *between = "";
        ((fputs(between, stderr), print_one(raw(arguments)), between = ", "), ...);
        fputc(')', stderr);
    }
    static void print_one(const char *s) {
        if (s == nullptr)
            fputs("NULL", stderr);
        else
            fprintf(stderr, "\"%.60s\"", s);
    }
    static void print_one(double v) { fprintf(stderr, "%g", v); }
    template <class T>
    static void print_one(T v) {
        if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
            fprintf(stderr, "%lld", static_cast<long long>(v));
        else
            fprintf(stderr, std::is_pointer_v<T> ? "0x%llx" : "%llu", static_cast<unsigned long long>(bits(v)));
    }

    static bool utf8(const char *text) {
        for (const unsigned char *c = reinterpret_cast<const unsigned char *>(text); *c != 0;) {
            if (*c < 0x80) {
                c++;
                continue;
            }
            const int more = *c >= 0xF0 ? 3 : *c >= 0xE0 ? 2 : 1;
            if (*c < 0xC2 || *c > 0xF4) return false;
            uint32_t v = *c & (0x3F >> more);
            for (int i = 1; i <= more; i++) {
                if ((c[i] & 0xC0) != 0x80) return false;
                v = v << 6 | (c[i] & 0x3F);
            }
            if (v < (more == 3 ? 0x10000u : more == 2 ? 0x800u : 0x80u) || v > 0x10FFFF || (v >= 0xD800 && v < 0xE000))
                return false;
            c += more + 1;
        }
        return true;
    }
};

#endif
