/* The process that makes the calls. It may end in any way: what it was at is in the record. */
#ifndef FUZZCALLS_CHILD_H
#define FUZZCALLS_CHILD_H

#include <dirent.h>
#include <sys/resource.h>

#include <memory>
#include <set>
#include <thread>

#include "planted.h"
#include "steps_backend.h"
#include "steps_graph.h"
#include "steps_oplevel.h"
#include "steps_weights.h"
#include "valid.h"

/* What a library built for tests has besides (capi/hooks.go). */
extern "C" {
__attribute__((weak)) int64_t qtsa_test_objects(void);
__attribute__((weak)) int64_t qtsa_test_tensor_bytes(void);
}

struct Job {
    uint64_t seed, first, sequences;
    size_t calls;        /* of a sequence, about */
    size_t threads;      /* 0: as the sequence has it */
    const char *backend; /* beside the CPU and the reference; null: none */
    const char *folder;
    std::set<uint64_t> kept; /* the steps that are made, of the first thread; empty: all */
    bool prints;
    std::string bug; /* planted.h */
};

/* Each function of the header has a step: one that has none does not compile. How often
 * it is taken; those that take long are taken seldom. */
struct Step {
    void (*take)(Thread &);
    Function function;
    unsigned weight;
};

inline unsigned weight_of(const char *name) {
    static const struct {
        const char *name;
        unsigned weight;
    } some[] = {
        {"qtsa_backend_create", 3},
        {"qtsa_devices_list", 1},
        {"qtsa_backend_calibrate", 2},
        {"qtsa_weights_save", 2},
        {"qtsa_weights_open", 40},
        {"qtsa_weights_plan_memory", 30},
        {"qtsa_plan_create", 60},
        {"qtsa_plan_run", 150},
        {"qtsa_op_run", 200},
        {"qtsa_graph_op", 1500},
        {"qtsa_graph_input", 800},
        {"qtsa_graph_output", 600},
        {"qtsa_graph_weight", 600},
        {"qtsa_graph_state", 300},
        {"qtsa_matmul", 300},
        {"qtsa_conv2d", 150},
        {"qtsa_attention", 80},
        {"qtsa_weights_add", 600},
        {"qtsa_weights_set", 460},
        {"qtsa_matrix_create", 200},
        {"qtsa_weights_add_split", 60},
        {"qtsa_backend_report_copy", 40},
        {"qtsa_plan_placement_copy", 60},
        {"qtsa_backend_stats_copy", 40},
        {"qtsa_devices_report_copy", 1},
        {"qtsa_weights_report_copy", 60},
        {"qtsa_session_create", 100},
        {"qtsa_weights_upload", 60},
        {"qtsa_backend_free", 20},
    };
    for (const auto &s : some)
        if (strcmp(s.name, name) == 0) return s.weight;
    return 250;
}

static const Step steps[] = {
#define F(name) {step_##name, F_##name, 0},
    FUNCTIONS(F)
#undef F
};

class Steps {
  public:
    Steps() {
        for (const Step &s : steps) {
            total += weight_of(Thread::name_of(s.function));
            upto.push_back(total);
        }
    }
    void take(Thread &t) const {
        const size_t place = t.random.below(total);
        size_t i = 0;
        while (upto[i] <= place) i++;
        steps[i].take(t);
    }

  private:
    std::vector<size_t> upto;
    size_t total = 0;
};

inline size_t threads_of(const Job &job, uint64_t sequence) {
    static const size_t some[] = {1, 1, 1, 2, 2, 4, 4, 8};
    Random r = Random::of(job.seed, sequence, 1000, 0);
    return job.threads != 0 ? job.threads : r.of(some);
}

inline void work(Thread &t, const Steps &all, const Job &job, size_t threads) {
    const uint64_t enough = t.trace.n + job.calls / threads;
    for (uint64_t step = 0; t.trace.n < enough || !job.kept.empty(); step++) {
        if (!job.kept.empty()) {
            if (step > *job.kept.rbegin()) break;
            if (job.kept.count(step) == 0) continue;
        }
        t.begin(step);
        planted(t, job.bug);
        switch (t.random.below(400)) {
            case 0:
                valid(t);
                break;
            case 1:
                compose(t);
                break;
            default:
                all.take(t);
        }
        t.end();
    }
}

/* The descriptors that are open, without devices and events: a GPU's driver, once it is
 * loaded, keeps some until the process ends. */
