/*
 * Weights in every form: arrays with strides, arrays that are lent, matrices whose
 * levels and scales lie apart, files mapped, copied, converted, renamed and saved; and
 * files as attackers write them.
 *
 * usage: weights FOLDER [STATUS FILE]...   FOLDER may be written to, and has a name of
 * any characters; each FILE must give its STATUS, by name
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "progress.h"

enum { N_OUT = 24, N_IN = 512, ROWS = 3 };

static qtsa_backend backend;
static qtsa_session session;
static const char *folder;
static float x[ROWS][N_IN], matrix[N_OUT][N_IN], y[ROWS][N_OUT];

static const char *path_of(const char *name) {
    static char paths[4][1024];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static const char *text_of(qtsa_weights w, const char *metadata) {
    static char text[1 << 14];
    size_t size;
    if (metadata != NULL)
        OK(qtsa_weights_metadata_copy(w, metadata, QTSA_WHOLE, text, sizeof text, &size));
    else
        OK(qtsa_weights_report_copy(w, QTSA_FORMAT_TEXT, text, sizeof text, &size));
    return text;
}

/* y = x w^T, computed by the library. */
static qtsa_status product(qtsa_weights w, const char *name) {
    const int64_t shape[] = {ROWS, N_IN};
    qtsa_graph g;
    qtsa_tensor in[2], out;
    qtsa_plan p;
    qtsa_status status;
    qtsa_input input;
    qtsa_output output;
    input.data = x;
    input.bytes = sizeof x;
    output.data = y;
    output.bytes = sizeof y;
    OK(qtsa_graph_create("product", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &in[0]));
    OK(qtsa_graph_weight(g, w, name, &in[1]));
    OK(qtsa_graph_op(g, "linear", in, 2, NULL, 0, &out, 1));
    OK(qtsa_graph_output(g, "y", out));
    OK(qtsa_plan_create(session, g, NULL, &p));
    OK(qtsa_graph_free(g));
    status = qtsa_plan_run(p, &input, 1, &output, 1, NULL);
    OK(qtsa_plan_free(p));
    return status;
}

/* Whether y is the product with these values, to a part of its largest. */
static int right(float (*values)[N_IN], double tolerance) {
    int i, o, k;
    double largest = 0, worst = 0;
    for (i = 0; i < ROWS; i++)
        for (o = 0; o < N_OUT; o++) {
            double sum = 0;
            for (k = 0; k < N_IN; k++) sum += (double)x[i][k] * values[o][k];
            if (fabs(sum) > largest) largest = fabs(sum);
            if (!(fabs(y[i][o] - sum) <= worst)) worst = fabs(y[i][o] - sum);
        }
    if (worst <= tolerance * largest) return 1;
    fprintf(stderr, "off by %g of at most %g\n", worst, largest);
    return 0;
}

static qtsa_weights with_tensor(const char *name, qtsa_dtype dtype) {
    const int64_t shape[] = {N_OUT, N_IN};
    qtsa_weights w;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, name, dtype, shape, 2));
    return w;
}

static void count_release(void *user) { ++*(int *)user; }

