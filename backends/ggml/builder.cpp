#include "builder.h"

#include "device/struct.h"

namespace {

// Tensors a context holds, and the most that one function of ggml makes.
constexpr size_t tensors_per_context = 128;
constexpr size_t tensors_per_operator = 16;

}  // namespace

void shim::check_size(const ggml_tensor *t) {
    constexpr int64_t most = int64_t(1) << 62;
    int64_t bytes = static_cast<int64_t>(gg.type_size(t->type));
    for (int64_t n : t->ne) {
        if (n < 1 || __builtin_mul_overflow(bytes, n, &bytes) || bytes > most) {
            fail(unsupported, "%s makes a tensor [%lld, %lld, %lld, %lld], of more than 2^62 bytes", gg.op_desc(t),
                 static_cast<long long>(t->ne[3]), static_cast<long long>(t->ne[2]), static_cast<long long>(t->ne[1]),
                 static_cast<long long>(t->ne[0]));
        }
    }
}

ggml_context *shim_builder::room() {
    const size_t overhead = gg.tensor_overhead();
    if (contexts.empty() ||
        gg.used_mem(contexts.back().get()) + tensors_per_operator * overhead > tensors_per_context * overhead) {
        contexts.push_back(shim::new_context(tensors_per_context * overhead));
    }
    return contexts.back().get();
}

ggml_tensor *shim_builder::scratch_of(ggml_context *c, int64_t bytes) {
    if (scratch == nullptr) {
        const int64_t ne[GGML_MAX_DIMS] = {bytes, 1, 1, 1};
        scratch = gg.new_tensor(c, GGML_TYPE_I8, GGML_MAX_DIMS, ne);
    } else if (scratch->ne[0] < bytes) {
        scratch->ne[0] = bytes;
        for (int d = 1; d < GGML_MAX_DIMS; d++) scratch->nb[d] = size_t(bytes);
    }
    return scratch;
}

namespace {

/* Stands for a builder where there is no memory for one: it makes nothing, and says why. */
shim_builder *no_memory() {
    struct refusing : shim_builder {
        refusing() {
            status = shim::out_of_memory;
            std::strncpy(text, "the host is out of memory", sizeof text - 1);
        }
    };
    static refusing only;
    return &only;
}

}  // namespace

shim_builder *shim_builder_new(void) {
    shim_builder *b = new (std::nothrow) shim_builder;
    return b != nullptr ? b : no_memory();
}

void shim_builder_free(shim_builder *b) {
    if (b == no_memory()) return;
    shim::guarded([&] { delete b; });
}

int32_t shim_builder_status(const shim_builder *b, const char **out_text) {
    *out_text = b->text;
    return b->status;
}

ggml_tensor *shim_leaf(shim_builder *b, int32_t type, const int64_t ne[4]) {
    return b->node([&](ggml_context *c) { return gg.new_tensor(c, static_cast<ggml_type>(type), GGML_MAX_DIMS, ne); });
}

void shim_place(shim_builder *b, ggml_tensor *leaf, ggml_backend_buffer *buffer) {
    b->node([&](ggml_context *) {
        if (gg.backend_tensor_alloc(buffer, leaf, gg.backend_buffer_get_base(buffer)) != GGML_STATUS_SUCCESS) {
            shim::fail(shim::internal, "a tensor does not fit where it belongs");
        }
        return leaf;
    });
}

void shim_upload(shim_builder *b, int32_t input, ggml_tensor *leaf, bool narrow) {
    b->node([&](ggml_context *) {
        const size_t bytes = gg.nbytes(leaf);
        b->leaves.push_back(leaf);
        b->uploads.push_back({input, leaf, narrow ? 2 * bytes : bytes, narrow});
        return leaf;
    });
}

void shim_mask(shim_builder *b, int32_t input, ggml_tensor *leaf, int64_t window, bool wide) {
    b->node([&](ggml_context *) {
        b->leaves.push_back(leaf);
        b->masks.push_back({input, leaf, window, wide});
        return leaf;
    });
}

void shim_rope_frequencies(shim_builder *b, ggml_tensor *leaf, double base, double scale) {
    b->node([&](ggml_context *) {
        b->leaves.push_back(leaf);
        b->frequencies.push_back({leaf, base, scale});
        return leaf;
    });
}

void shim_sequence(shim_builder *b, ggml_tensor *leaf, double start, double step, int64_t period) {
    b->node([&](ggml_context *) {
        b->leaves.push_back(leaf);
        b->sequences.push_back({leaf, start, step, period});
        return leaf;
    });
}

void shim_expand(shim_builder *b, ggml_tensor *t) {
    b->node([&](ggml_context *) {
        b->roots.push_back(t);
        return t;
    });
}

void shim_download(shim_builder *b, int32_t output, ggml_tensor *t) {
    b->node([&](ggml_context *) {
        // Its memory must outlast the graph. A view's is that of its source.
        gg.set_output(t->view_src != nullptr ? t->view_src : t);
        b->downloads.push_back({output, t, gg.nbytes(t)});
        return t;
    });
}

bool shim_take_if_supported(shim_builder *b, shim_device *device, ggml_tensor *t) {
    return b->node([&](ggml_context *) -> ggml_tensor * {
        if (gg.backend_dev_supports_op(device->dev, t)) return t;
        t->op = GGML_OP_NONE;  // a leaf that nothing refers to
        return nullptr;
    }) != nullptr;
}

bool shim_builder_supported(shim_builder *b, shim_device *device, const char **out_refused) {
    bool supported = true;
    b->node([&](ggml_context *) -> ggml_tensor * {
        b->each_tensor([&](ggml_tensor *t) {
            if (supported && t->op != GGML_OP_NONE && !gg.backend_dev_supports_op(device->dev, t)) {
                supported = false;
                *out_refused = gg.op_desc(t);
            }
        });
        return nullptr;
    });
    return supported && b->status == shim::ok;
}
