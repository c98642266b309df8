/*
 * A call that is not worth the device's while is declined, without a word and
 * without touching its output, or computed on the CPU beside the device; thresholds
 * can be read and set; all of it is counted. On a CPU everything is worthwhile.
 */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <time.h>

#include "check.h"
#include "hooks.h"

static qtsa_backend backend;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int wants(const char *op, int64_t a, int64_t b, int64_t c) {
    int64_t shape[3];
    int32_t answer = 7;
    shape[0] = a;
    shape[1] = b;
    shape[2] = c;
    OK(qtsa_backend_wants(backend, op, shape, 3, &answer));
    CHECK(answer == 0 || answer == 1);
    return answer;
}

int main(void) {
    const int64_t conv[] = {64, 64, 32, 3, 1, 32}, att[] = {64, 64, 4, 4, 32}, elements[] = {4096};
    const float w[2][2] = {{1, 2}, {3, 4}}, x[2] = {1, 10};
    float y[2] = {77, 77};
    qtsa_matrix_desc d;
    qtsa_product job;
    qtsa_operand in, out;
    char text[8192], name[256], before[4096];
    size_t n;
    int32_t answer;
    double start;
    int cpu;
    OK(qtsa_backend_create(NULL, &backend));
    backend_name(backend, name, sizeof name);
    cpu = strncmp(name, "cpu", 3) == 0 || strncmp(name, "reference", 9) == 0;

    start = now();
    wants("matmul", 64, 64, 64);
    start = now() - start;
    printf("%s: the first answer took %.3f s\n", name, start);
    OK(qtsa_backend_wants(backend, "conv2d", conv, 6, &answer));
    OK(qtsa_backend_wants(backend, "attention", att, 5, &answer));
    OK(qtsa_backend_wants(backend, "silu", elements, 1, &answer));
    CHECK(answer == cpu || !cpu);
    if (cpu) CHECK(wants("matmul", 1, 1, 1) && answer == 1);

    d = qtsa_matrix_desc_init();
    d.dtype = QTSA_DTYPE_F32;
    d.rank = 2;
    d.shape[0] = d.shape[1] = 2;
    d.data = w;
    d.bytes = sizeof w;
    SIZED(job);
    OK(qtsa_matrix_create(backend, &d, &job.weight));
    job.y = y;
    job.n_out = 2;

    /* From a thousand operations on. */
    OK(set_threshold(backend, "linear", 1000, 0)); /* of the same class */
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, 0, text, sizeof text, &n));
    CHECK(strstr(text, "\"min_flops\": 1000,") != NULL && strstr(text, "set by the host") != NULL);
    CHECK(wants("matmul", 10, 10, 10) == 1);
    CHECK(wants("matmul", 10, 10, 4) == cpu);
    OK(set_threshold(backend, "matmul", 0, 2.5)); /* of 2000 operations and 800 bytes */
    CHECK(wants("matmul", 10, 10, 10) == 1);
    OK(set_threshold(backend, "matmul", 0, 2.6));
    CHECK(wants("matmul", 10, 10, 10) == cpu);

    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_TEXT, QTSA_STATS_RESET, text, sizeof text, &n));
    strcpy(before, "");
    REFUSED(QTSA_ERR_INVALID_ARGUMENT, qtsa_matmul(backend, NULL, 1, 2, &job, 1, 0), "x is null");
    strncpy(before, qtsa_last_error(), sizeof before - 1);
    if (cpu) {
        OK(qtsa_matmul(backend, x, 1, 2, &job, 1, QTSA_ONLY_IF_WORTHWHILE));
    } else {
        CHECK(qtsa_matmul(backend, x, 1, 2, &job, 1, QTSA_ONLY_IF_WORTHWHILE) == QTSA_ERR_NOT_WORTHWHILE);
        CHECK(strcmp(qtsa_last_error(), before) == 0); /* declining has no words */
        CHECK(y[0] == 77 && y[1] == 77);
        OK(qtsa_matmul(backend, x, 1, 2, &job, 1, QTSA_ONLY_IF_WORTHWHILE | QTSA_ON_CPU_IF_DECLINED));
    }
    CHECK(y[0] == 21 && y[1] == 43);
    OK(qtsa_matmul(backend, x, 1, 2, &job, 1, 0)); /* runs whenever it can */
    CHECK(fabs(y[0] - 21) < 1e-3 && fabs(y[1] - 43) < 1e-3);

    /* What the device cannot do, the CPU beside it does. */
    SIZED(in);
    in.dtype = QTSA_DTYPE_F32;
    in.rank = 1;
    in.shape[0] = 2;
    in.data = (void *)(uintptr_t)x;
    out = in;
    out.data = y;
    OK(qtsa_op_run(backend, "softplus", &in, 1, NULL, 0, &out, 1, QTSA_ON_CPU_IF_DECLINED));
    CHECK(fabs(y[0] - log1p(exp(1))) < 1e-3 && fabs(y[1] - log1p(exp(10))) < 1e-3);

    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_JSON, 0, text, sizeof text, &n));
    CHECK(strstr(text, "\"op\": \"matmul\"") != NULL && strstr(text, "\"calls\": ") != NULL);
    CHECK(strstr(text, cpu ? "\"calls\": 2" : "\"calls\": 1") != NULL);
    CHECK(strstr(text, cpu ? "\"declined\": 0" : "\"declined\": 2") != NULL);
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_TEXT, 0, text, sizeof text, &n));
    CHECK(strstr(text, "matmul") != NULL && strstr(text, "GFLOP/s") != NULL);

    OK(calibrate(backend, QTSA_CALIBRATE_OFF));
    start = now();
    OK(calibrate(backend, QTSA_CALIBRATE_AUTO));
    printf("calibration that may be remembered: %.3f s\n", now() - start);
    start = now();
    OK(calibrate(backend, QTSA_CALIBRATE_FORCE));
    printf("calibration that is forced: %.3f s\n", now() - start);
    OK(qtsa_backend_stats_copy(backend, QTSA_FORMAT_TEXT, 0, text, sizeof text, &n));
    printf("%s", text);
    OK(qtsa_backend_free(backend));
    OK(qtsa_matrix_free(job.weight));
    CHECK(qtsa_test_objects() == 0);
    CHECK(qtsa_test_tensor_bytes() == 0);
    printf("ok\n");
    return 0;
}