static void arrays(void) {
    static float transposed[N_IN][N_OUT];
    const int64_t strides[] = {4, 4 * N_OUT}, backwards[] = {-4 * N_IN, 4}, far[] = {INT64_MAX, 4};
    static float upside_down[N_OUT][N_IN];
    static float aligned[N_OUT * N_IN + 16];
    float *lent = aligned + (64 - (uintptr_t)aligned % 64) % 64 / 4;
    int o, k, released = 0;
    qtsa_weights w;
    for (o = 0; o < N_OUT; o++)
        for (k = 0; k < N_IN; k++) {
            transposed[k][o] = matrix[o][k];
            upside_down[N_OUT - 1 - o][k] = matrix[o][k];
        }
    w = with_tensor("w", QTSA_DTYPE_F32);
    OK(set_array(w, "w", transposed, QTSA_DTYPE_F32, strides, NULL, NULL));
    OK(product(w, "w"));
    CHECK(right(matrix, 1e-5));
    OK(qtsa_weights_free(w));

    w = with_tensor("w", QTSA_DTYPE_Q8_0);
    REFUSED(QTSA_ERR_NOT_FOUND, set_array(w, "v", matrix, QTSA_DTYPE_F32, NULL, NULL, NULL), "v");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, set_array(w, "w", NULL, QTSA_DTYPE_F32, NULL, NULL, NULL), "null");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, set_array(w, "w", matrix, 99, NULL, NULL, NULL), "dtype 99");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, set_array(w, "w", matrix, QTSA_DTYPE_F32, far, NULL, NULL),
            "9223372036854775807", "larger than any memory");
    REFUSED(QTSA_ERR_UNSUPPORTED, set_array(w, "w", matrix, QTSA_DTYPE_I32, NULL, NULL, NULL), "i32", "q8_0");
    OK(set_array(w, "w", upside_down[N_OUT - 1], QTSA_DTYPE_F32, backwards, count_release, &released));
    CHECK(released == 1); /* it was converted: nothing was lent */
    OK(product(w, "w"));
    CHECK(right(matrix, 2e-2));
    REFUSED(QTSA_ERR_INVALID_STATE, set_array(w, "w", matrix, QTSA_DTYPE_F32, NULL, count_release, &released),
            "in use");
    CHECK(released == 1);
    OK(qtsa_weights_free(w));

    memcpy(lent, matrix, sizeof matrix);
    w = with_tensor("w", QTSA_DTYPE_F32);
    OK(set_array(w, "w", lent, QTSA_DTYPE_F32, NULL, count_release, &released));
    CHECK(released == 1);
    OK(product(w, "w"));
    CHECK(right(matrix, 1e-5));
    OK(qtsa_weights_free(w));
    CHECK(released == 2);
}

static void split_matrices(void) {
    static int8_t int8[N_OUT][N_IN];
    static float scales[N_OUT][N_IN / 32], values[N_OUT][N_IN];
    static uint8_t nibbles[N_OUT][N_IN / 2];
    static uint16_t half_scales[N_OUT][N_IN / 64], half_biases[N_OUT][N_IN / 64]; /* f16 */
    qtsa_split_matrix m;
    qtsa_split_report report;
    qtsa_weights w;
    int o, k;

    OK(qtsa_weights_create(&w));
    SIZED(m);
    m.n_out = N_OUT;
    m.n_in = N_IN;
    m.bits = 8;
    m.is_signed = 1;
    m.block = 32;
    m.levels = int8;
    m.scales = scales;
    m.scale_dtype = QTSA_DTYPE_F32;
    for (o = 0; o < N_OUT; o++)
        for (k = 0; k < N_IN; k++) {
            int8[o][k] = (int8_t)((o * 31 + k * 17) % 255 - 127);
            scales[o][k / 32] = ldexpf(1 + (float)((o + k / 32) % 7) / 8, -7);
            values[o][k] = (float)int8[o][k] * scales[o][k / 32];
        }
    OK(qtsa_weights_add_split(w, "int8", &m, 0, &report));
    CHECK(report.dtype == QTSA_DTYPE_Q8_0 && report.exact == 1 && report.max_absolute_error == 0);
    CHECK(report.bytes == N_OUT * N_IN / 32 * 34);
    OK(product(w, "int8"));
    CHECK(right(values, 5e-2));

    /* Scales that f16 has not: the loss is said. */
    for (o = 0; o < N_OUT; o++)
        for (k = 0; k < N_IN; k++) {
            scales[o][k / 32] = 0.001f * (float)(1 + o + k / 32);
            values[o][k] = (float)int8[o][k] * scales[o][k / 32];
        }
    OK(qtsa_weights_add_split(w, "inexact", &m, 0, &report));
    CHECK(report.dtype == QTSA_DTYPE_Q8_0 && report.exact == 0);
    CHECK(report.max_relative_error > 1e-6 && report.max_relative_error <= 1.0 / 2048);
    OK(qtsa_weights_add_split(w, "f32", &m, QTSA_DTYPE_F32, &report));
    CHECK(report.exact == 1);
    OK(product(w, "f32"));
    CHECK(right(values, 1e-5));

    /* MLX's affine 4-bit with groups of 64; 0x2c00 is 1/16, 0xb800 is -1/2 as f16. */
    SIZED(m);
    m.n_out = N_OUT;
    m.n_in = N_IN;
    m.bits = 4;
    m.block = 64;
    m.levels = nibbles;
    m.scales = half_scales;
    m.offsets = half_biases;
    m.scale_dtype = QTSA_DTYPE_F16;
    for (o = 0; o < N_OUT; o++) {
        for (k = 0; k < N_IN / 64; k++) {
            half_scales[o][k] = 0x2c00;
            half_biases[o][k] = 0xb800;
        }
        for (k = 0; k < N_IN; k++) {
            int level = (o * 5 + k * 3) % 16;
            nibbles[o][k / 2] |= (uint8_t)(level << k % 2 * 4);
            values[o][k] = (float)level / 16 - 0.5f;
        }
    }
    OK(qtsa_weights_add_split(w, "mlx", &m, 0, &report));
    CHECK(report.dtype == QTSA_DTYPE_Q4_1 && report.exact == 1);
    OK(product(w, "mlx"));
    CHECK(right(values, 5e-2));

    REFUSED(QTSA_ERR_ALREADY_EXISTS, qtsa_weights_add_split(w, "mlx", &m, 0, &report), "mlx");
    CHECK(report.dtype == 0 && report.bytes == 0);
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add_split(w, "z", NULL, 0, &report), "matrix is null");
    REFUSED(QTSA_ERR_UNSUPPORTED, qtsa_weights_add_split(w, "z", &m, QTSA_DTYPE_Q4_K, &report), "q4_K");
    m.bits = 5;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add_split(w, "z", &m, 0, &report), "\"z\"", "5 bits");
    m.bits = 4;
    m.block = 48;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add_split(w, "z", &m, 0, &report), "blocks of 48");
    m.block = 64;
    m.level_row = INT64_MAX;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add_split(w, "z", &m, 0, &report), "levels", "larger than any");
    m.level_row = 0;
    m.scales = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_add_split(w, "z", &m, 0, &report), "scales is null");
    OK(qtsa_weights_free(w));
}