inline size_t open_files() {
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d == nullptr) return 0;
    while (const dirent *entry = readdir(d)) {
        char target[16] = "";
        if (readlinkat(dirfd(d), entry->d_name, target, sizeof target - 1) < 0) continue;
        if (strncmp(target, "/dev/", 5) != 0 && strncmp(target, "anon_inode:", 11) != 0) n++;
    }
    closedir(d);
    return n;
}

/* One sequence, at whose end everything is freed and nothing is left. */
inline void sequence_of(Process &process, const Job &job, const Steps &all, uint64_t sequence, int64_t objects) {
    const size_t n = threads_of(job, sequence);
    process.record->sequence = sequence;
    process.record->threads = n;
    Pool shared;
    std::vector<std::unique_ptr<Thread>> threads;
    for (size_t i = 0; i < n; i++) threads.emplace_back(new Thread(process, shared, sequence, i));
    std::vector<std::thread> running;
    for (size_t i = 1; i < n; i++) running.emplace_back([&, i] { work(*threads[i], all, job, n); });
    work(*threads[0], all, job, n);
    for (std::thread &r : running) r.join();
    Thread &t = *threads[0];
    t.begin(t.step + 1);
    for (auto &each : threads) t.free_all(each->own);
    t.free_all(shared);
    if (qtsa_test_objects != nullptr) {
        /* What is settled on is kept by the library, with a handle of its own. */
        qtsa_backend active = nullptr;
        if (qtsa_backend_get_active(&active) == QTSA_OK) objects++;
        if (qtsa_test_objects() != objects)
            t.violation("%" PRId64 " objects are left, not %" PRId64, qtsa_test_objects(), objects);
    }
    if (process.lent != process.released)
        t.violation("%" PRId64 " arrays were lent, %" PRId64 " given back", process.lent.load(),
                    process.released.load());
    process.record->sequences++;
}

inline qtsa_backend backend_named(const char *name) {
    qtsa_backend_options o;
    o = qtsa_backend_options_init();
    o.backend = name;
    if (strcmp(name, "cpu") != 0 && strcmp(name, "reference") != 0) o.device = "0"; /* a software device, too */
    o.threads = 2;
    qtsa_backend b;
    must(qtsa_backend_create(&o, &b));
    return b;
}

inline int child(const Job &job, Record *record) {
#if !defined(__SANITIZE_ADDRESS__)
    /* Sizes without sense are to be refused, not to fill the machine. The driver of a card
     * reserves more addresses than that, and ends the process where it cannot. */
    const rlimit limit = {rlim_t(12) << 30, rlim_t(12) << 30};
    if (access("/dev/nvidiactl", F_OK) != 0) setrlimit(RLIMIT_AS, &limit);
#endif
    Process process = {};
    process.record = record;
    process.seed = job.seed;
    process.prints = job.prints;
    process.folder = job.folder;
    process.installs = job.first % 4 == 0;
    process.backends[0] = backend_named("cpu");
    process.backends[1] = backend_named(job.backend != nullptr ? job.backend : "reference");
    process.n_backends = 2;
    const int64_t objects = qtsa_test_objects != nullptr ? qtsa_test_objects() : 0;
    const Steps all;
    size_t files = 0;
    for (uint64_t i = 0; i < job.sequences; i++) {
        sequence_of(process, job, all, job.first + i, objects);
        const size_t now = open_files();
        if (i == 0) files = now;
        if (now > files + 8) {
            fprintf(stderr, "%zu descriptors are open, %zu after the first sequence\n", now, files);
            return 1;
        }
    }
    qtsa_backend active;
    const bool settled = qtsa_backend_get_active(&active) == QTSA_OK;
    must(qtsa_backend_free(process.backends[0]));
    must(qtsa_backend_free(process.backends[1]));
    if (qtsa_test_objects != nullptr && qtsa_test_objects() != (settled ? 1 : 0)) {
        fprintf(stderr, "%" PRId64 " objects are left at the end\n", qtsa_test_objects());
        return 1;
    }
    if (qtsa_test_tensor_bytes != nullptr && !settled && qtsa_test_tensor_bytes() != 0) {
        fprintf(stderr, "%" PRId64 " bytes of tensors are left at the end\n", qtsa_test_tensor_bytes());
        return 1;
    }
    return 0;
}

#endif
