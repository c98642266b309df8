/* Steps for the header's section Weights. */
#ifndef FUZZCALLS_STEPS_WEIGHTS_H
#define FUZZCALLS_STEPS_WEIGHTS_H

#include "files.h"
#include "steps.h"

static void step_qtsa_weights_create(Thread &t) {
    const Out<qtsa_weights> out = t.out<qtsa_weights>();
    if (t.CALL(qtsa_weights_create, out) == QTSA_OK) t.keep(WEIGHTS, out.value());
}

static void step_qtsa_weights_free(Thread &t) { t.CALL(qtsa_weights_free, t.weights()); }

static const char *path(Thread &t) {
    if (t.random.chance(2)) return nullptr;
    if (t.random.chance(4)) return t.text(t.any_text());
    return t.text(t.process.folder + "/" + t.random.of(file_names));
}

static const qtsa_weights_options *weights_options(Thread &t) {
    static const char *const patterns[] = {"*", "a", "w", "?", "x*y", "**", "", "\xff"};
    static const qtsa_dtype types[] = {0, 0, 1, 2, 3, 32, 33, 48, 50, 9, -1, 1000};
    qtsa_weights_options *o = options_of<qtsa_weights_options>(t, sizeof *o);
    if (o == nullptr || o->struct_size != sizeof *o) return o;
    o->placement = t.flag(2);
    if (t.random.chance(2)) o->reserved = t.flag(1);
    if (t.random.chance(10)) o->budget_bytes = t.random.next() >> t.random.below(64);
    if (t.random.chance(50)) {
        const size_t n = t.random.below(4);
        qtsa_weights_rule *rules = t.memory<qtsa_weights_rule>(n);
        if (n > 0) rules->struct_size = t.random.chance(98) ? sizeof *rules : 8;
        for (size_t i = 0; i < n; i++) {
            rules[i].pattern = t.random.chance(2) ? nullptr : t.random.of(patterns);
            if (t.random.chance(20)) rules[i].rename = t.random.of(patterns);
            rules[i].dtype = t.random.of(types);
            if (t.random.chance(15)) rules[i].flags = t.flag(1);
        }
        o->rules = t.random.chance(2) ? nullptr : rules;
        o->n_rules = t.claim(n);
    }
    o->progress = progress(t);
    if (t.random.chance(15)) {
        qtsa_importance *importance = t.memory<qtsa_importance>(1);
        const size_t n = t.random.chance(70) ? 32 : t.random.below(40);
        float *columns = t.memory<float>(n);
        for (size_t i = 0; i < n; i++) columns[i] = t.random.chance(80) ? 1.0f : static_cast<float>(t.real());
        *importance = qtsa_importance{sizeof *importance, t.name(), t.random.chance(3) ? nullptr : columns, n};
        o->importance = importance;
        o->n_importance = t.claim(1);
    }
    return o;
}

static void step_qtsa_weights_open(Thread &t) {
    const char *p = path(t);
    const qtsa_weights_options *o = weights_options(t);
    const Out<qtsa_weights> out = t.out<qtsa_weights>();
    if (t.CALL(qtsa_weights_open, p, o, out) == QTSA_OK) t.keep(WEIGHTS, out.value());
}

static void step_qtsa_weights_plan_memory(Thread &t) {
    const char *p = path(t);
    t.CALL(qtsa_weights_plan_memory, p, weights_options(t), t.out<qtsa_weights_memory>());
}

static void step_qtsa_weights_report_copy(Thread &t) { COPY(qtsa_weights_report_copy, t.weights(), t.flag(1)); }

static void step_qtsa_weights_upload(Thread &t) {
    qtsa_upload_options *o = options_of<qtsa_upload_options>(t, sizeof *o);
    if (o != nullptr && o->struct_size == sizeof *o) {
        const size_t n = t.random.below(3);
        const char **patterns = t.memory<const char *>(n);
        for (size_t i = 0; i < n; i++) patterns[i] = t.random.chance(40) ? "*" : t.name();
        o->patterns = t.random.chance(3) ? nullptr : patterns;
        o->n_patterns = t.claim(n);
        o->progress = progress(t);
    }
    t.CALL(qtsa_weights_upload, t.weights(), t.backend(), o);
}

