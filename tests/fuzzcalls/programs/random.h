/* Numbers that follow from a seed. */
#ifndef FUZZCALLS_RANDOM_H
#define FUZZCALLS_RANDOM_H

#include <cstddef>
#include <cstdint>

/* SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014). */
class Random {
  public:
    explicit Random(uint64_t seed) : state(seed) {}

    /* A generator of its own for a place, so that leaving one step out changes no other. */
    static Random of(uint64_t seed, uint64_t sequence, uint64_t thread, uint64_t step) {
        Random r(seed);
        for (uint64_t part : {sequence, thread, step}) r.state = r.next() ^ (part * 0x9E3779B97F4A7C15u);
        return Random(r.next());
    }

    uint64_t next() {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    /* From 0 to n - 1. */
    size_t below(size_t n) { return static_cast<size_t>(next() % n); }

    int64_t between(int64_t least, int64_t most) {
        return least + static_cast<int64_t>(below(static_cast<size_t>(most - least + 1)));
    }

    bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }

    template <class T, size_t N>
    const T &of(const T (&all)[N]) {
        return all[below(N)];
    }

  private:
    uint64_t state;
};

#endif
