/*
 * Loads, builds, runs, fails and frees, for as many rounds or seconds as are told: the
 * process stays as large as it is after the first tenth, in memory, threads, descriptors
 * and handles, values stay right, and nothing comes out on stdout or stderr.
 *
 * usage: soak FOLDER ROUNDS SECONDS: whichever takes longer, in whole rounds
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../c/programs/hooks.h"
#include "../../c/programs/model.h"

static const char *folder;

/* What the process takes. */
typedef struct taken {
    long resident, threads, files, objects, bytes;
} taken;

static long entries(const char *path) {
    long n = 0;
    DIR *d = opendir(path);
    CHECK(d != NULL);
    while (readdir(d) != NULL) n++;
    closedir(d);
    return n;
}

static taken now(void) {
    taken t;
    long total, pages;
    FILE *f = fopen("/proc/self/statm", "r");
    CHECK(f != NULL && fscanf(f, "%ld %ld", &total, &pages) == 2);
    fclose(f);
    t.resident = pages * sysconf(_SC_PAGESIZE);
    t.threads = entries("/proc/self/task");
    t.files = entries("/proc/self/fd");
    t.objects = (long)qtsa_test_objects();
    t.bytes = (long)qtsa_test_tensor_bytes();
    return t;
}

static qtsa_backend backend_of(const char *name, int32_t threads) {
    qtsa_backend_options o = qtsa_backend_options_init();
    qtsa_backend b;
    o.backend = name;
    o.threads = threads;
    OK(qtsa_backend_create(&o, &b));
    return b;
}

/* A whole model on a backend that goes with it. */
static void whole(const char *name) {
    model m;
    m.backend = backend_of(name, 1);
    m.weights = model_weights();
    m.graph = model_graph(m.weights);
    OK(qtsa_session_create(m.backend, &m.session));
    OK(qtsa_plan_create(m.session, m.graph, NULL, &m.plan));
    MODEL_RUNS(m.plan);
    model_free(&m);
}

/* Two plans of one session take turns, one with a length that changes. */
static void two_plans(qtsa_backend backend, int round) {
    qtsa_weights w = model_weights();
    qtsa_graph g = model_graph(w), sums;
    qtsa_session s;
    qtsa_plan p, r;
    qtsa_tensor x, y;
    int64_t n, i;
    const qtsa_attr axis = qtsa_attr_int("axis", 0);
    OK(qtsa_graph_create("sums", &sums));
    OK(qtsa_graph_dim(sums, "n", 1, 64, &n));
    OK(qtsa_graph_input(sums, "x", QTSA_DTYPE_F32, &n, 1, &x));
    OK(qtsa_graph_op(sums, "cumsum", &x, 1, &axis, 1, &y, 1));
    OK(qtsa_graph_output(sums, "y", y));
    OK(qtsa_session_create(backend, &s));
    OK(qtsa_plan_create(s, g, NULL, &p));
    OK(qtsa_plan_create(s, sums, NULL, &r));
    for (i = 0; i < 3; i++) {
        const int64_t length = 1 + (round * 7 + i * 23) % 64;
        float in[64], out[64], want = 0;
        qtsa_input input = {in, (size_t)length * 4};
        qtsa_output output = {out, (size_t)length * 4};
        qtsa_run_options o = qtsa_run_options_init();
        int64_t k;
        o.dims = &length;
        o.n_dims = 1;
        for (k = 0; k < length; k++) in[k] = (float)(k % 5) - 1;
        OK(qtsa_plan_run(r, &input, 1, &output, 1, &o));
        for (k = 0; k < length; k++) {
            want += in[k];
            CHECK(out[k] == want);
        }
        MODEL_RUNS(p);
    }
    OK(qtsa_plan_free(r));
    OK(qtsa_plan_free(p));
    OK(qtsa_session_free(s));
    OK(qtsa_graph_free(sums));
    OK(qtsa_graph_free(g));
    OK(qtsa_weights_free(w));
}