static void step_qtsa_weights_device_bytes(Thread &t) {
    t.CALL(qtsa_weights_device_bytes, t.weights(), t.backend(), t.out<uint64_t>());
}

/* What a tensor of a name is, if there is one. */
static bool named(Thread &t, qtsa_weights w, const char *name, qtsa_tensor_info *info) {
    const Out<qtsa_tensor_info> out = t.out<qtsa_tensor_info>(0);
    if (t.CALL(qtsa_weights_info, w, name, size_t(0), out) != QTSA_OK) return false;
    *info = out.value();
    return true;
}

/* An array without elements, of a size that a host could have. */
static qtsa_array *array(Thread &t) {
    qtsa_array *a = t.memory<qtsa_array>(1);
    static const size_t odd[] = {0, 8, sizeof *a - 8, sizeof *a + 8, SIZE_MAX};
    a->struct_size = t.random.chance(98) ? sizeof *a : t.random.of(odd);
    return a;
}

static size_t odd_bytes(Thread &t, size_t bytes) {
    return t.random.chance(97) ? bytes : t.random.chance(50) ? SIZE_MAX : bytes + (size_t(1) << 60);
}

static void step_qtsa_weights_add(Thread &t) {
    qtsa_array *a = array(t);
    int32_t rank;
    const int64_t *shape = t.shape(&rank);
    a->dtype = t.dtype();
    a->rank = rank;
    /* Of a rank that cannot be, there is no shape of that length. */
    for (int32_t i = 0; shape != nullptr && rank <= QTSA_MAX_RANK && i < rank; i++) a->shape[i] = shape[i];
    const size_t bytes = Thread::bytes_of(a->dtype, a->shape, a->rank);
    if (bytes > 0 && t.random.chance(40)) {
        a->data = t.content(a->dtype, bytes);
        a->bytes = odd_bytes(t, bytes);
    } else if (t.random.chance(3)) {
        a->bytes = 7;
    }
    t.CALL(qtsa_weights_add, t.weights(), t.name(), t.random.chance(2) ? nullptr : static_cast<const qtsa_array *>(a));
}

static void set_dense(Thread &t) {
    const qtsa_weights w = t.weights();
    const char *name = t.name();
    qtsa_tensor_info info;
    size_t bytes = t.random.below(100);
    qtsa_dtype dtype = QTSA_DTYPE_F32;
    if (t.random.chance(90) && named(t, w, name, &info) && info.bytes <= Guarded::most) {
        bytes = static_cast<size_t>(info.bytes);
        dtype = info.dtype;
    }
    qtsa_array *a = array(t);
    a->data = t.random.chance(2) ? nullptr : t.content(dtype, bytes);
    a->bytes = odd_bytes(t, bytes);
    t.CALL(qtsa_weights_set, w, name, t.random.chance(1) ? nullptr : static_cast<const qtsa_array *>(a));
}

/* An array with strides, all of which lies where there is memory. Another thread may put
 * another tensor under the name in between, so that only tensors of one's own are set. */