/* A model with a matrix, a vector, and metadata, saved. */
static const char *save_model(const char *name) {
    const int64_t vector[] = {N_IN};
    const int64_t list[] = {1, -2};
    qtsa_attr metadata[3];
    const char *path = path_of(name);
    qtsa_weights w = with_tensor("model.layers.7.weight", QTSA_DTYPE_F32);
    metadata[0] = qtsa_attr_string("general.architecture", "test");
    metadata[1] = qtsa_attr_int("test.count", 7);
    metadata[2] = qtsa_attr_ints("test.list", list, 2);
    OK(add_declared(w, "norm", QTSA_DTYPE_F32, vector, 1));
    OK(set_dense(w, "model.layers.7.weight", matrix, sizeof matrix));
    REFUSED(QTSA_ERR_INVALID_STATE, qtsa_weights_save(w, path, NULL, 0, NULL, NULL), "norm", "no data");
    CHECK(access(path, F_OK) != 0);
    OK(set_dense(w, "norm", x, N_IN * 4));
    OK(qtsa_weights_save(w, path, metadata, 3, NULL, NULL));
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_save(w, folder, NULL, 0, NULL, NULL), "is a directory");
    metadata[1].name = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_save(w, path, metadata, 3, NULL, NULL), "attribute 1", "null");
    OK(qtsa_weights_free(w));
    return path;
}

