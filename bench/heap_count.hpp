// Counts heap allocations, by whatever library of the process makes them.
#pragma once

namespace bench {

// The allocations that the calling thread has made so far.
long heap_count();

}  // namespace bench
