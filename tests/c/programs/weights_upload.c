/*
 * Weights put on a device ahead of plans: all or some, with progress, cancelled, within
 * a budget, found by plans and counted once.
 *
 * usage: weights_upload FOLDER   which may be written to
 */
#include "check.h"
#include "progress.h"

/* 24 MiB of matrices, so that GPUs go through pinned memory, and a small vector. */
enum { MATRICES = 6, N_OUT = 512, N_IN = 2048, MATRIX_BYTES = N_OUT * N_IN * 4 };

static const char *folder;
static float data[N_OUT * N_IN];

/* Of matrix m: halves between -4 and 3.5, so that every product is exact. */
static void fill(int m) {
    int i;
    for (i = 0; i < N_OUT * N_IN; i++) data[i] = (float)((i * 7 + i / N_IN * 3 + m * 5) % 16 - 8) / 2;
}

static const char *name_of(int m) {
    static char name[32];
    snprintf(name, sizeof name, "blk.%d.weight", m);
    return name;
}

static const char *save(void) {
    static char path[1024];
    const int64_t shape[] = {N_OUT, N_IN}, vector[] = {N_IN};
    qtsa_weights w;
    int m;
    snprintf(path, sizeof path, "%s/upload.gguf", folder);
    OK(qtsa_weights_create(&w));
    for (m = 0; m < MATRICES; m++) {
        fill(m);
        OK(add_declared(w, name_of(m), QTSA_DTYPE_F32, shape, 2));
        OK(set_dense(w, name_of(m), data, MATRIX_BYTES));
    }
    OK(add_declared(w, "norm", QTSA_DTYPE_F32, vector, 1));
    OK(set_dense(w, "norm", data, N_IN * 4));
    OK(qtsa_weights_save(w, path, NULL, 0, NULL, NULL));
    OK(qtsa_weights_free(w));
    return path;
}

static qtsa_backend backend_within(uint64_t budget) {
    qtsa_backend_options o;
    qtsa_backend b;
    o = qtsa_backend_options_init();
    o.threads = 1;
    o.weights_budget_bytes = budget;
    OK(qtsa_backend_create(&o, &b));
    return b;
}

/* One row of x, all ones, times matrix m, on a session of its own. */
static qtsa_status product(qtsa_backend b, qtsa_weights w, int m) {
    static float x[N_IN], y[N_OUT];
    const int64_t shape[] = {1, N_IN};
    qtsa_session s;
    qtsa_graph g;
    qtsa_plan p;
    qtsa_tensor in[2], out;
    qtsa_input input;
    qtsa_output output;
    qtsa_status status;
    int i, k;
    for (i = 0; i < N_IN; i++) x[i] = 1;
    input.data = x;
    input.bytes = sizeof x;
    output.data = y;
    output.bytes = sizeof y;
    OK(qtsa_session_create(b, &s));
    OK(qtsa_graph_create("product", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &in[0]));
    OK(qtsa_graph_weight(g, w, name_of(m), &in[1]));
    OK(qtsa_graph_op(g, "linear", in, 2, NULL, 0, &out, 1));
    OK(qtsa_graph_output(g, "y", out));
    OK(qtsa_plan_create(s, g, NULL, &p));
    status = qtsa_plan_run(p, &input, 1, &output, 1, NULL);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    OK(qtsa_session_free(s));
    if (status != QTSA_OK) return status;
    fill(m);
    for (i = 0; i < N_OUT; i++) {
        float sum = 0;
        for (k = 0; k < N_IN; k++) sum += data[i * N_IN + k];
        if (y[i] != sum) fprintf(stderr, "matrix %d: y[%d] is %g, want %g\n", m, i, y[i], sum);
        CHECK(y[i] == sum);
    }
    return status;
}

static uint64_t on_device(qtsa_weights w, qtsa_backend b) {
    uint64_t bytes;
    OK(qtsa_weights_device_bytes(w, b, &bytes));
    return bytes;
}