static void path_of(char *to, size_t room, const char *name) { snprintf(to, room, "%s/%s", folder, name); }

/* Weights from a file, kept in each of the two ways, and a plan that reads them. */
static void from_file(qtsa_backend backend, int round) {
    char path[4096];
    qtsa_weights_options o = qtsa_weights_options_init();
    qtsa_weights w;
    qtsa_graph g;
    qtsa_session s;
    qtsa_plan p;
    path_of(path, sizeof path, "model.gguf");
    o.placement = 1 + round % 2;
    OK(qtsa_weights_open(path, &o, &w));
    g = model_graph(w);
    OK(qtsa_session_create(backend, &s));
    OK(qtsa_plan_create(s, g, NULL, &p));
    OK(qtsa_weights_free(w));
    OK(qtsa_graph_free(g));
    MODEL_RUNS(p);
    OK(qtsa_session_free(s));
    OK(qtsa_plan_free(p));
}

static void save(const char *name) {
    char path[4096];
    qtsa_weights w = model_weights();
    path_of(path, sizeof path, name);
    OK(qtsa_weights_save(w, path, NULL, 0, NULL, NULL));
    OK(qtsa_weights_free(w));
}

/* Single operators, of shapes that come again and of ones that do not. */
static void operators(qtsa_backend backend, int round) {
    const int64_t n = 1 + round % 97;
    float a[97], b[97], y[2][3], c[97];
    qtsa_operand in[2], out;
    qtsa_matrix_desc d = qtsa_matrix_desc_init();
    qtsa_matrix m;
    qtsa_product product;
    int64_t i;
    for (i = 0; i < n; i++) {
        a[i] = (float)i;
        b[i] = (float)(2 * i + 1);
    }
    memset(in, 0, sizeof in);
    in[0].struct_size = in[1].struct_size = sizeof *in;
    in[0].dtype = in[1].dtype = QTSA_DTYPE_F32;
    in[0].rank = in[1].rank = 1;
    in[0].shape[0] = in[1].shape[0] = n;
    out = in[0];
    in[0].data = a;
    in[1].data = b;
    out.data = c;
    OK(qtsa_op_run(backend, "add", in, 2, NULL, 0, &out, 1, 0));
    for (i = 0; i < n; i++) CHECK(c[i] == a[i] + b[i]);

    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = 3;
    d.shape[1] = 4;
    d.data = model_weight;
    d.bytes = sizeof model_weight;
    OK(qtsa_matrix_create(backend, &d, &m));
    memset(&product, 0, sizeof product);
    product.struct_size = sizeof product;
    product.weight = m;
    product.bias = model_bias;
    product.y = &y[0][0];
    product.n_out = 3;
    product.activation = QTSA_ACTIVATION_RELU;
    OK(qtsa_matmul(backend, &model_x[0][0], 2, 4, &product, 1, 0));
    CHECK(model_right((const float(*)[3])y, 1));
    OK(qtsa_matrix_free(m));
}

/* What fails leaves nothing behind either. */
static void errors(qtsa_backend backend) {
    const int64_t shape[] = {3, 5};
    char path[4096], text[8];
    qtsa_weights w;
    qtsa_graph g;
    qtsa_tensor in[2], t;
    qtsa_session s;
    qtsa_plan p;
    size_t n;
    path_of(path, sizeof path, "broken.gguf");
    REFUSED(QTSA_ERR_CORRUPT, qtsa_weights_open(path, NULL, &w), "broken.gguf");
    path_of(path, sizeof path, "absent.gguf");
    REFUSED(QTSA_ERR_IO, qtsa_weights_open(path, NULL, &w), "absent.gguf");
    OK(qtsa_graph_create("wrong", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, shape, 2, &in[0]));
    OK(qtsa_graph_input(g, "y", QTSA_DTYPE_F32, shape, 2, &in[1]));
    REFUSED(QTSA_ERR_SHAPE_MISMATCH, qtsa_graph_op(g, "matmul", in, 2, NULL, 0, &t, 1), "matmul");
    REFUSED(QTSA_ERR_NOT_FOUND, qtsa_graph_op(g, "no_such", in, 2, NULL, 0, &t, 1), "no_such");
    OK(qtsa_session_create(backend, &s));
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_plan_create(s, g, NULL, &p), "output");
    OK(qtsa_session_free(s));
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_session_free(s), "qtsa_session");
    OK(qtsa_graph_free(g));
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_backend_report_copy(backend, QTSA_FORMAT_TEXT, text, 1, &n), "buffer");
}