/* The columns that matter come out nearer. */
static void by_importance(const char *path, const qtsa_weights_options *base) {
    static float columns[N_IN];
    qtsa_importance entry = {sizeof entry, "model.layers.7.weight", columns, N_IN};
    qtsa_weights_rule rule = {sizeof rule, "*", NULL, QTSA_DTYPE_Q4_K, 0};
    qtsa_weights_options o = *base;
    qtsa_weights w;
    double off[2];
    int i, k;
    static float kept[ROWS][N_IN];
    memcpy(kept, x, sizeof x);
    o.rules = &rule;
    o.n_rules = 1;
    o.progress = NULL;
    for (k = 0; k < N_IN; k++) columns[k] = k % 16 == 0 ? 1000.0f : 1.0f;
    /* Only those columns are multiplied. */
    for (i = 0; i < ROWS; i++)
        for (k = 0; k < N_IN; k++) x[i][k] = k % 16 == 0 ? kept[i][k] : 0;
    for (i = 0; i < 2; i++) {
        int r, c;
        OK(qtsa_weights_open(path, &o, &w));
        OK(product(w, "model.layers.7.weight"));
        OK(qtsa_weights_free(w));
        off[i] = 0;
        for (r = 0; r < ROWS; r++)
            for (c = 0; c < N_OUT; c++) {
                double sum = 0;
                for (k = 0; k < N_IN; k++) sum += (double)x[r][k] * matrix[c][k];
                off[i] += (y[r][c] - sum) * (y[r][c] - sum);
            }
        o.importance = &entry;
        o.n_importance = 1;
    }
    printf("q4_K, of the columns that matter: off by %g, by importance %g\n", sqrt(off[0]), sqrt(off[1]));
    CHECK(off[1] < off[0]);
    memcpy(x, kept, sizeof x);
    entry.n_columns--;
    REFUSED(QTSA_ERR_SHAPE_MISMATCH, qtsa_weights_open(path, &o, &w), "has 512 columns, its importance 511");
    entry.n_columns++;
    columns[3] = -1;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "model.layers.7.weight", "column 3 has -1");
    entry.columns = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "columns is null");
    entry.name = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "importance 0", "name is null");
}

static void files(void) {
    const char *path = save_model("größer, mit Leerzeichen.gguf");
    qtsa_weights_options o;
    qtsa_weights_rule rules[2];
    qtsa_weights_memory memory;
    progress seen = {0, 0, UINT64_MAX, 0};
    qtsa_weights w;
    int placement;
    size_t i;

    o = qtsa_weights_options_init();
    for (placement = QTSA_PLACEMENT_AUTO; placement <= QTSA_PLACEMENT_MAPPED; placement++) {
        o.placement = placement;
        OK(qtsa_weights_plan_memory(path, &o, &memory));
        CHECK(memory.tensors == 2 && memory.file_bytes == sizeof matrix + N_IN * 4);
        CHECK(memory.memory_bytes + memory.mapped_bytes == memory.file_bytes);
        CHECK((memory.mapped_bytes > 0) == (placement == QTSA_PLACEMENT_MAPPED));
        OK(qtsa_weights_open(path, &o, &w));
        OK(product(w, "model.layers.7.weight"));
        CHECK(right(matrix, 1e-5));
        CHECK(strcmp(text_of(w, "test.count"), "7") == 0);
        CHECK(strcmp(text_of(w, "test.list"), "[1,-2]") == 0);
        CHECK(strstr(text_of(w, NULL), placement == QTSA_PLACEMENT_MAPPED ? "mapped" : "copied") != NULL);
        OK(qtsa_weights_free(w));
    }

    /* Converted and renamed on the way in; q4_K is ggml's own. */
    memset(rules, 0, sizeof rules);
    rules[0].struct_size = sizeof rules[0];
    rules[0].pattern = "model.layers.*.weight";
    rules[0].rename = "blk.*.w";
    rules[1].pattern = "*";
    o.rules = rules;
    o.n_rules = 2;
    o.progress = watch;
    o.user = &seen;
    for (i = 0; i < 3; i++) {
        const qtsa_dtype dtypes[] = {QTSA_DTYPE_Q8_0, QTSA_DTYPE_Q4_K, QTSA_DTYPE_BF16};
        const char *names[] = {"q8_0", "q4_K", "bf16"};
        const double tolerances[] = {2e-2, 1e-1, 2e-2};
        qtsa_tensor_info info;
        rules[1].dtype = dtypes[i];
        seen.calls = 0;
        OK(qtsa_weights_open(path, &o, &w));
        CHECK(seen.done == seen.total && seen.total == memory.file_bytes && seen.calls > 0);
        OK(qtsa_weights_info(w, "blk.7.w", 0, &info));
        CHECK(info.dtype == dtypes[i]);
        CHECK(strstr(text_of(w, NULL), names[i]) != NULL && strstr(text_of(w, NULL), "single dimension") != NULL);
        OK(product(w, "blk.7.w"));
        CHECK(right(matrix, tolerances[i]));
        OK(qtsa_weights_free(w));
    }
    by_importance(path, &o);
    seen.limit = 0;
    seen.calls = 0;
    REFUSED(QTSA_ERR_CANCELLED, qtsa_weights_open(path, &o, &w), path, "cancelled");
    CHECK(w == NULL);
    seen.limit = UINT64_MAX;

    /* What does not fit says so, and leaves room for what does. */
    o.placement = QTSA_PLACEMENT_COPIED;
    o.budget_bytes = 1000;
    REFUSED(QTSA_ERR_OUT_OF_MEMORY, qtsa_weights_open(path, &o, &w), "bytes wanted", "the budget is 1000");
    o.budget_bytes = 1 << 20;
    seen.calls = 0;
    OK(qtsa_weights_open(path, &o, &w));
    OK(qtsa_weights_free(w));
    o.budget_bytes = 0;

    o.placement = 3;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "placement is 3");
    o.placement = 0;
    rules[1].dtype = QTSA_DTYPE_I32;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "rule 1", "i32");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_plan_memory(path, &o, &memory), "rule 1", "i32");
    CHECK(memory.tensors == 0);
    rules[0].pattern = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "rule 0", "pattern is null");
    o.rules = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_open(path, &o, &w), "rules is null");
}

