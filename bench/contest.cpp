// contest ROUNDS [CASE]: runs the contestants linked into this program in turn, ROUNDS
// times, the first one changing from round to round, and writes one JSON object:
// per contestant the microseconds per unit of each round, by the clock and of the
// processor, the heap allocations per unit that its thread made, and its largest error;
// or why it cannot do the job. With
// a case, only those whose name ends in it.
#include "contest.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <vector>

#include "heap_count.hpp"

namespace bench {

namespace {

struct Entered {
    std::string name;
    std::function<std::unique_ptr<Contestant>()> make;
};

// Entries are made before main, in other files: the list must be made on demand.
std::vector<Entered> &entries() {
    static std::vector<Entered> list;
    return list;
}

struct Lane {
    std::string name;
    std::unique_ptr<Contestant> contestant;
    std::vector<double> micros, cpu_micros;
    double allocations = 0;
    double error = 0;
    std::string cannot;

    void enter(const Entered &entered) {
        name = entered.name;
        try {
            contestant = entered.make();
        } catch (const CannotDo &e) {
            cannot = e.what();
        }
    }

    void run(bool warm_up) {
        const double units = static_cast<double>(contestant->units());
        const long before = heap_count();
        const double cpu_start = cpu_seconds();
        const auto start = std::chrono::steady_clock::now();
        contestant->round();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        const double cpu = (cpu_seconds() - cpu_start) * 1e6;
        const long after = heap_count();
        error = std::max(error, contestant->check());
        if (!warm_up) {
            micros.push_back(took.count() / units);
            cpu_micros.push_back(cpu / units);
            allocations = static_cast<double>(after - before) / units;
        }
    }

    void print(const char *separator) const {
        if (contestant == nullptr) {
            std::printf("%s\n{\"name\":\"%s\",\"cannot\":\"%s\"}", separator, name.c_str(), quotable(cannot).c_str());
            return;
        }
        std::printf("%s\n{\"name\":\"%s\",\"units\":%ld,\"allocations\":%g,\"error\":%g,\"micros\":[", separator,
                    name.c_str(), contestant->units(), allocations, error);
        print(micros);
        std::printf("],\"cpu_micros\":[");
        print(cpu_micros);
        std::printf("]}");
    }

  private:
    // Of all threads of the process.
    static double cpu_seconds() {
        timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    }

    static void print(const std::vector<double> &values) {
        for (size_t i = 0; i < values.size(); i++) {
            std::printf("%s%.6g", i == 0 ? "" : ",", values[i]);
        }
    }

    // Text that may stand between quotation marks in JSON.
    static std::string quotable(std::string text) {
        for (char &c : text) {
            if (c == '"' || c == '\\') {
                c = '\'';
            } else if (static_cast<unsigned char>(c) < ' ') {
                c = ' ';
            }
        }
        return text;
    }
};

bool ends_in(const std::string &name, const std::string &suffix) {
    return name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

void contest(int rounds, const std::string &suffix) {
    constexpr int warm_ups = 2;
    std::vector<Lane> lanes;
    std::vector<size_t> able;
    for (const Entered &e : entries()) {
        if (!ends_in(e.name, suffix)) {
            continue;
        }
        lanes.emplace_back().enter(e);
        if (lanes.back().contestant != nullptr) {
            able.push_back(lanes.size() - 1);
        }
    }
    for (int r = -warm_ups; r < rounds; r++) {
        for (size_t i = 0; i < able.size(); i++) {
            lanes[able[(i + static_cast<size_t>(r + warm_ups)) % able.size()]].run(r < 0);
        }
    }
    std::printf("[");
    for (size_t i = 0; i < lanes.size(); i++) {
        lanes[i].print(i == 0 ? "" : ",");
    }
    std::printf("\n]\n");
}

}  // namespace

Entry::Entry(std::string name, std::function<std::unique_ptr<Contestant>()> make) {
    entries().push_back({std::move(name), std::move(make)});
}

std::string place(const char *variable) {
    const char *value = std::getenv(variable);
    if (value == nullptr || *value == '\0') {
        throw std::runtime_error(std::string(variable) + " is not set");
    }
    return value;
}

int threads() {
    const char *value = std::getenv("BENCH_THREADS");
    return value == nullptr ? 1 : std::max(1, std::atoi(value));
}

}  // namespace bench

int main(int argc, char **argv) {
    const int rounds = argc == 2 || argc == 3 ? std::atoi(argv[1]) : 0;
    if (rounds < 1) {
        std::fprintf(stderr, "usage: %s ROUNDS [CASE]\n", argv[0]);
        return 2;
    }
    try {
        bench::contest(rounds, argc == 3 ? std::string(" ") + argv[2] : std::string());
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
        return 1;
    }
    return 0;
}
