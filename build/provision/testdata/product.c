/* product FOLDER PREFIX: multiplies two matrices on each backend that this machine
 * can run, out of the folder's libraries with names that begin so, and prints ggml's
 * version and how many gave the right product. A CPU backend without a score counts
 * as made for this machine. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "gguf.h"

static void *base;

static void *sym(const char *name) {
    void *p = dlsym(base, name);
    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return p;
}

/* FN(init)(params) calls ggml_init under its new name, with its type. */
#define FN(name) ((__typeof__(ggml_##name) *)sym("qtsg_" #name))

static int product(void *plugin) {
    ggml_backend_reg_t (*init)(void) = (ggml_backend_reg_t(*)(void))dlsym(plugin, "qtsg_backend_init");
    if (!init) return 0;
    ggml_backend_t backend = FN(backend_dev_init)(FN(backend_reg_dev_get)(init(), 0), NULL);
    if (!backend) return 0;

    const float a_data[] = {0, 1, 2, 3, 4, 5, 6, 7}, b_data[] = {1, 1, 1, 1};
    float c_data[2] = {0, 0};
    struct ggml_init_params params = {1 << 20, NULL, true};
    struct ggml_context *ctx = FN(init)(params);
    struct ggml_tensor *a = FN(new_tensor_2d)(ctx, GGML_TYPE_F32, 4, 2);
    struct ggml_tensor *b = FN(new_tensor_2d)(ctx, GGML_TYPE_F32, 4, 1);
    struct ggml_tensor *c = FN(mul_mat)(ctx, a, b);
    struct ggml_cgraph *graph = FN(new_graph)(ctx);
    FN(build_forward_expand)(graph, c);
    ggml_backend_buffer_t buffer = FN(backend_alloc_ctx_tensors)(ctx, backend);
    FN(backend_tensor_set)(a, a_data, 0, sizeof a_data);
    FN(backend_tensor_set)(b, b_data, 0, sizeof b_data);
    int right = FN(backend_graph_compute)(backend, graph) == GGML_STATUS_SUCCESS;
    FN(backend_tensor_get)(c, c_data, 0, sizeof c_data);
    right = right && c_data[0] == 6 && c_data[1] == 22;
    FN(backend_buffer_free)(buffer);
    FN(free)(ctx);
    FN(backend_free)(backend);
    return right;
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 3) return 2;
    snprintf(path, sizeof path, "%s/libqtsg-base.so", argv[1]);
    base = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    DIR *dir = opendir(argv[1]);
    if (!base || !dir) {
        fprintf(stderr, "%s: %s\n", path, base ? "no folder" : dlerror());
        return 1;
    }
    int right = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, argv[2], strlen(argv[2])) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*score)(void) = (int (*)(void))dlsym(plugin, "qtsg_backend_score");
        if (score && score() == 0) continue; /* for another machine */
        if (!product(plugin)) {
            fprintf(stderr, "%s: a wrong product\n", path);
            return 1;
        }
        right++;
    }
    printf("%s: %d right\n", FN(version)(), right);
    return right == 0;
}