/* A file that is cut short under its mapping. */
static void cut_short(void) {
    const char *path = save_model("cut.gguf");
    qtsa_weights_options o;
    qtsa_weights w;
    o = qtsa_weights_options_init();
    o.placement = QTSA_PLACEMENT_MAPPED;
    OK(qtsa_weights_open(path, &o, &w));
    CHECK(truncate(path, 5000) == 0);
    REFUSED(QTSA_ERR_IO, product(w, "model.layers.7.weight"), path, "shorter", "it has 5000 bytes");
    REFUSED(QTSA_ERR_IO, qtsa_weights_save(w, path_of("again.gguf"), NULL, 0, NULL, NULL), "shorter");
    OK(set_dense(w, "model.layers.7.weight", matrix, sizeof matrix));
    OK(product(w, "model.layers.7.weight"));
    CHECK(right(matrix, 1e-5));
    OK(qtsa_weights_free(w));
}

/* A file of bytes that grows. */
static uint8_t content[1 << 16];
static size_t size;

static void put(const void *bytes, size_t n) {
    memcpy(content + size, bytes, n);
    size += n;
}
static void u32(uint32_t v) { put(&v, 4); }
static void u64(uint64_t v) { put(&v, 8); }

static const char *written(const char *name) {
    const char *path = path_of(name);
    FILE *f = fopen(path, "wb");
    CHECK(f != NULL && fwrite(content, 1, size, f) == size && fclose(f) == 0);
    return path;
}