static void set_strided(Thread &t) {
    const Out<qtsa_weights> made = t.out<qtsa_weights>(0);
    if (t.CALL(qtsa_weights_create, made) != QTSA_OK) return;
    const qtsa_weights w = made.value();
    int64_t shape[QTSA_MAX_RANK];
    const int32_t rank = static_cast<int32_t>(t.random.between(0, QTSA_MAX_RANK));
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++) n *= shape[i] = t.random.chance(30) ? 32 : t.random.between(1, 5);
    if (n > 20000) n = 1, shape[0] = shape[1] = shape[2] = shape[3] = 1;
    static const qtsa_dtype to[] = {1, 1, 2, 3, 8, 9, 10, 11, 32, 33, 34, 35, 36, 64, 65, 50};
    const qtsa_array hollow = qtsa_array_dense(t.random.of(to), shape, rank, nullptr, 0);
    t.CALL(qtsa_weights_add, w, "a", static_cast<const qtsa_array *>(&hollow));
    t.keep(WEIGHTS, w);

    const qtsa_dtype from = t.random.chance(60) ? QTSA_DTYPE_F32 : t.dtype();
    const int64_t size = 8; /* no element is larger; blocks of quantised arrays are never strided */
    int64_t *strides = t.memory<int64_t>(static_cast<size_t>(rank));
    int64_t low = 0, high = 0, step = t.random.chance(50) ? 4 : size;
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[i] = t.random.chance(20) ? -step : t.random.chance(5) ? 0 : step;
        if (shape[i] == 1 && t.random.chance(20)) strides[i] = t.number();
        step *= shape[i] + (t.random.chance(10) ? 1 : 0);
        if (shape[i] > 1) (strides[i] < 0 ? low : high) += strides[i] * (shape[i] - 1);
    }
    const int64_t all = high - low + size;
    if (all > static_cast<int64_t>(Guarded::most)) return;
    const bool dense = t.random.chance(40);
    char *data = static_cast<char *>(t.content(from, static_cast<size_t>(dense ? n * size : all)));
    if (data == nullptr) return;
    if (!dense) data -= low;
    /* Memory is given back at the step's end, so what is lent must not outlive it: the
     * weights go first. */
    const bool lends = t.random.chance(30);
    qtsa_array *a = array(t);
    a->dtype = from;
    if (t.random.chance(50)) {
        a->rank = rank;
        for (int32_t i = 0; i < rank; i++) a->shape[i] = shape[i];
        if (rank > 0 && t.random.chance(5)) a->shape[0]++;
    }
    a->data = t.random.chance(2) ? nullptr : data;
    a->bytes = dense ? Thread::bytes_of(from, shape, rank) : t.random.chance(98) ? 0 : 8;
    a->strides = dense ? nullptr : strides;
    a->release = lends ? on_release : nullptr;
    a->user = &t.process;
    const qtsa_status s =
        t.CALL(qtsa_weights_set, w, t.random.chance(95) ? "a" : t.name(), static_cast<const qtsa_array *>(a));
    if (!lends || s != QTSA_OK) return;
    t.process.lent++;
    t.drop(WEIGHTS, w);
}

static void step_qtsa_weights_set(Thread &t) {
    if (t.random.chance(85))
        set_dense(t);
    else
        set_strided(t);
}

static qtsa_split_matrix *split_matrix(Thread &t) {
    qtsa_split_matrix *m = t.memory<qtsa_split_matrix>(1);
    m->struct_size = t.random.chance(98) ? sizeof *m : 8;
    static const int64_t ins[] = {32, 64, 96, 256, 8, 2, 40};
    m->n_out = t.random.between(1, 4);
    m->n_in = t.random.of(ins);
    m->block = t.random.chance(60) ? 32 : t.random.chance(50) ? 0 : m->n_in;
    m->bits = t.random.chance(50) ? 8 : 4;
    m->is_signed = t.random.chance(50);
    m->zero = t.random.chance(60) ? 0 : static_cast<int32_t>(t.random.between(-256, 256));
    m->nibbles = static_cast<int32_t>(t.random.below(3));
    static const qtsa_dtype scales[] = {1, 1, 2, 3};
    m->scale_dtype = t.random.of(scales);
    const int64_t block = m->block == 0 ? m->n_in : m->block, columns = m->n_in / block + 1;
    const int64_t gap = t.random.chance(15) ? t.random.between(0, 3) : 0;
    const int64_t scale = m->scale_dtype == QTSA_DTYPE_F32 ? 4 : 2;
    if (gap > 0) {
        m->level_row = m->n_in * m->bits / 8 + gap;
        m->scale_row = columns * scale + gap;
    }
    m->levels = t.content(QTSA_DTYPE_I8, static_cast<size_t>(m->n_out * (m->n_in * m->bits / 8 + gap)));
    m->scales = t.content(m->scale_dtype, static_cast<size_t>(m->n_out * (columns * scale + gap)));
    if (t.random.chance(20))
        m->offsets = t.content(m->scale_dtype, static_cast<size_t>(m->n_out * (columns * scale + gap)));
    /* And something that cannot be: what is read then is nothing. */
    switch (t.random.below(30)) {
        case 0:
            m->n_out = t.random.chance(50) ? -1 : INT64_MIN;
            break;
        case 1:
            m->n_in = t.random.chance(50) ? 0 : INT64_MAX;
            break;
        case 2:
            m->block = t.random.chance(50) ? -32 : 7;
            break;
        case 3:
            m->bits = static_cast<int32_t>(t.number());
            if (m->bits == 4 || m->bits == 8) m->bits = 3;
            break;
        case 4:
            m->zero = t.random.chance(50) ? 257 : INT32_MIN;
            break;
        case 5:
            m->nibbles = t.random.chance(50) ? -1 : 3;
            break;
        case 6:
            m->levels = nullptr;
            break;
        case 7:
            m->scales = nullptr;
            break;
        case 8:
            m->scale_dtype = t.random.chance(50) ? 10 : -5;
            break;
        case 9:
            m->reserved = 1;
            break;
    }
    return m;
}

