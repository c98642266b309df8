/*
 * Runs the model on Vulkan and, by stepping in for two of Vulkan's functions, has the
 * device get lost in the middle, and its memory full. Each gives its status; other
 * backends go on; and what is made anew works.
 *
 * The program exports vkGetInstanceProcAddr (-rdynamic), to which the plugin's
 * binds. No header of Vulkan is needed: handles are pointers, or 64-bit numbers.
 *
 * usage: vulkan_fails
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "../../c/programs/model.h"

typedef void (*function)(void);
typedef function (*get_address)(void *object, const char *name);
typedef int32_t (*queue_submit)(void *queue, uint32_t count, const void *submits, uint64_t fence);
typedef int32_t (*allocate_memory)(void *device, const void *info, const void *callbacks, uint64_t *memory);

static volatile int lost, full, submits, refused;
static get_address real_device;
static queue_submit real_submit;
static allocate_memory real_allocate;

static int32_t submit(void *queue, uint32_t count, const void *infos, uint64_t fence) {
    submits++;
    return lost ? -4 /* VK_ERROR_DEVICE_LOST */ : real_submit(queue, count, infos, fence);
}

static int32_t allocate(void *device, const void *info, const void *callbacks, uint64_t *memory) {
    refused += full;
    return full ? -2 /* VK_ERROR_OUT_OF_DEVICE_MEMORY */ : real_allocate(device, info, callbacks, memory);
}

static function in_between(const char *name, function real) {
    if (real == NULL) return NULL;
    if (strcmp(name, "vkQueueSubmit") == 0) {
        real_submit = (queue_submit)real;
        return (function)submit;
    }
    if (strcmp(name, "vkAllocateMemory") == 0) {
        real_allocate = (allocate_memory)real;
        return (function)allocate;
    }
    return real;
}

static function device_address(void *device, const char *name) { return in_between(name, real_device(device, name)); }

function vkGetInstanceProcAddr(void *instance, const char *name);
function vkGetInstanceProcAddr(void *instance, const char *name) {
    static get_address real;
    function f;
    if (real == NULL) {
        void *driver = dlopen("libvulkan.so.1", RTLD_NOW);
        CHECK(driver != NULL);
        *(void **)&real = dlsym(driver, "vkGetInstanceProcAddr");
        CHECK(real != NULL);
    }
    f = real(instance, name);
    if (f != NULL && strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_device = (get_address)f;
        return (function)device_address;
    }
    return in_between(name, f);
}

/* The model on a backend by name. */
static void open_on(model *m, const char *backend) {
    qtsa_backend_options o = qtsa_backend_options_init();
    o.backend = backend;
    OK(qtsa_backend_create(&o, &m->backend));
    m->weights = model_weights();
    m->graph = model_graph(m->weights);
    OK(qtsa_session_create(m->backend, &m->session));
    OK(qtsa_plan_create(m->session, m->graph, NULL, &m->plan));
}

static void get_lost(model *m, const model *cpu) {
    qtsa_input in = {model_x, sizeof model_x};
    float y[2][3];
    qtsa_output out = {y, sizeof y};
    int before = submits;
    lost = 1;
    REFUSED(QTSA_ERR_DEVICE_LOST, qtsa_plan_run(m->plan, &in, 1, &out, 1, NULL), "vulkan");
    CHECK(submits > before);
    MODEL_RUNS(cpu->plan);
    lost = 0;
    /* The device may be back, but what it held is not to be trusted. */
    REFUSED(QTSA_ERR_DEVICE_LOST, qtsa_plan_run(m->plan, &in, 1, &out, 1, NULL), "made anew");
    MODEL_RUNS(cpu->plan);
    model_free(m);
    open_on(m, "vulkan");
    MODEL_RUNS(m->plan);
}

static void get_full(model *m, const model *cpu) {
    const int64_t shape[] = {1 << 18, 64}, x_shape[] = {1, 64};
    static float data[(1 << 18) * 64], x[64], y[1 << 18];
    qtsa_weights w;
    qtsa_graph g;
    qtsa_plan p = NULL;
    qtsa_tensor in[2], sum;
    qtsa_input input = {x, sizeof x};
    qtsa_output output = {y, sizeof y};
    qtsa_status status;
    data[64] = 3;
    x[0] = 2;
    OK(qtsa_weights_create(&w));
    OK(add_declared(w, "large", QTSA_DTYPE_F32, shape, 2));
    OK(set_dense(w, "large", data, sizeof data));
    OK(qtsa_graph_create("large", &g));
    OK(qtsa_graph_input(g, "x", QTSA_DTYPE_F32, x_shape, 2, &in[0]));
    OK(qtsa_graph_weight(g, w, "large", &in[1]));
    OK(qtsa_graph_op(g, "linear", in, 2, NULL, 0, &sum, 1));
    OK(qtsa_graph_output(g, "y", sum));

    full = 1;
    status = qtsa_plan_create(m->session, g, NULL, &p);
    if (status == QTSA_OK) status = qtsa_plan_run(p, &input, 1, &output, 1, NULL);
    REFUSED(QTSA_ERR_OUT_OF_MEMORY, status, "67108864 bytes", "free");
    CHECK(refused > 0);
    MODEL_RUNS(m->plan); /* what has its memory goes on */
    MODEL_RUNS(cpu->plan);
    full = 0;

    if (p == NULL) OK(qtsa_plan_create(m->session, g, NULL, &p));
    OK(qtsa_plan_run(p, &input, 1, &output, 1, NULL));
    CHECK(y[0] == 0 && y[1] == 6 && y[2] == 0);
    OK(qtsa_plan_free(p));
    OK(qtsa_graph_free(g));
    OK(qtsa_weights_free(w));
}

int main(void) {
    model vulkan, cpu;
    open_on(&cpu, "cpu");
    open_on(&vulkan, "vulkan");
    MODEL_RUNS(vulkan.plan);
    CHECK(submits > 0);
    get_full(&vulkan, &cpu);
    get_lost(&vulkan, &cpu);
    get_lost(&vulkan, &cpu); /* again */
    model_free(&vulkan);
    MODEL_RUNS(cpu.plan);
    model_free(&cpu);
    printf("ok\n");
    return 0;
}