/* The header of a GGUF file with one tensor. */
static const char *gguf(uint32_t version, uint64_t tensors, uint64_t keys, uint64_t name_length, const char *name,
                        uint32_t rank, const uint64_t *dims, uint32_t type, uint64_t offset) {
    static const uint8_t zeros[256];
    uint32_t i;
    size = 0;
    put("GGUF", 4);
    u32(version);
    u64(tensors);
    u64(keys);
    u64(name_length);
    put(name, strlen(name));
    u32(rank);
    for (i = 0; i < rank && i < 8; i++) u64(dims[i]);
    u32(type);
    u64(offset);
    put(zeros, 256);
    return written("hostile.gguf");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each is refused within a second, with the words. */
#define HOSTILE(code, path, ...)                                          \
    do {                                                                  \
        double start_ = now();                                            \
        qtsa_weights w_;                                                  \
        REFUSED(code, qtsa_weights_open((path), NULL, &w_), __VA_ARGS__); \
        CHECK(w_ == NULL && now() - start_ < 1);                          \
    } while (0)

/* What is right nearby. */
#define OK_FILE(path)                             \
    do {                                          \
        qtsa_weights w_;                          \
        OK(qtsa_weights_open((path), NULL, &w_)); \
        OK(qtsa_weights_free(w_));                \
    } while (0)

/* Two GGUF tensors of two floats, 32 bytes apart with their padding; the metadata that
 * was put into content from byte 4096 on stands before them. */
static const char *pair(uint64_t first, uint64_t second, const char *name, size_t metadata) {
    static const uint8_t zeros[64];
    const uint8_t *more = content + 4096;
    int i;
    size = 0;
    put("GGUF", 4);
    u32(3);
    u64(2);
    u64(metadata > 0);
    put(more, metadata);
    for (i = 0; i < 2; i++) {
        u64(1);
        put(i == 0 ? "a" : name, 1);
        u32(1);
        u64(2);
        u32(0);
        u64(i == 0 ? first : second);
    }
    put(zeros, 32 - size % 32);
    put(zeros, 64);
    return written("pair.gguf");
}

/* The same with a metadata value of a kind, n bytes long. */
static const char *described(const char *key, uint32_t kind, const void *value, size_t n) {
    size = 4096;
    u64(strlen(key));
    put(key, strlen(key));
    u32(kind);
    put(value, n);
    return pair(0, 32, "b", size - 4096);
}

static void hostile_metadata(void) {
    const uint64_t huge = UINT64_C(1) << 63;
    uint8_t array[12] = {4}; /* of u32 */
    const uint32_t three = 3, yes = 7;
    OK_FILE(pair(0, 32, "b", 0));
    HOSTILE(QTSA_ERR_CORRUPT, pair(0, 0, "b", 0), "at byte ", "\"b\"", "overlaps");
    HOSTILE(QTSA_ERR_CORRUPT, pair(32, 0, "b", 0), "at byte ", "\"a\"", "hole");
    HOSTILE(QTSA_ERR_CORRUPT, pair(0, 64, "b", 0), "at byte ", "\"b\"", "hole");
    HOSTILE(QTSA_ERR_CORRUPT, pair(0, 32, "a", 0), "at byte ", "\"a\" is there twice");
    OK_FILE(described("k", 8, "\1\0\0\0\0\0\0\0x", 9));
    HOSTILE(QTSA_ERR_CORRUPT, described("k", 99, "", 0), "at byte ", "\"k\"", "99");
    HOSTILE(QTSA_ERR_CORRUPT, described("k", 8, &huge, 8), "at byte ", "\"k\"", "9223372036854775808");
    HOSTILE(QTSA_ERR_CORRUPT, described("k", 7, &yes, 1), "at byte ", "\"k\"", "a boolean is 7");
    memcpy(array + 4, &huge, 8);
    HOSTILE(QTSA_ERR_CORRUPT, described("k", 9, array, 12), "at byte ", "\"k\"", "9223372036854775808");
    HOSTILE(QTSA_ERR_CORRUPT, described("general.alignment", 8, "\1\0\0\0\0\0\0\0x", 9), "at byte ",
            "general.alignment", "it is string, not u32");
    HOSTILE(QTSA_ERR_CORRUPT, described("general.alignment", 4, &three, 4), "at byte ", "general.alignment",
            "not a power of two");
    HOSTILE(QTSA_ERR_CORRUPT, described("\xff", 7, "\1", 1), "at byte ", "UTF-8");
}

/* A safetensors file with this header and 16 bytes of data. */
static const char *safe(const char *header) {
    size = 0;
    u64(strlen(header));
    put(header, strlen(header));
    put("0123456789abcdef", 16);
    return written("hostile.safetensors");
}

#define A(dtype, shape, from, to) \
    "\"a\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" from "," to "]}"
#define B(from, to) "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" from "," to "]}"

static void hostile_safetensors(void) {
    OK_FILE(safe("{" A("F32", "4", "0", "16") "}"));
    OK_FILE(safe("{" A("F32", "2", "0", "8") "," B("8", "16") "}"));
    OK_FILE(safe("{" A("F32", "0,4", "0", "0") ",\"b\":{\"dtype\":\"I8\",\"shape\":[16],\"data_offsets\":[0,16]}}"));
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "2", "0", "8") "," B("4", "12") "}"), "at byte ", "\"b\"", "overlap");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "2", "8", "0") "," B("8", "16") "}"), "at byte ", "\"a\"", "reversed");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "1", "0", "4") "," B("8", "16") "}"), "at byte ", "\"b\"", "hole");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "2", "0", "8") "," B("16", "24") "}"), "at byte ", "\"b\"", "beyond");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F16", "4", "0", "16") "}"), "at byte ", "\"a\"", "takes 8 bytes", "16 apart");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "4294967296,4294967296", "0", "16") "}"), "at byte ", "\"a\"",
            "overflows");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "9223372036854775808", "0", "16") "}"), "at byte ", "\"a\"");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "-4", "0", "16") "}"), "at byte ", "\"a\"");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{" A("F32", "2", "0", "8") "," A("F32", "2", "8", "16") "}"), "at byte ",
            "\"a\" is there twice");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{\"\xff\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}"), "at byte ",
            "UTF-8");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{\"__metadata__\":{\"k\":1}," A("F32", "4", "0", "16") "}"), "at byte ",
            "__metadata__");
    HOSTILE(QTSA_ERR_CORRUPT, safe("{\"__metadata__\":[]," A("F32", "4", "0", "16") "}"), "at byte ", "__metadata__");
    OK_FILE(safe("{" A("F128", "1", "0", "16") "}")); /* listed, and not read */
}

