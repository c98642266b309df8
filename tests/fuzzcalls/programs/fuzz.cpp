/*
 * Calls the library in sequences that follow from a seed: right and wrong, from one and
 * from many threads, all functions of the header, and looks at what each call promises
 * (README.md beside this folder). The calls are made in child processes; one that ends
 * otherwise than it should has its seed and its last calls printed and, where it ends so
 * again, is cut down to the steps that it takes.
 *
 * usage: fuzz [--calls N] [--seed S] [--jobs J] [--sequence Q] [--backend NAME] [--keep-going]
 *             [--bug NAME: one of planted.h, to see it found]
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "child.h"

extern char **environ;

static constexpr uint64_t calls_a_sequence = 4000, sequences_a_child = 25;

struct Options {
    uint64_t calls = 1000000, seed = 0;
    size_t jobs = 1;
    int64_t sequence = -1; /* only this one, printed */
    const char *backend = nullptr;
    bool keep_going = false;
    std::string folder, bug;
    /* Looks at a child that does nothing until it counts as hanging, and attempts to
     * make a sequence shorter. */
    unsigned patience = 3000;
    int attempts = 250;
};

/* A child process, and what it leaves. */
struct Child {
    pid_t pid = 0;
    std::string path; /* of the record */
    Record *record = nullptr;
    Job job = {};
    uint64_t seen = 0; /* calls when it was looked at last */
    unsigned idle = 0; /* looks at which it neither called nor computed */
    uint64_t ticks = 0, ticks_at_call = 0;
    int status = 0;
    bool hangs = false;

    bool failed() const { return hangs || !WIFEXITED(status) || WEXITSTATUS(status) != 0; }
};

static void die(const char *what) {
    perror(what);
    exit(2);
}

static uint64_t calls_of(const Record *r) {
    uint64_t n = 0;
    for (const Trace &t : r->traces) n += __atomic_load_n(&t.n, __ATOMIC_ACQUIRE);
    return n;
}

