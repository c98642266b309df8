// A contest: several ways of doing one job, timed side by side in one process.
//
// To add a contestant, write a file that defines a Contestant and enters it with
// an Entry at namespace scope, and name that file in the contest's list in
// spine/contests.go. contest.cpp has the only main.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace bench {

struct Contestant {
    virtual ~Contestant() = default;

    // Units of work in a round: runs, tokens, windows.
    virtual long units() const = 0;

    // Does the whole job once; this is what is timed.
    virtual void round() = 0;

    // The largest error of the last round's result against the golden; throws
    // where the result is wrong, so that nothing fast and wrong gets a time.
    virtual double check() = 0;
};

// What making a contestant throws that cannot do the job: why. It is listed with the
// reason, and the others go on.
struct CannotDo : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Enters a contestant under a name. make is called once, before any timing.
struct Entry {
    Entry(std::string name, std::function<std::unique_ptr<Contestant>()> make);
};

// The value of an environment variable; throws, naming it, where it is not set.
// The driver passes places in this way: BENCH_LIB, the folder with libqtsaccel
// and its plugins; QTSACCEL_SHARED_DATA; BENCH_ONNXRUNTIME, its shared library.
std::string place(const char *variable);

// The threads that each contestant computes with: BENCH_THREADS, else 1.
int threads();

}  // namespace bench