static void *on_a_thread(void *backend) {
    size_t tensors, metadata;
    operators((qtsa_backend)backend, 3);
    REFUSED(QTSA_ERR_INVALID_HANDLE, qtsa_weights_count(NULL, &tensors, &metadata), "null");
    return NULL;
}

static void round_of(int round, qtsa_backend cpu, qtsa_backend reference) {
    const qtsa_backend one = round % 4 == 3 ? reference : cpu;
    switch (round % 8) {
        case 0:
        case 4:
            two_plans(one, round / 8);
            break;
        case 1:
        case 5:
            from_file(one, round);
            break;
        case 2:
        case 6:
            operators(one, round / 8);
            break;
        case 3:
            errors(one);
            break;
        default:
            two_plans(reference, round / 8);
    }
    if (round % 16 == 9) whole("cpu");
    if (round % 16 == 13) whole("reference");
    if (round % 64 == 40) save("saved.gguf");
    if (round % 32 == 21) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, on_a_thread, cpu) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    /* Go's collector lets the heap double, and threads come as they are needed: neither
     * goes on. What grows by more than this in all the rounds does go on: 1.6 KiB a round
     * in 10,000, and in an hour's some bytes. */
    const long most_growth = 16L << 20, most_threads = 8;
    char path[4096];
    struct stat printed;
    qtsa_backend cpu, reference;
    taken warm = {0, 0, 0, 0, 0}, end;
    int rounds, round, quiet, terminal;
    double began, least;
    FILE *f;
    if (argc != 4) {
        fprintf(stderr, "usage: soak FOLDER ROUNDS SECONDS\n");
        return 2;
    }
    folder = argv[1];
    rounds = atoi(argv[2]);
    least = atof(argv[3]);
    path_of(path, sizeof path, "printed");
    quiet = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    terminal = dup(1);
    CHECK(quiet >= 0 && terminal >= 0 && dup2(quiet, 1) == 1 && dup2(quiet, 2) == 2);

    save("model.gguf");
    path_of(path, sizeof path, "broken.gguf");
    f = fopen(path, "w");
    CHECK(f != NULL && fputs("no file of weights, whatever its name says", f) >= 0 && fclose(f) == 0);
    cpu = backend_of("cpu", 2);
    reference = backend_of("reference", 1);
    began = seconds();
    for (round = 0; round < rounds || seconds() - began < least; round++) {
        round_of(round, cpu, reference);
        if (round < rounds / 10 || (least > 0 && seconds() - began < least / 10)) warm = now();
    }
    end = now();
    OK(qtsa_backend_free(cpu));
    OK(qtsa_backend_free(reference));
    dprintf(terminal,
            "%d rounds: resident memory %ld KiB, %ld KiB at the end; threads %ld, %ld; descriptors %ld, %ld\n", round,
            warm.resident / 1024, end.resident / 1024, warm.threads, end.threads, warm.files, end.files);
    CHECK(end.resident - warm.resident < most_growth);
    CHECK(end.threads - warm.threads <= most_threads);
    CHECK(end.files <= warm.files);
    CHECK(end.objects == 2 && qtsa_test_objects() == 0);
    CHECK(qtsa_test_tensor_bytes() == 0);
    CHECK(fstat(quiet, &printed) == 0 && printed.st_size == 0);
    dprintf(terminal, "ok\n");
    return 0;
}