/* A file that may not be read. Root may read all, so it becomes somebody else meanwhile. */
static void forbidden(void) {
    char dir[] = "/tmp/qtsaccel-forbidden-XXXXXX", path[64];
    FILE *f;
    const int root = geteuid() == 0;
    CHECK(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
    snprintf(path, sizeof path, "%s/secret", dir);
    f = fopen(path, "wb");
    CHECK(f != NULL && fwrite("GGUF", 1, 4, f) == 4 && fclose(f) == 0 && chmod(path, 0) == 0);
    CHECK(!root || seteuid(65534) == 0);
    HOSTILE(QTSA_ERR_IO, path, "secret", "permission denied");
    CHECK(!root || seteuid(0) == 0);
    CHECK(unlink(path) == 0 && rmdir(dir) == 0);
}

static void hostile(void) {
    const uint64_t ok[] = {2, 2}, wraps[] = {UINT64_C(1) << 32, UINT64_C(1) << 32};
    const uint64_t wraps3[] = {UINT64_C(1) << 31, UINT64_C(1) << 31, 4}, negative[] = {UINT64_C(1) << 63, 1};
    const uint64_t odd[] = {33, 2}, five[] = {1, 1, 1, 1, 1}, eight[8] = {1};
    const char *path, *json;
    qtsa_weights w;
    qtsa_tensor_info info;
    size_t n;
    struct rusage before, after;
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);

    OK(qtsa_weights_open(gguf(3, 1, 0, 1, "a", 2, ok, 0, 0), NULL, &w));
    OK(qtsa_weights_free(w));
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, wraps, 0, 0), "at byte ", "\"a\"", "overflows");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 3, wraps3, 0, 0), "at byte ", "overflows");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, negative, 0, 0), "at byte ", "9223372036854775808");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, odd, 8, 0), "at byte ", "a row of 33", "q8_0");
    OK(qtsa_weights_open(gguf(3, 1, 0, 1, "a", 5, five, 0, 0), NULL, &w)); /* leading ones are dropped */
    OK(qtsa_weights_free(w));
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 0xffffffff, eight, 0, 0), "at byte ", "4294967295 dimensions");
    OK(qtsa_weights_open(gguf(3, 1, 0, 1, "a", 2, ok, 0xffffffff, 0), NULL, &w)); /* listed, and not read */
    OK(qtsa_weights_info(w, "a", 0, &info));
    CHECK(info.dtype == QTSA_DTYPE_FOREIGN);
    OK(qtsa_weights_free(w));
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, ok, 0, 32), "at byte ", "hole");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, ok, 0, 1), "at byte ", "alignment");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 1, "a", 2, ok, 0, UINT64_MAX - 31), "at byte ", "hole");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, UINT64_C(1) << 63, "a", 2, ok, 0, 0), "at byte 32", "9223372036854775808");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, UINT64_C(1) << 63, 0, 1, "a", 2, ok, 0, 0), "at byte 8", "number of tensors");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, UINT64_MAX, 1, "a", 2, ok, 0, 0), "at byte 16", "metadata keys");
    HOSTILE(QTSA_ERR_CORRUPT, gguf(3, 1, 0, 2, "\xff\xfe", 2, ok, 0, 0), "at byte 24", "not UTF-8");
    HOSTILE(QTSA_ERR_UNSUPPORTED, gguf(4, 1, 0, 1, "a", 2, ok, 0, 0), "at byte 4", "version is 4");
    HOSTILE(QTSA_ERR_UNSUPPORTED, gguf(0x03000000, 1, 0, 1, "a", 2, ok, 0, 0), "at byte 4", "big-endian");
    gguf(3, 1, 0, 1, "a", 2, ok, 0, 0);
    content[0] = 'g';
    HOSTILE(QTSA_ERR_CORRUPT, written("magic.gguf"), "neither a GGUF nor a safetensors");

    /* Every truncation of a model. */
    path = save_model("whole.gguf");
    {
        FILE *f = fopen(path, "rb");
        CHECK(f != NULL);
        n = fread(content, 1, sizeof content, f);
        fclose(f);
    }
    for (size = 0; size < 400; size++) HOSTILE(QTSA_ERR_CORRUPT, written("cut.gguf"), "byte");
    for (size = 400; size < n; size += 997) HOSTILE(QTSA_ERR_CORRUPT, written("cut.gguf"), "byte");
    /* And every one of a small model: its last tensor's padding may be missing. */
    pair(0, 32, "b", 0);
    for (n = size; size > n - 24; size--) {
        OK(qtsa_weights_open(written("cut.gguf"), NULL, &w));
        OK(qtsa_weights_free(w));
    }
    while (size-- > 0) HOSTILE(QTSA_ERR_CORRUPT, written("cut.gguf"), "byte");

    /* Of safetensors: a header beyond the file, and one that nests. */
    size = 0;
    u64(UINT64_C(1) << 62);
    put("{}", 2);
    HOSTILE(QTSA_ERR_CORRUPT, written("beyond.safetensors"), "at byte 0", "4611686018427387904");
    size = 0;
    u64(20007);
    put("{\"a\":", 5);
    memset(content + size, '[', 10000);
    memset(content + size + 10000, ']', 10000);
    size += 20000;
    put("} ", 2);
    HOSTILE(QTSA_ERR_CORRUPT, written("deep.safetensors"), "at byte ");
    json = "{\"weight_map\":{\"a\":\"../../../etc/passwd\"}}";
    size = 0;
    put(json, strlen(json));
    HOSTILE(QTSA_ERR_CORRUPT, written("out.safetensors.index.json"), "at byte ", "no name of a file beside");

    hostile_metadata();
    hostile_safetensors();

    HOSTILE(QTSA_ERR_IO, folder, "is a directory");
    HOSTILE(QTSA_ERR_IO, path_of("nothing"), "no such file");
    path = path_of("pipe");
    CHECK(mkfifo(path, 0600) == 0 || errno == EEXIST);
    HOSTILE(QTSA_ERR_IO, path, "is a pipe");
    forbidden();

    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    printf("hostile files took %ld KB\n", after.ru_maxrss - before.ru_maxrss);
    CHECK(after.ru_maxrss - before.ru_maxrss < 100 * 1024);
}