int main(int argc, char **argv) {
    const char *path, *pattern[] = {"blk.*", "norm"}, *one[] = {"blk.3.weight"}, *none[] = {"blk.0.*", "mlp.*"};
    const uint64_t total = (uint64_t)MATRICES * MATRIX_BYTES + N_IN * 4;
    progress seen = {0, 0, UINT64_MAX, 0};
    qtsa_weights_options open;
    qtsa_upload_options o;
    qtsa_backend b;
    qtsa_weights w, empty;
    uint64_t per, some, bytes; /* per: bytes on the device for each byte of a tensor */
    char text[1 << 12];
    size_t size;
    int m;
    CHECK(argc == 2);
    folder = argv[1];
    path = save();
    open = qtsa_weights_options_init();
    open.placement = QTSA_PLACEMENT_MAPPED;
    OK(qtsa_weights_open(path, &open, &w));
    b = backend_within(0);
    backend_name(b, text, sizeof text);
    per = strncmp(text, "cpu", 3) == 0 ? 0 : strncmp(text, "reference", 9) == 0 ? 2 : 1;

    /* Some, then the rest, then nothing. */
    o = qtsa_upload_options_init();
    o.progress = watch;
    o.user = &seen;
    o.patterns = one;
    o.n_patterns = 1;
    CHECK(on_device(w, b) == 0);
    OK(qtsa_weights_upload(w, b, &o));
    CHECK(seen.done == MATRIX_BYTES && seen.total == MATRIX_BYTES && on_device(w, b) == per * MATRIX_BYTES);
    o.patterns = pattern;
    o.n_patterns = 2;
    seen.calls = 0;
    OK(qtsa_weights_upload(w, b, &o));
    CHECK(seen.calls > 1 && seen.done == total && seen.total == total && on_device(w, b) == per * total);
    OK(qtsa_weights_upload(w, b, NULL));
    /* Plans of two sessions find them there. */
    for (m = 0; m < MATRICES; m++) OK(product(b, w, m));
    OK(product(b, w, 3));
    CHECK(on_device(w, b) == per * total);
    OK(qtsa_weights_report_copy(w, QTSA_FORMAT_TEXT, text, sizeof text, &size));
    CHECK(strstr(text, "mapped") != NULL && strstr(text, "0 bytes copied") != NULL);
    OK(qtsa_weights_free(w));

    /* Cancelled in the middle; then to the end. */
    OK(qtsa_weights_open(path, &open, &w));
    seen.limit = total / 2;
    seen.calls = 0;
    REFUSED(QTSA_ERR_CANCELLED, qtsa_weights_upload(w, b, &o), "cancelled");
    some = on_device(w, b);
    CHECK(per == 0 || (some > 0 && some < per * total));
    OK(product(b, w, 5));
    seen.limit = UINT64_MAX;
    seen.calls = 0;
    OK(qtsa_weights_upload(w, b, &o));
    CHECK(on_device(w, b) == per * total);
    for (m = 0; m < MATRICES; m++) OK(product(b, w, m));

    /* What is wrong. */
    o.patterns = none;
    REFUSED(QTSA_ERR_NOT_FOUND, qtsa_weights_upload(w, b, &o), "no tensor matches \"mlp.*\"", "among 7");
    none[1] = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_upload(w, b, &o), "pattern 1", "null");
    o.patterns = NULL;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_upload(w, b, &o), "patterns is null");
    o.struct_size = 8;
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_weights_upload(w, b, &o), "struct_size");
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_upload(NULL, b, NULL), "null");
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_upload(w, NULL, NULL), "null");
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_device_bytes(w, NULL, &bytes), "null");
    CHECK(bytes == 0);
    OK(qtsa_weights_create(&empty));
    OK(qtsa_weights_upload(empty, b, NULL));
    {
        const int64_t shape[] = {4};
        OK(add_declared(empty, "void", QTSA_DTYPE_F32, shape, 1));
    }
    REFUSED(QTSA_ERR_INVALID_STATE, qtsa_weights_upload(empty, b, NULL), "\"void\"", "no data");
    OK(qtsa_weights_free(empty));
    OK(qtsa_backend_free(b));

    /* A budget for three matrices. On a CPU they take nothing. */
    b = backend_within(3 * MATRIX_BYTES * (per ? per : 1));
    seen.calls = 0;
    if (per == 0) {
        OK(qtsa_weights_upload(w, b, NULL));
    } else {
        if (per == 1)
            REFUSED(QTSA_ERR_OUT_OF_MEMORY, qtsa_weights_upload(w, b, NULL), "25174016 bytes wanted",
                    "12582912 free of the backend's budget of 12582912");
        else
            REFUSED(QTSA_ERR_OUT_OF_MEMORY, qtsa_weights_upload(w, b, NULL), "8388608 bytes wanted", "0 free");
        o.struct_size = sizeof o;
        o.patterns = one;
        o.n_patterns = 1;
        OK(qtsa_weights_free(w)); /* its place is free again */
        OK(qtsa_weights_open(path, &open, &w));
        OK(qtsa_weights_upload(w, b, &o));
        OK(product(b, w, 0));
        OK(product(b, w, 1));
        CHECK(on_device(w, b) == per * 3 * MATRIX_BYTES);
        REFUSED(QTSA_ERR_OUT_OF_MEMORY, product(b, w, 2), "\"blk.2.weight\"", "bytes wanted", "0 free");
        OK(product(b, w, 3)); /* what was there goes on to work */
        OK(product(b, w, 1));
    }
    OK(qtsa_weights_free(w));
    OK(qtsa_backend_free(b));
    return 0;
}