static Child start(const Options &o, const Job &job, const char *steps_file) {
    static int started;
    Child c;
    c.job = job;
    c.path = o.folder + "/record" + std::to_string(started++);
    const int fd = open(c.path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(Record)) != 0) die(c.path.c_str());
    c.record = static_cast<Record *>(mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    if (c.record == MAP_FAILED) die("mmap");
    close(fd);
    const std::vector<std::string> words = {"fuzz",
                                            "--child",
                                            c.path,
                                            o.folder,
                                            std::to_string(job.seed),
                                            std::to_string(job.first),
                                            std::to_string(job.sequences),
                                            std::to_string(job.threads),
                                            job.prints ? "1" : "0",
                                            job.backend != nullptr ? job.backend : "",
                                            steps_file,
                                            o.bug};
    std::vector<char *> arguments;
    for (const std::string &w : words) arguments.push_back(const_cast<char *>(w.c_str()));
    arguments.push_back(nullptr);
    c.pid = fork();
    if (c.pid < 0) die("fork");
    if (c.pid == 0) {
        if (!job.prints) {
            const int quiet = open((c.path + ".out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
            dup2(quiet, 1);
            dup2(quiet, 2);
        }
        execv("/proc/self/exe", arguments.data());
        _exit(127);
    }
    return c;
}

/* Processor time that a process took so far, and whether any of its threads could go on. */
static uint64_t ticks_of(pid_t pid, bool *asleep) {
    uint64_t total = 0;
    *asleep = true;
    const std::string folder = "/proc/" + std::to_string(pid) + "/task";
    DIR *d = opendir(folder.c_str());
    if (d == nullptr) return 0;
    while (const dirent *e = readdir(d)) {
        char state = 'S';
        unsigned long user = 0, system = 0;
        FILE *f = fopen((folder + "/" + e->d_name + "/stat").c_str(), "r");
        if (f == nullptr) continue;
        if (fscanf(f, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user, &system) == 3) {
            total += user + system;
            *asleep = *asleep && state == 'S';
        }
        fclose(f);
    }
    closedir(d);
    return total;
}

/* Whether a child has ended. No clock says that it hangs: it does when all its threads
 * sleep, look after look, and no call returns, or when one call has taken ten minutes of a
 * processor's time. */
static bool ended(const Options &o, Child &c) {
    const pid_t r = waitpid(c.pid, &c.status, WNOHANG);
    if (r == c.pid) return true;
    if (r < 0 && errno != EINTR) die("waitpid");
    bool asleep;
    const uint64_t ticks = ticks_of(c.pid, &asleep), calls = calls_of(c.record);
    if (calls != c.seen) c.ticks_at_call = ticks;
    /* Sleeping threads wake up now and then for Go's own sake: a little is nothing. */
    c.idle = calls == c.seen && asleep && ticks <= c.ticks + 1 ? c.idle + 1 : 0;
    c.seen = calls;
    c.ticks = ticks;
    const uint64_t a_second = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
    if (c.idle < o.patience && ticks < c.ticks_at_call + 600 * a_second) return false;
    c.hangs = true;
    kill(c.pid, SIGABRT);
    waitpid(c.pid, &c.status, 0);
    return true;
}

static void wait_for(const Options &o, Child &c) {
    while (!ended(o, c)) usleep(5000);
}

static void leave(Child &c) {
    munmap(c.record, sizeof(Record));
    unlink(c.path.c_str());
    unlink((c.path + ".out").c_str());
}

static std::string how(const Child &c) {
    if (c.hangs) return "hangs";
    if (WIFSIGNALED(c.status)) return std::string("ended by ") + strsignal(WTERMSIG(c.status));
    return "ended with " + std::to_string(WEXITSTATUS(c.status));
}

static void print_last_calls(const Record *r) {
    for (size_t i = 0; i < r->threads && i < Record::most_threads; i++) {
        const Trace &t = r->traces[i];
        printf("  thread %zu made %" PRIu64 " calls; the last:\n", i, t.n);
        for (uint64_t n = t.n > 6 ? t.n - 6 : 0; n < t.n; n++) {
            const Call &c = t.last[n % Trace::kept];
            printf("    step %" PRIu64 ": %s(", c.step, Thread::name_of(c.function));
            for (int32_t a = 0; a < c.n; a++) printf("%s0x%" PRIx64, a > 0 ? ", " : "", c.arguments[a]);
            printf(")\n");
        }
    }
}

static bool ends_again(const Options &o, const Job &job) {
    Child c = start(o, job, "");
    wait_for(o, c);
    const bool failed = c.failed();
    leave(c);
    return failed;
}

/* Runs a sequence with some of its first thread's steps. */
static bool fails_with(const Options &o, const Job &job, const std::vector<uint64_t> &kept) {
    const std::string file = o.folder + "/kept";
    std::string text;
    for (uint64_t s : kept) text += std::to_string(s) + "\n";
    write_file(file, text);
    Job alone = job;
    alone.sequences = 1;
    alone.threads = 1;
    Child c = start(o, alone, file.c_str());
    wait_for(o, c);
    const bool failed = c.failed();
    leave(c);
    return failed;
}

/* Zeller and Hildebrandt's ddmin ("Simplifying and isolating failure-inducing input",
 * 2002), on steps, for as many attempts as are worth it. */
static std::vector<uint64_t> shrunk(const Options &o, const Job &job, std::vector<uint64_t> kept) {
    int attempts = o.attempts;
    for (size_t piece = (kept.size() + 1) / 2; piece >= 1 && attempts > 0;) {
        bool smaller = false;
        for (size_t from = 0; from < kept.size() && attempts > 0 && kept.size() > 1;) {
            std::vector<uint64_t> rest(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(from));
            rest.insert(rest.end(), kept.begin() + static_cast<ptrdiff_t>(std::min(from + piece, kept.size())),
                        kept.end());
            attempts--;
            if (!rest.empty() && fails_with(o, job, rest)) {
                kept = rest;
                smaller = true;
            } else {
                from += piece;
            }
        }
        if (piece == 1 && !smaller) break;
        piece = piece > 1 ? piece / 2 : 1;
    }
    return kept;
}

/* What ends in the same way in the same call is told once. */
static bool told_already(const Options &o, const Child &c) {
    static std::set<std::string> told;
    const Record &r = *c.record;
    std::string kind = how(c) + std::string(r.violation).substr(0, 60);
    if (r.violation[0] == 0)
        for (size_t i = 0; i < r.threads && r.traces[i].n > 0; i++)
            kind += std::string(" ") + Thread::name_of(r.traces[i].last[(r.traces[i].n - 1) % Trace::kept].function);
    if (told.insert(kind).second) return false;
    printf("\nFOUND AGAIN: seed %" PRIu64 ", sequence %" PRIu64 ": %s\n", o.seed, r.sequence, kind.c_str());
    return true;
}

static void tell(const Options &o, Child &c) {
    const Record &r = *c.record;
    if (told_already(o, c)) return;
    printf("\nFOUND: seed %" PRIu64 ", sequence %" PRIu64 ", %" PRIu64 " threads: %s\n", c.job.seed, r.sequence,
           r.threads, how(c).c_str());
    if (r.violation[0] != 0) printf("  %s\n", r.violation);
    print_last_calls(&r);
    const std::string output = read_file(c.path + ".out");
    if (!output.empty()) printf("  it printed:\n%.3000s\n", output.c_str());
    Job job = c.job;
    job.first = r.sequence;
    job.sequences = 1;
    const bool repeats = ends_again(o, job);
    if (!repeats && r.sequence != c.job.first) {
        Job all = c.job;
        all.sequences = r.sequence - c.job.first + 1;
        printf("  with the sequences before it, from %" PRIu64 " on, it %s\n", all.first,
               ends_again(o, all) ? "ends so again" : "does not end so again either");
    }
    printf("  alone it %s: fuzz --seed %" PRIu64 " --sequence %" PRIu64 "%s%s\n",
           repeats ? "ends so again" : "does not", job.seed, job.first, o.backend != nullptr ? " --backend " : "",
           o.backend != nullptr ? o.backend : "");
    if (repeats && r.threads == 1 && !c.hangs) {
        std::vector<uint64_t> all(r.traces[0].last[(r.traces[0].n - 1) % Trace::kept].step + 1);
        for (size_t i = 0; i < all.size(); i++) all[i] = i;
        const std::vector<uint64_t> few = fails_with(o, job, all) ? shrunk(o, job, all) : std::vector<uint64_t>();
        if (!few.empty()) {
            printf("  %zu steps of %zu are enough:\n", few.size(), all.size());
            fflush(stdout);
            std::string text;
            for (uint64_t s : few) text += std::to_string(s) + "\n";
            write_file(o.folder + "/kept", text);
            job.threads = 1;
            job.prints = true;
            Child shown = start(o, job, (o.folder + "/kept").c_str());
            wait_for(o, shown);
            leave(shown);
        }
    }
    fflush(stdout);
}

/* Sums over children. */
struct Total {
    uint64_t calls = 0, sequences = 0, values = 0, found = 0;
    uint64_t ok[n_functions] = {}, failed[n_functions] = {}, statuses[32] = {};

    void add(const Record &r) {
        sequences += r.sequences;
        calls += calls_of(&r);
        for (const Trace &t : r.traces) {
            values += t.values;
            for (size_t f = 0; f < n_functions; f++) {
                ok[f] += t.ok[f];
                failed[f] += t.failed[f];
            }
            for (size_t s = 0; s < 32; s++) statuses[s] += t.statuses[s];
        }
    }
};

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

static int report(const Options &o, const Total &total, double seconds) {
    printf("seed %" PRIu64 ": %" PRIu64 " calls in %" PRIu64 " sequences, %" PRIu64 " values right, %" PRIu64
           " found; %.0f s, %.0f calls/s\n",
           o.seed, total.calls, total.sequences, total.values, total.found, seconds,
           static_cast<double>(total.calls) / seconds);
    for (int s = 0; s <= -QTSA_ERR_INTERNAL; s++)
        if (total.statuses[s] != 0) printf("  %-20s %" PRIu64 "\n", qtsa_status_name(-s), total.statuses[s]);
    bool all = true;
    for (size_t f = 0; f < n_functions; f++) {
        if (getenv("FUZZ_FUNCTIONS") != nullptr)
            printf("  %-36s %10" PRIu64 " ok %10" PRIu64 " failed\n", Thread::name_of(static_cast<int>(f)), total.ok[f],
                   total.failed[f]);
        /* In few calls not every function can have been met. */
        if (total.ok[f] > 0 || total.calls < 300000 || total.found != 0) continue;
        printf("  %s never succeeded (%" PRIu64 " calls)\n", Thread::name_of(static_cast<int>(f)), total.failed[f]);
        all = false;
    }
    return total.found != 0 || !all ? 1 : 0;
}

static int parent(Options o) {
    char folder[] = "/tmp/fuzzcalls-XXXXXX";
    if (mkdtemp(folder) == nullptr) die("mkdtemp");
    o.folder = folder;
    make_files(o.folder);
    make_plugin_folder(o.folder + "/plugins");
    if (o.backend == nullptr) setenv("QTSACCEL_PLUGIN_DIR", (o.folder + "/plugins").c_str(), 1);
    /* What is measured beside the calls would be taken for a leak, and follows no seed. */
    setenv("QTSACCEL_CALIBRATE", "off", 1);
    Total total;
    uint64_t next = 0;
    const double began = now();
    if (o.sequence >= 0) {
        Child c =
            start(o, Job{o.seed, static_cast<uint64_t>(o.sequence), 1, 0, 0, o.backend, nullptr, {}, true, {}}, "");
        wait_for(o, c);
        if (c.failed()) {
            tell(o, c);
            total.found++;
        }
        total.add(*c.record);
        leave(c);
    } else {
        std::vector<Child> running;
        while (true) {
            uint64_t under_way = 0;
            for (const Child &c : running) under_way += calls_of(c.record);
            const bool enough = total.calls + under_way >= o.calls || (total.found > 0 && !o.keep_going);
            if (enough && running.empty()) break;
            while (!enough && running.size() < o.jobs) {
                running.push_back(
                    start(o, Job{o.seed, next, sequences_a_child, 0, 0, o.backend, nullptr, {}, false, {}}, ""));
                next += sequences_a_child;
            }
            usleep(10000);
            for (size_t i = 0; i < running.size();) {
                if (!ended(o, running[i])) {
                    i++;
                    continue;
                }
                total.add(*running[i].record);
                if (running[i].failed()) {
                    total.found++;
                    tell(o, running[i]);
                }
                leave(running[i]);
                running.erase(running.begin() + static_cast<ptrdiff_t>(i));
            }
        }
    }
    const int code = report(o, total, now() - began);
    const std::string remove = "rm -rf " + o.folder;
    return system(remove.c_str()) == 0 ? code : 2;
}

static int in_child(char **words) {
    Job job = {};
    job.folder = words[1];
    job.seed = strtoull(words[2], nullptr, 10);
    job.first = strtoull(words[3], nullptr, 10);
    job.sequences = strtoull(words[4], nullptr, 10);
    job.threads = strtoull(words[5], nullptr, 10);
    job.prints = words[6][0] == '1';
    job.backend = words[7][0] != 0 ? words[7] : nullptr;
    job.bug = words[9];
    job.calls = calls_a_sequence;
    if (words[8][0] != 0) {
        const std::string text = read_file(words[8]);
        for (const char *p = text.c_str(); *p != 0;) {
            char *end;
            job.kept.insert(strtoull(p, &end, 10));
            p = end + 1;
        }
    }
    const int fd = open(words[0], O_RDWR);
    void *record = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (record == MAP_FAILED) die(words[0]);
    close(fd);
    return child(job, static_cast<Record *>(record));
}

int main(int argc, char **argv) {
    Options o;
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    o.seed = static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec / 1000000);
    if (argc == 12 && strcmp(argv[1], "--child") == 0) return in_child(argv + 2);
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (word == "--keep-going") {
            o.keep_going = true;
            continue;
        }
        if (word == "--calls")
            o.calls = strtoull(value, nullptr, 10);
        else if (word == "--seed")
            o.seed = strtoull(value, nullptr, 10);
        else if (word == "--jobs")
            o.jobs = std::max(1ul, strtoul(value, nullptr, 10));
        else if (word == "--sequence")
            o.sequence = strtoll(value, nullptr, 10);
        else if (word == "--backend")
            o.backend = value;
        else if (word == "--bug")
            o.bug = value, o.patience = 200, o.attempts = 20;
        else {
            fprintf(stderr,
                    "usage: fuzz [--calls N] [--seed S] [--jobs J] [--sequence Q] [--backend NAME] [--keep-going]\n");
            return 2;
        }
        i++;
    }
    printf("seed %" PRIu64 "\n", o.seed);
    fflush(stdout);
    return parent(o);
}
