/* Memory for what is passed to the library: behind each piece, or before it, lies a page
 * that nobody may touch, and what is left of the piece's own page is looked at afterwards. */
#ifndef FUZZCALLS_GUARDED_H
#define FUZZCALLS_GUARDED_H

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "random.h"

class Guarded {
  public:
    static constexpr size_t most = 1 << 20;

    Guarded() {
        for (Size &s : sizes) {
            const size_t stride = s.bytes + page;
            void *p = mmap(nullptr, page + stride * s.count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED) abort();
            s.first = static_cast<char *>(p) + page;
            for (size_t i = 0; i < s.count; i++)
                if (mprotect(s.first + i * stride, s.bytes, PROT_READ | PROT_WRITE) != 0) abort();
        }
    }

    ~Guarded() {
        for (Size &s : sizes) munmap(s.first - page, page + (s.bytes + page) * s.count);
    }

    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;

    /* Bytes aligned as asked, all of one value; null: there are not so many. What was
     * taken is valid until everything is given back. */
    char *take(Random &random, size_t bytes, size_t alignment = 1, int fill = 0) {
        for (Size &s : sizes) {
            if (bytes > s.bytes || s.used == s.count) continue;
            char *from = s.first + s.used++ * (s.bytes + page), *to = from + s.bytes;
            char *p = random.chance(75) ? to - bytes : from;
            if (alignment == 1 && random.chance(25)) p += p == from ? random.below(4) % (s.bytes - bytes + 1) : 0;
            p -= reinterpret_cast<uintptr_t>(p) % alignment;
            if (p < from) p = from;
            Piece piece = {p, bytes, p - least(p - from), p + bytes + least(to - (p + bytes))};
            memset(piece.from, canary, static_cast<size_t>(p - piece.from));
            memset(p, fill, bytes);
            memset(p + bytes, canary, static_cast<size_t>(piece.to - (p + bytes)));
            pieces.push_back(piece);
            return p;
        }
        return nullptr;
    }

    /* Whether nothing was written beside the pieces. */
    bool intact() const {
        for (const Piece &p : pieces) {
            for (const char *c = p.from; c < p.data; c++)
                if (*c != static_cast<char>(canary)) return false;
            for (const char *c = p.data + p.bytes; c < p.to; c++)
                if (*c != static_cast<char>(canary)) return false;
        }
        return true;
    }

    void give_back() {
        pieces.clear();
        for (Size &s : sizes) s.used = 0;
    }

  private:
    static constexpr size_t page = 4096;
    static constexpr int canary = 0xC5;

    struct Size {
        size_t bytes, count;
        char *first;
        size_t used;
    };
    struct Piece {
        char *data;
        size_t bytes;
        char *from, *to; /* as far as is looked at */
    };

    static ptrdiff_t least(ptrdiff_t n) { return n < 64 ? n : 64; }

    Size sizes[3] = {{page, 128, nullptr, 0}, {16 * page, 24, nullptr, 0}, {most, 6, nullptr, 0}};
    std::vector<Piece> pieces;
};

#endif
