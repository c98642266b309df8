#include "at_exit.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace {

// Never destroyed: other threads look at them until the process is gone.
std::atomic<bool> ending{false};
std::atomic<int> running{0};

// One operator of a large graph may take this long; a process that ends waits no longer.
constexpr std::chrono::seconds most{2};

void stop_runs() {
    ending.store(true);
    const auto begun = std::chrono::steady_clock::now();
    while (running.load() != 0 && std::chrono::steady_clock::now() - begun < most) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

}  // namespace

bool shim::exiting() { return ending.load(std::memory_order_relaxed); }

shim::computing::computing() {
    static const int registered = std::atexit(stop_runs);
    (void)registered;
    running.fetch_add(1);
}

shim::computing::~computing() { running.fetch_sub(1); }