static void given(const char *status, const char *path) {
    double start = now();
    qtsa_weights w;
    const qtsa_status s = qtsa_weights_open(path, NULL, &w);
    if (strcmp(qtsa_status_name(s), status) != 0 || now() - start > 1) {
        fprintf(stderr, "%s gave %s after %.3f s, want %s: %s\n", path, qtsa_status_name(s), now() - start, status,
                qtsa_last_error());
        exit(1);
    }
    if (s == QTSA_OK)
        OK(qtsa_weights_free(w));
    else
        CHECK(w == NULL && strstr(qtsa_last_error(), path) != NULL && strstr(qtsa_last_error(), "at byte ") != NULL);
}

int main(int argc, char **argv) {
    qtsa_backend_options o;
    int i, k;
    CHECK(argc >= 2 && argc % 2 == 0);
    folder = argv[1];
    for (i = 0; i < ROWS; i++)
        for (k = 0; k < N_IN; k++) x[i][k] = sinf((float)(i * 100 + k));
    for (i = 0; i < N_OUT; i++)
        for (k = 0; k < N_IN; k++) matrix[i][k] = sinf((float)(i * 77 + k)) * (1 + (float)(k % 5) / 4);
    o = qtsa_backend_options_init();
    o.threads = 1;
    OK(qtsa_backend_create(&o, &backend));
    OK(qtsa_session_create(backend, &session));
    arrays();
    split_matrices();
    files();
    cut_short();
    hostile();
    for (i = 2; i < argc; i += 2) given(argv[i], argv[i + 1]);
    OK(qtsa_session_free(session));
    OK(qtsa_backend_free(backend));
    return 0;
}