static void step_qtsa_weights_add_split(Thread &t) {
    const qtsa_split_matrix *m = t.random.chance(2) ? nullptr : split_matrix(t);
    t.CALL(qtsa_weights_add_split, t.weights(), t.name(), m, t.random.chance(50) ? 0 : t.dtype(),
           t.out<qtsa_split_report>());
}

static size_t tensor_index(Thread &t) {
    return t.random.chance(85) ? t.random.below(3) : static_cast<size_t>(t.number());
}

static void step_qtsa_weights_count(Thread &t) {
    t.CALL(qtsa_weights_count, t.weights(), t.out<size_t>(), t.out<size_t>());
}

static void step_qtsa_weights_info(Thread &t) {
    const bool by_name = t.random.chance(50);
    const char *name = by_name ? t.name() : nullptr;
    const size_t index = by_name && t.random.chance(95) ? 0 : tensor_index(t);
    t.CALL(qtsa_weights_info, t.weights(), name, index, t.out<qtsa_tensor_info>());
}

static void step_qtsa_weights_name_copy(Thread &t) {
    const int32_t kind = t.random.chance(95) ? static_cast<int32_t>(t.random.between(1, 2)) : t.flag(3);
    COPY(qtsa_weights_name_copy, t.weights(), kind, tensor_index(t));
}

static const char *key(Thread &t) { return t.random.chance(80) ? t.text(t.random.of(metadata_keys)) : t.name(); }

static void step_qtsa_weights_metadata_info(Thread &t) {
    t.CALL(qtsa_weights_metadata_info, t.weights(), key(t), t.out<qtsa_metadata_info>());
}

static void step_qtsa_weights_metadata_copy(Thread &t) {
    const int64_t index = t.random.chance(50) ? QTSA_WHOLE : static_cast<int64_t>(tensor_index(t));
    COPY(qtsa_weights_metadata_copy, t.weights(), key(t), index);
}

/* Reads an array of numbers into room for some: none is larger than 8 bytes. */
static void step_qtsa_weights_metadata_get(Thread &t) {
    const size_t capacity = t.random.below(6);
    void *values = t.random.chance(20) ? nullptr : t.memory<int64_t>(capacity);
    const int32_t type = t.random.chance(95) ? static_cast<int32_t>(t.random.between(1, 3)) : t.flag(6);
    Out<size_t> count = t.out<size_t>();
    count.kept_on_failure = true;
    const qtsa_status s = t.CALL(qtsa_weights_metadata_get, t.weights(), key(t), type, values, capacity, count);
    if (s == QTSA_OK && values != nullptr && *count.p > capacity)
        t.violation("qtsa_weights_metadata_get: %zu values in room for %zu", *count.p, capacity);
    if (s != QTSA_OK && s != QTSA_ERR_INVALID_ARGUMENT && count.p != nullptr && *count.p != 0)
        t.violation("qtsa_weights_metadata_get gave %s and %zu values", qtsa_status_name(s), *count.p);
}

static void step_qtsa_weights_save(Thread &t) {
    size_t n;
    const qtsa_attr *metadata = attributes_of(t, any_operator(t), &n);
    const std::string to = t.random.chance(85)   ? t.process.folder + "/saved" + std::to_string(t.index)
                           : t.random.chance(50) ? t.process.folder
                                                 : "/nowhere/at/all";
    t.CALL(qtsa_weights_save, t.weights(), t.random.chance(3) ? nullptr : t.text(to), metadata, n, progress(t),
           nullptr);
}

#endif
