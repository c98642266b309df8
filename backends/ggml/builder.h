/* Collects the tensors of one graph before it is made ready to run. */
#ifndef SHIM_BUILDER_H
#define SHIM_BUILDER_H

#include <cstring>
#include <vector>

#include "library/guard.h"
#include "library/tensor_header.h"
#include "mask.h"
#include "rope_frequencies.h"
#include "sequence.h"
#include "shim.h"

namespace shim {

struct upload {
    int32_t input;
    ggml_tensor *leaf;
    size_t bytes;  // of the host's memory
    bool narrow;   // i64 on the host, i32 in the leaf
};

/*
 * Fails for a tensor of so many bytes that sizes computed of it could overflow. What
 * operators hold was checked; what is made on the way to them may be larger.
 */
void check_size(const ggml_tensor *t);

struct download {
    int32_t output;
    ggml_tensor *source;
    size_t bytes;
};

}  // namespace shim

struct shim_builder {
    std::vector<shim::context> contexts;
    std::vector<ggml_tensor *> roots;   // in the order in which they are to be computed
    std::vector<ggml_tensor *> leaves;  // not placed yet
    ggml_tensor *scratch = nullptr;     // what kernels of our own use while they run, one after the other
    std::vector<shim::upload> uploads;
    std::vector<shim::mask> masks;
    std::vector<shim::sequence> sequences;
    std::vector<shim::rope_frequencies> frequencies;
    std::vector<shim::download> downloads;

    shim::status status = shim::ok;
    char text[2048] = {};

    /* The context to make the next tensors in; it has room for any one operator. */
    ggml_context *room();

    /* The scratch memory, made or grown to so many bytes. */
    ggml_tensor *scratch_of(ggml_context *c, int64_t bytes);

    /* Runs f unless something failed before; gives null then, or if it fails. */
    template <class F>
    ggml_tensor *node(F &&f) noexcept {
        if (status != shim::ok) return nullptr;
        ggml_tensor *made = nullptr;
        status = shim::guarded([&] {
            made = f(room());
            if (made != nullptr) shim::check_size(made);
        });
        if (status != shim::ok) std::strncpy(text, shim_failure_text(), sizeof text - 1);
        return made;
    }

    /* Calls f with every tensor. */
    template <class F>
    void each_tensor(F &&f) const {
        for (const shim::context &c : contexts) {
            for (ggml_tensor *t = gg.get_first_tensor(c.get()); t != nullptr; t = gg.get_next_tensor(c.get(), t)) f(t);
        }
    }
};

#endif
