/*
 * Opens the library by a path instead of linking to it, closes it, opens it again:
 * it stays loaded, and handles go on working. Prints the backend's report.
 *
 * usage: dlopen LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qtsaccel.h"

static void *open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

/* ISO C knows no cast from a data pointer to a function pointer; POSIX does. */
static void find(void *library, const char *name, void *pointer) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(pointer, &symbol, sizeof symbol);
}

#define FUNCTION(name) static __typeof__(&qtsa_##name) name;
#define FUNCTIONS(X)       \
    X(last_error)          \
    X(backend_create)      \
    X(backend_report_copy) \
    X(graph_create) X(graph_input) X(graph_op) X(graph_output) X(session_create) X(plan_create) X(plan_run)
__extension__ FUNCTIONS(FUNCTION)

    static void check(qtsa_status status, int line) {
    if (status == QTSA_OK) return;
    fprintf(stderr, "line %d: status %d: %s\n", line, (int)status, last_error());
    exit(1);
}
#define OK(call) check((call), __LINE__)

static void run(qtsa_plan plan) {
    const float x[4] = {-1, 2, -3, 4};
    float y[4] = {9, 9, 9, 9};
    qtsa_input in = {x, sizeof x};
    qtsa_output out = {y, sizeof y};
    OK(plan_run(plan, &in, 1, &out, 1, NULL));
    if (y[0] != 0 || y[1] != 2 || y[2] != 0 || y[3] != 4) {
        fprintf(stderr, "relu gave %g %g %g %g\n", y[0], y[1], y[2], y[3]);
        exit(1);
    }
}

int main(int argc, char **argv) {
    const int64_t shape[] = {4};
    char report[8192];
    size_t size;
    qtsa_backend b;
    qtsa_graph g;
    qtsa_session s;
    qtsa_plan p;
    qtsa_tensor x, y;
    void *library;
    if (argc != 2) {
        fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
        return 2;
    }
    library = open_library(argv[1]);
#define FIND(name) find(library, "qtsa_" #name, &name);
    FUNCTIONS(FIND)
    OK(backend_create(NULL, &b));
    OK(graph_create("relu", &g));
    OK(graph_input(g, "x", QTSA_DTYPE_F32, shape, 1, &x));
    OK(graph_op(g, "relu", &x, 1, NULL, 0, &y, 1));
    OK(graph_output(g, "y", y));
    OK(session_create(b, &s));
    OK(plan_create(s, g, NULL, &p));
    run(p);

    dlclose(library);
    run(p); /* the code is still there */
    library = open_library(argv[1]);
    {
        __typeof__(plan_run) before = plan_run;
        find(library, "qtsa_plan_run", &plan_run);
        if (before != plan_run) {
            fprintf(stderr, "the library was loaded a second time\n");
            return 1;
        }
    }
    run(p);
    OK(backend_report_copy(b, QTSA_FORMAT_JSON, report, sizeof report, &size));
    printf("%s\n", report);
    return 0;
}
