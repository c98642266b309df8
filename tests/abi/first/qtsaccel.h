/*
 * qtsaccel: an accelerated tensor path for inference engines, behind one header.
 *
 * Choose a backend, give it weights, describe a graph once, run it many times:
 *
 *     qtsa_backend backend;  qtsa_weights weights;  qtsa_graph graph;
 *     qtsa_session session;  qtsa_plan plan;        qtsa_tensor x, w, y;
 *     const int64_t shape[] = {1, 64};
 *
 *     qtsa_backend_create(NULL, &backend);
 *     qtsa_weights_open("model.gguf", NULL, &weights);
 *     qtsa_graph_create("head", &graph);
 *     qtsa_graph_input(graph, "x", QTSA_DTYPE_F32, shape, 2, &x);
 *     qtsa_graph_weight(graph, weights, "output.weight", &w);
 *     qtsa_graph_op(graph, "linear", (qtsa_tensor[]){x, w}, 2, NULL, 0, &y, 1);
 *     qtsa_graph_output(graph, "y", y);
 *     qtsa_session_create(backend, &session);
 *     qtsa_plan_create(session, graph, NULL, &plan);
 *     qtsa_plan_run(plan, &(qtsa_input){in, sizeof in}, 1, &(qtsa_output){out, sizeof out}, 1, NULL);
 *
 * This file is the specification: what is not said here is not promised.
 *
 * STATUS. Every function that can fail returns a qtsa_status: QTSA_OK (0) or a
 * negative code. After a failure, qtsa_last_error() on the same thread has the
 * words: the operator, tensor or file, and the numbers. No input, file, setting or
 * missing device ends the process, and no function prints: ggml's lines, too, go to
 * the callback of qtsa_set_log_callback(), and nowhere if none is set. (What a backend's
 * debug option asks for goes to stderr then; ggml's Vulkan backend and the drivers write
 * a few lines straight there.)
 *
 * What no status can tell ends the process all the same: an assertion of ggml's on one
 * of its own threads, or a fault in a driver, and, with lines of Go's on stderr, a
 * shortage at the wrong moment. The last is of what Go's runtime itself needs: memory
 * for its heap (tensors lie elsewhere, and want of memory for them is OUT_OF_MEMORY),
 * or a thread. When it is loaded it needs 1 GiB of address space (RLIMIT_AS; 800 MiB
 * were too little, 900 were enough), of which it uses little, and some four threads
 * (RLIMIT_NPROC). Two file descriptors are taken at the first call that finds them
 * free, and stay; later calls that find none give IO.
 *
 * HANDLES are opaque values, never addresses. Zero is no handle. A handle that is
 * null, freed, made up or of another kind gives QTSA_ERR_INVALID_HANDLE, from any
 * thread, at any time.
 *
 * OWNERSHIP. What _create or _open made, _free gives back; freeing null is fine,
 * freeing twice is QTSA_ERR_INVALID_HANDLE. Freeing what is in use is safe: the
 * handle is gone at once, the object when its last user lets go. A session keeps
 * its backend alive, a graph its weights, a plan its session and its graph. _copy
 * fills the caller's buffer. The library keeps no pointer of the caller's after a
 * call returns, except where a function says so.
 *
 * THREADS. Every function may be called from every thread. Calls that use one
 * session take turns; different sessions of one backend run side by side and share
 * its weights.
 *
 * CALLBACKS (of progress, for the log, on release) run inside the library. On their
 * thread, until they return, every function that returns a status gives
 * QTSA_ERR_INVALID_STATE at once and does nothing, a _free function too; the others,
 * such as qtsa_last_error(), work. They must not leave by longjmp() or an exception.
 *
 * OUT PARAMETERS come last, are named out_*, must not be null, and are set to zero
 * when the call fails.
 *
 * STRUCTS that may grow begin with struct_size, which says how much of the struct the
 * host was compiled with. Fill one with its _init function, or with zeros and sizeof
 * the struct in struct_size, then change fields; null instead of options means all
 * defaults. Of an array of such structs the first one's struct_size counts for all,
 * and is the distance from one to the next. They only grow at their end: an older,
 * smaller struct goes on working. Smaller than its first form is
 * INVALID_ARGUMENT, larger than the library knows VERSION_MISMATCH. Structs without
 * struct_size stay as they are.
 *
 * SHAPES are row-major with the outermost dimension first, as in numpy and
 * PyTorch. A tensor has at most QTSA_MAX_RANK dimensions. A weight matrix is
 * [n_out, n_in].
 *
 * TEXT is UTF-8 and ends with a zero byte.
 *
 * EMBEDDING. Once loaded, the library stays loaded: dlclose() does nothing. It
 * cannot be used in a child made by fork() without exec(): there every function
 * that returns a status gives QTSA_ERR_FORKED at once. Descriptors that it opened
 * must not be closed by the host. A main thread that ends itself by pthread_exit()
 * leaves a process that does not end: the library's threads stay.
 *
 * SIGNALS. The library takes over SIGSEGV, SIGBUS and SIGURG when it is loaded, to turn
 * a null pointer in its own code into a status, and to interrupt its own threads. On
 * Linux all else goes to the handlers from before, as the host's own signals do: faults
 * of the host's code, in a callback too, and of what is in memory, such as a mapped file
 * that was cut short. Where there was none, the process ends by that very signal,
 * and nothing is printed. (One SIGURG is not passed on: that which the process sends by
 * pthread_kill() to a thread inside the library.) On Apple's systems SIGFPE and SIGPIPE
 * are taken, too, SIGURG is not passed on, and a fault that nobody handles ends the
 * process by SIGQUIT with lines of Go's on stderr. Handlers that the host installs
 * later, for any signal, must have SA_ONSTACK: inside the library stacks are small.
 *
 * RIGHTS. In a program that runs with other rights than its user's (set-user-id, file
 * capabilities), environment variables and the user's cache folder are not read.
 */
#ifndef QTSACCEL_H
#define QTSACCEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_WIN32)
#define QTSA_API
#else
#define QTSA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define QTSA_VERSION_MAJOR 0
#define QTSA_VERSION_MINOR 2
#define QTSA_VERSION_PATCH 0
/* The same as one number, as qtsa_version() gives it. */
#define QTSA_VERSION (QTSA_VERSION_MAJOR * 10000 + QTSA_VERSION_MINOR * 100 + QTSA_VERSION_PATCH)

/* ---------------------------------------------------------------- Status -- */

/* The result of a call; the values never change. */
typedef int32_t qtsa_status;

enum {
    QTSA_OK = 0,
    QTSA_ERR_INVALID_ARGUMENT = -1,   /* a value that is never allowed */
    QTSA_ERR_INVALID_HANDLE = -2,     /* null, freed, foreign, or of another kind */
    QTSA_ERR_SHAPE_MISMATCH = -3,     /* shapes or sizes that do not fit together */
    QTSA_ERR_UNSUPPORTED = -4,        /* right, but this backend or version cannot */
    QTSA_ERR_NOT_FOUND = -5,          /* no operator, attribute, tensor or state of that name */
    QTSA_ERR_OUT_OF_MEMORY = -6,      /* host or device memory */
    QTSA_ERR_IO = -7,                 /* a file cannot be opened or read */
    QTSA_ERR_CORRUPT = -8,            /* a file's content is wrong */
    QTSA_ERR_DEVICE_UNAVAILABLE = -9, /* no such backend or device here */
    QTSA_ERR_DEVICE_LOST = -10,       /* the device failed; make the backend anew */
    QTSA_ERR_BUSY = -11,              /* in use in a way that excludes this call */
    QTSA_ERR_CANCELLED = -12,         /* the host asked for it */
    QTSA_ERR_FORKED = -13,            /* called in a forked child */
    QTSA_ERR_NOT_WORTHWHILE = -14,    /* an operator call that the device declines */
    QTSA_ERR_ALREADY_EXISTS = -15,    /* a name that is taken */
    QTSA_ERR_INVALID_STATE = -16,     /* right call, wrong moment */
    QTSA_ERR_TIMEOUT = -17,           /* took longer than allowed */
    QTSA_ERR_VERSION_MISMATCH = -18,  /* library, plugin or header do not belong together */
    QTSA_ERR_INTERNAL = -19           /* a mistake of the library's; a session that failed so is made anew */
};

/*
 * The name of a status, without the prefix: "SHAPE_MISMATCH"; "UNKNOWN" for a
 * value that is none. The text is constant. Since 0.1.
 */
QTSA_API const char *qtsa_status_name(qtsa_status status);

/*
 * The words to the calling thread's last failed call, "" if none failed yet.
 * Valid until that thread's next call of any other function. Since 0.1.
 */
QTSA_API const char *qtsa_last_error(void);

/*
 * The version of the library that was loaded, as major * 10000 + minor * 100 +
 * patch, to compare with the QTSA_VERSION that the host was compiled with.
 * Since 0.1.
 */
QTSA_API int32_t qtsa_version(void);

/*
 * Asks for a version: QTSA_VERSION, or whichever has all that the host calls. What is
 * compiled against a version runs on it and on all later ones of the same major number,
 * from 0.2.0 on, the first that there was. VERSION_MISMATCH: the library is older, or of
 * another major number; INVALID_ARGUMENT: below 1. No message is set. Since 0.1.
 */
static inline qtsa_status qtsa_version_require(int32_t version) {
    const int32_t have = qtsa_version();
    if (version < 1) return QTSA_ERR_INVALID_ARGUMENT;
    return version < 200 || version > have || version / 10000 != have / 10000 ? QTSA_ERR_VERSION_MISMATCH : QTSA_OK;
}

/* How grave a line for the log is. */
enum { QTSA_LOG_DEBUG = 1, QTSA_LOG_INFO = 2, QTSA_LOG_WARN = 3, QTSA_LOG_ERROR = 4 };

/*
 * Receives lines for the log, without a line end; text is valid during the call.
 * It may come from any thread, several at once.
 */
typedef void (*qtsa_log_callback)(int32_t level, const char *text, void *user);

/*
 * Sets where log lines go, for the whole process; null: nowhere, as at the start.
 * user is passed to every call and must live until another callback is set.
 * Since 0.1.
 */
QTSA_API qtsa_status qtsa_set_log_callback(qtsa_log_callback callback, void *user);

/* ------------------------------------------------------------ Element type -- */

/* The type of a tensor's elements; the values never change. */
typedef int32_t qtsa_dtype;

enum {
    /* Of a tensor of a file only, see qtsa_weights_info(): its type or its number of
     * dimensions is none of the library's. */
    QTSA_DTYPE_FOREIGN = 0,
    QTSA_DTYPE_F32 = 1,
    QTSA_DTYPE_F16 = 2,
    QTSA_DTYPE_BF16 = 3,
    QTSA_DTYPE_I8 = 8,
    QTSA_DTYPE_I16 = 9,
    QTSA_DTYPE_I32 = 10,
    QTSA_DTYPE_I64 = 11,
    /* In blocks along a row, as in GGUF: rows are multiples of 32 elements, */
    QTSA_DTYPE_Q8_0 = 32,
    QTSA_DTYPE_Q4_0 = 33,
    QTSA_DTYPE_Q4_1 = 34,
    QTSA_DTYPE_Q5_0 = 35,
    QTSA_DTYPE_Q5_1 = 36,
    QTSA_DTYPE_IQ4_NL = 64,
    QTSA_DTYPE_MXFP4 = 65,
    /* or of 256. */
    QTSA_DTYPE_Q2_K = 48,
    QTSA_DTYPE_Q3_K = 49,
    QTSA_DTYPE_Q4_K = 50,
    QTSA_DTYPE_Q5_K = 51,
    QTSA_DTYPE_Q6_K = 52
};

/* The greatest number of dimensions of a tensor. */
#define QTSA_MAX_RANK 4

/* The greatest number of threads, of a backend and of a run. */
#define QTSA_MAX_THREADS 512

/*
 * The name of an element type: "f32", "q4_K"; "invalid" for a value that is none.
 * The text is constant. Since 0.1.
 */
QTSA_API const char *qtsa_dtype_name(qtsa_dtype dtype);

/*
 * The bytes of a tensor of this type and shape, rank dimensions. INVALID_ARGUMENT
 * for an unknown type, a dimension below 1, a row length that the type's block
 * does not divide, more than 2^59 elements. Since 0.1.
 */
QTSA_API qtsa_status qtsa_tensor_bytes(qtsa_dtype dtype, const int64_t *shape, int32_t rank, size_t *out_bytes);

/* -------------------------------------------------------------- Attributes -- */

/* Types of an attribute's value. */
enum { QTSA_ATTR_INT = 1, QTSA_ATTR_FLOAT = 2, QTSA_ATTR_STRING = 3, QTSA_ATTR_INTS = 4, QTSA_ATTR_FLOATS = 5 };

/* A named value: an operator's attribute, a file's metadata; make it with the functions
 * below. */
typedef struct qtsa_attr {
    const char *name;
    int32_t type;  /* QTSA_ATTR_* */
    int32_t count; /* elements of ints or floats */
    int64_t i;
    double f;
    const char *s;
    const int64_t *ints;
    const double *floats;
} qtsa_attr;

static inline qtsa_attr qtsa_attr_int(const char *name, int64_t value) {
    qtsa_attr a = {name, QTSA_ATTR_INT, 0, value, 0, NULL, NULL, NULL};
    return a;
}

static inline qtsa_attr qtsa_attr_float(const char *name, double value) {
    qtsa_attr a = {name, QTSA_ATTR_FLOAT, 0, 0, value, NULL, NULL, NULL};
    return a;
}

static inline qtsa_attr qtsa_attr_string(const char *name, const char *value) {
    qtsa_attr a = {name, QTSA_ATTR_STRING, 0, 0, 0, value, NULL, NULL};
    return a;
}

static inline qtsa_attr qtsa_attr_ints(const char *name, const int64_t *values, int32_t count) {
    qtsa_attr a = {name, QTSA_ATTR_INTS, count, 0, 0, NULL, values, NULL};
    return a;
}

static inline qtsa_attr qtsa_attr_floats(const char *name, const double *values, int32_t count) {
    qtsa_attr a = {name, QTSA_ATTR_FLOATS, count, 0, 0, NULL, NULL, values};
    return a;
}

/* ----------------------------------------------------------------- Backend -- */

/*
 * A backend is a chosen device with its threads and its memory. Several may exist,
 * of the same device too.
 */
typedef struct qtsa_backend_s *qtsa_backend;

/* How the CPU keeps quantised weights that products read. */
enum {
    /*
     * In a second copy, rearranged for the processor's instruction set, where it has such
     * a layout and memory suffices: products then take 0.3 to 0.9 of the time. A copy is
     * made when a plan first needs it, serves all plans of the backend, takes about as
     * much memory as the tensor, and is named in qtsa_plan_placement_copy(). What is
     * mapped by QTSA_PLACEMENT_MAPPED, and what a host has lent, is used where it lies
     * all the same.
     */
    QTSA_REPACK_AUTO = 0,
    QTSA_REPACK_NEVER = 1 /* as they are stored */
};

typedef struct qtsa_backend_options {
    size_t struct_size;
    /*
     * "auto", "cpu", "cuda", "vulkan", "metal" or "reference"; null: the
     * environment variable QTSACCEL_BACKEND, or by its older name QWEN3_TTS_BACKEND,
     * and without it "auto". A backend asked for by name that cannot be had is an
     * error, never another one. "reference", plain and some thousand times slower,
     * needs no plugins and is taken only by its name.
     */
    const char *backend;
    /* The folder with the backend plugins; null: the variable QTSACCEL_PLUGIN_DIR,
     * and without it the folder "qtsaccel" beside the library or, where it is linked
     * statically, beside the program. */
    const char *plugin_dir;
    /* CPU threads, those of a run that sets none: 1 to QTSA_MAX_THREADS; 0: what the
     * process's CPU affinity and cgroup quota allow. More than there are processors
     * slow each other down, by a factor of a thousand for hundreds on two. */
    int32_t threads;
    /* Not 0: tell through the log, or on stderr where no callback is set, how the
     * backend is chosen, where each graph's nodes run, and how long the parts of each
     * run take. The variable QTSACCEL_DEBUG_BACKEND (QWEN3_TTS_DEBUG_BACKEND) does so,
     * too, unless it is blank, "0", "off", "false" or "no". */
    int32_t debug;
    /*
     * What "auto" tries, one after the other, with commas between: "cuda, cpu"; null:
     * the variable QTSACCEL_BACKEND_FALLBACK (QWEN3_TTS_BACKEND_FALLBACK), and without
     * it cuda, vulkan, cpu (on Apple's systems metal, vulkan, cpu). A list is taken
     * literally: at its end there is no backend. It is not read where a backend is
     * asked for by name.
     */
    const char *fallback;
    /*
     * Which device of a GPU's API: its index ("1", or "vulkan:1" for one API only), its
     * PCI id ("0000:65:00.0") or its UUID; null: the variable QTSACCEL_GPU_DEVICE
     * (QWEN3_TTS_GPU_DEVICE), and without it the first. Where one is named, "auto" takes
     * that device, through whichever API has it, or none: never the CPU in its place.
     * An index alone means the first API of the list that can be had. A software device,
     * such as Mesa's llvmpipe, comes behind the others; "auto" takes it only where it is
     * named with its API or by its UUID. With the backend "cpu" or "reference" the option
     * is INVALID_ARGUMENT; the variable, which is about GPUs, is not read then.
     */
    const char *device;
    /*
     * How GPUs are proven before their plugin is loaded into this process: a child
     * process, the program "qtsaccel", has each compute something. "require": what
     * cannot be proven is not used; "auto": nor is what fails, but where that program
     * is missing or cannot be started at all, the report says so and the plugin is
     * loaded; "off": it is loaded at once. Null: the variable QTSACCEL_PROBE, and
     * without it "auto". A proof is kept in the user's cache folder until plugin, driver
     * or machine change. What speaks against a device is kept for ten minutes, or not at
     * all where it may have been a passing shortage of time or memory, and the message
     * says that it is remembered, and since when. `qtsaccel probe --clear` forgets both.
     * A probe may take QTSACCEL_PROBE_TIMEOUT seconds (10) for an API. On Linux the child is not the
     * host's: no signal and no wait() of the host's sees it.
     */
    const char *probe;
    int32_t repack;   /* QTSA_REPACK_*, also of the CPU beside a GPU */
    int32_t reserved; /* 0, as every field of this name: else INVALID_ARGUMENT */
    /* The bytes of the device's memory that weights may take together; 0: what the
     * device has. What does not fit is OUT_OF_MEMORY, as on a full device. On a CPU,
     * which computes with weights where they lie, rearranged copies count. */
    uint64_t weights_budget_bytes;
} qtsa_backend_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_backend_options qtsa_backend_options_init(void) {
    qtsa_backend_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Makes a backend. options may be null; blank texts count as null, and capitals as
 * small letters. Environment variables are read at this moment; where both a variable
 * and its older name are set, the older one is not read.
 *
 * DEVICE_UNAVAILABLE: cannot be had, the message has every reason, the devices that were
 * found, and where plugins were looked for; IO: a plugin cannot be opened for want of
 * file descriptors; INVALID_ARGUMENT: an unknown name (the message lists the known
 * ones), a list that names nothing, an index that the API does not have (the message
 * says how many devices there are), also for "auto", a device of what has none, or a
 * number of threads that is none. A message about a value says whether it is the option's
 * or which variable's. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_create(const qtsa_backend_options *options, qtsa_backend *out_backend);

/* Gives the handle back. Sessions made on the backend go on working. Since 0.1. */
QTSA_API qtsa_status qtsa_backend_free(qtsa_backend backend);

/* Forms of a report. */
enum { QTSA_FORMAT_TEXT = 0, QTSA_FORMAT_JSON = 1 };

/*
 * How the backend was chosen and what it is: the backends tried with each verdict
 * and reason, device, ggml version, plugin, threads, folders searched. The text form's
 * first line is the name of what computes, such as "cpu" or "vulkan:0", then the
 * device's own name: "cpu (AMD EPYC)".
 *
 * The text goes to buffer with its terminating zero, capacity bytes at most; out_size is
 * what it needs, the zero included. With buffer null and capacity 0 only the size
 * is given. INVALID_ARGUMENT: the buffer is too small (out_size is set all the
 * same), unknown format. Every _copy function works so. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_report_copy(qtsa_backend backend, int32_t format, char *buffer, size_t capacity,
                                              size_t *out_size);

/*
 * Settles which backend the parts of a process use that do not know each other; null:
 * none. It is decided once: the same again is fine, another is ALREADY_EXISTS. The
 * library keeps the backend alive from then on. A null handle never stands for it in
 * other calls. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_install(qtsa_backend backend);

/*
 * The backend that was settled on: a handle of the library's own, which is not to be
 * freed (INVALID_ARGUMENT) and stays valid. NOT_FOUND: nothing is settled; null and
 * QTSA_OK: it is settled that there is none. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_get_active(qtsa_backend *out_backend);

/* ----------------------------------------------------------------- Devices -- */

/* What a device is; the values never change. */
enum {
    QTSA_DEVICE_CPU = 1,
    QTSA_DEVICE_DISCRETE = 2,   /* a GPU with memory of its own */
    QTSA_DEVICE_INTEGRATED = 3, /* a GPU in the host's memory */
    QTSA_DEVICE_SOFTWARE = 4    /* a GPU's API computed by the CPU, such as Mesa's llvmpipe */
};

/*
 * A device. Texts end with a zero byte, are cut where they are longer, and are empty
 * where there is nothing to say.
 */
typedef struct qtsa_device {
    size_t struct_size;
    int32_t kind;          /* QTSA_DEVICE_* */
    int32_t usable;        /* 1; 0: see problem */
    uint64_t memory_total; /* bytes; 0 where nobody knows */
    uint64_t memory_free;  /* bytes at the moment of the probe, 0 where nobody knows */
    char apis[64];         /* how it is called: "cuda:0 vulkan:1" for a card seen through both */
    char name[128];
    char driver[128];  /* the first API's, with its version */
    char pci[32];      /* "0000:65:00.0" */
    char uuid[48];     /* 32 hex digits */
    char problem[512]; /* why an API cannot be used for it: no plugin, or what the probe found */
} qtsa_device;

/*
 * Finds the devices of this machine, each card once however many APIs it is seen
 * through, in the order in which "auto" prefers them. Of options, which may be null,
 * plugin_dir and probe are read; GPUs are looked at as for qtsa_backend_create(), those
 * too that cannot be used. devices has room for capacity of them, with struct_size set
 * in the first; out_count is how many there are. With devices null and capacity 0 only
 * that is given. INVALID_ARGUMENT: there is not room for all (out_count is set all the
 * same). Since 0.2.
 */
QTSA_API qtsa_status qtsa_devices_list(const qtsa_backend_options *options, qtsa_device *devices, size_t capacity,
                                       size_t *out_count);

/*
 * The same as a report, and for each API without a device the reason: its driver is
 * missing, or shows none. Each call looks for devices anew. A _copy function. Since 0.2.
 */
QTSA_API qtsa_status qtsa_devices_report_copy(const qtsa_backend_options *options, int32_t format, char *buffer,
                                              size_t capacity, size_t *out_size);

/* ----------------------------------------------------------------- Weights -- */

/*
 * Weights are named tensors in host memory that belong to no backend. Plans put
 * them on their backend when they need them: once per backend, however many
 * sessions use them.
 */
typedef struct qtsa_weights_s *qtsa_weights;

/* What a tensor is. Dimensions from rank on are 0. */
typedef struct qtsa_tensor_info {
    qtsa_dtype dtype;
    int32_t rank;
    int64_t shape[QTSA_MAX_RANK];
    uint64_t bytes;
} qtsa_tensor_info;

/* Makes weights without a tensor, to be filled from memory. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_create(qtsa_weights *out_weights);

/* Where the tensors of an opened file lie in host memory. */
enum {
    /*
     * Copied where the files have up to 64 MiB together or lie on a network; else
     * mapped, but for f32 and bf16 tensors that do not begin at a multiple of 64 in
     * the file: products with them would be slower. If memory does not suffice for a
     * copy, as QTSA_PLACEMENT_MAPPED.
     */
    QTSA_PLACEMENT_AUTO = 0,
    /* Read into memory of their own. */
    QTSA_PLACEMENT_COPIED = 1,
    /*
     * The file is mapped: nothing is read until it is used, and memory that the system
     * needs can be taken back. Tensors that do not begin at a multiple of 32 in the
     * file are copied. The file may be removed, or replaced by renaming another one
     * over it; what must not happen while the weights are in use: if it is cut short,
     * plans that are built later fail with IO, but one that was built before reads
     * beyond the end, and the system ends the process (SIGBUS), as it does where the
     * disk fails; if it is written to, tensors change.
     */
    QTSA_PLACEMENT_MAPPED = 2
};

/* Flags of a rule. */
enum {
    /* The tensors are left out: not read, and named in the report alone. Such a rule has
     * neither a dtype nor a name; a rule before it that has a dtype counts instead. */
    QTSA_RULE_SKIP = 1
};

/*
 * How tensors of a file are taken in whose names match a pattern. Of the rules that
 * match a tensor, the first with a dtype or QTSA_RULE_SKIP counts for its type and the
 * first with a name for its name.
 */
typedef struct qtsa_weights_rule {
    size_t struct_size;
    /* A name in the file; "*" stands for any text, the shortest that will do, "?" for
     * one byte. */
    const char *pattern;
    /* The name in the weights, in which each "*" is what that of the pattern stands
     * for; null: as in the file. */
    const char *rename;
    /*
     * The type to store as: f32, f16, bf16 or a quantised one; 0: as in the file. Rows
     * that the type's block does not divide are stored as the next type that takes
     * them (q2_K and q3_K: iq4_nl; q4_K: q5_0; q5_K: q5_1; q6_K: q8_0; and where no
     * block fits, f16, or bf16 as it was). Whole numbers stay as they are, and so do
     * tensors of less than two dimensions, unless the pattern is their very name.
     * Where values are so small that the type would make them 0 or coarser than it is
     * (a block whose f16 scale vanishes, a row beyond f16), the whole tensor stays as
     * it is in the file, which takes more memory than qtsa_weights_plan_memory() said;
     * values that are too large are an error. qtsa_weights_report_copy() tells.
     */
    qtsa_dtype dtype;
    int32_t flags; /* QTSA_RULE_*, or 0 */
} qtsa_weights_rule;

/*
 * Is told how many bytes are done, of how many. Anything but 0 as its result cancels.
 * It is called on the thread of the call that it was given to, before that returns.
 */
typedef int32_t (*qtsa_progress_callback)(uint64_t done, uint64_t total, void *user);

/*
 * How much the columns of a tensor matter, such as the mean square of what they are
 * multiplied with: 0 or more each, and not all 0.
 */
typedef struct qtsa_importance {
    size_t struct_size;
    const char *name; /* of the tensor, in the file */
    const float *columns;
    size_t n_columns; /* the length of the tensor's rows, or SHAPE_MISMATCH */
} qtsa_importance;

typedef struct qtsa_weights_options {
    size_t struct_size;
    int32_t placement; /* QTSA_PLACEMENT_* */
    int32_t reserved;  /* 0 */
    /* The memory that the tensors may take, mapped ones left out; 0: what machine and
     * container have free. */
    uint64_t budget_bytes;
    /* n_rules rules, borrowed for the call. */
    const qtsa_weights_rule *rules;
    size_t n_rules;
    /* May be null; user is passed to it. */
    qtsa_progress_callback progress;
    void *user;
    /* n_importance entries, borrowed for the call: tensors that have one and that a
     * rule stores in blocks are quantised by it, all by ggml's own routines. */
    const qtsa_importance *importance;
    size_t n_importance;
} qtsa_weights_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_weights_options qtsa_weights_options_init(void) {
    qtsa_weights_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Opens a GGUF (version 2 or 3) or safetensors file, told apart by content, and the
 * others of a model in parts: the first part of a split GGUF file
 * (x-00001-of-00003.gguf) stands for all, and so does the index of safetensors files
 * (model.safetensors.index.json). options may be null. IO: cannot be opened or read;
 * CORRUPT: not such a file, or a wrong one, with the field and its offset, or parts
 * that do not belong together; UNSUPPORTED: of the format what the library does not have,
 * or a rule's type takes ggml and there is none; OUT_OF_MEMORY: with the bytes wanted
 * and free, before anything is read; CANCELLED; INVALID_ARGUMENT: a rule or an
 * importance that cannot be, a value that its type cannot hold, or a part that is not
 * the first; ALREADY_EXISTS: rules that give two tensors one name. Since 0.1.
 *
 * Element types that a file has and the library has not are read as a wider one: BOOL as
 * i8, U8 as i16, U16 as i32, U32 as i64, F8_E4M3 and F8_E5M2 as f16, F8_E8M0 as f32, all
 * exactly, and F64 rounded to f32; rules apply to what they are read as. Of more than
 * QTSA_MAX_RANK dimensions leading ones are dropped. What is left, a type such as NVFP4,
 * five dimensions, f64 values beyond f32, is listed and not read: QTSA_DTYPE_FOREIGN. Its
 * use is UNSUPPORTED, with its name, its type and the file; qtsa_weights_save() copies it
 * from GGUF to GGUF.
 */
QTSA_API qtsa_status qtsa_weights_open(const char *path, const qtsa_weights_options *options,
                                       qtsa_weights *out_weights);

/* What opening a file takes. */
typedef struct qtsa_weights_memory {
    uint64_t tensors;      /* how many */
    uint64_t file_bytes;   /* their size in the files */
    uint64_t memory_bytes; /* the memory of those that are copied or converted */
    uint64_t mapped_bytes; /* the size of those that stay in the files */
} qtsa_weights_memory;

/*
 * Says what qtsa_weights_open() would take, and allocates nothing of it. Errors are
 * the same, but for OUT_OF_MEMORY, which is left to the host. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_plan_memory(const char *path, const qtsa_weights_options *options,
                                              qtsa_weights_memory *out_memory);

/*
 * What became of each tensor of the file: its type in the file and in memory, whether
 * it was copied, mapped, skipped, or is foreign, and why; and why a rule was not followed
 * to the letter. A _copy function. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_report_copy(qtsa_weights weights, int32_t format, char *buffer, size_t capacity,
                                              size_t *out_size);

/* Gives the handle back. Graphs and plans that use the weights go on. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_free(qtsa_weights weights);

typedef struct qtsa_upload_options {
    size_t struct_size;
    /* Which tensors: those whose names match one of n_patterns patterns, as in
     * qtsa_weights_rule; 0: all. Borrowed for the call. */
    const char *const *patterns;
    size_t n_patterns;
    /* May be null; user is passed to it. */
    qtsa_progress_callback progress;
    void *user;
} qtsa_upload_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_upload_options qtsa_upload_options_init(void) {
    qtsa_upload_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Puts tensors onto a backend's device now, those that are there left out; without it,
 * plans do so when they are built. Plans find them there, and nothing is put there
 * twice, but for convolutions' weights that a plan wants in another order. On a CPU
 * the tensors stay where they lie, mapped or not. options may be null.
 *
 * Files and host memory are read on several threads while the device copies, on GPUs
 * out of up to 64 MiB of pinned memory that the backend keeps.
 *
 * OUT_OF_MEMORY: with the bytes wanted and free; where that is seen beforehand, nothing
 * was put there. CANCELLED; IO: a mapped file was cut short. Tensors that were complete
 * by then stay, whatever is there goes on to work, and the call may be made again.
 * NOT_FOUND: a pattern that no name matches; INVALID_STATE: a tensor has no data yet.
 * Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_upload(qtsa_weights weights, qtsa_backend backend,
                                         const qtsa_upload_options *options);

/*
 * The bytes that weights take of a backend's memory, each tensor counted once however
 * many sessions use it; what a CPU computes with where it lies takes none. Of tensors
 * that are being put there meanwhile, those count that are complete; it does not wait
 * for the others. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_device_bytes(qtsa_weights weights, qtsa_backend backend, uint64_t *out_bytes);

/*
 * Called when the library no longer needs what a host lent it; from any thread.
 */
typedef void (*qtsa_release_callback)(void *user);

/* An array in the host's memory, dense or not. */
typedef struct qtsa_array {
    size_t struct_size;
    /* The type and shape of its elements. Where a tensor is there already, dtype 0 stands
     * for its type, and rank 0 for its shape. */
    qtsa_dtype dtype;
    int32_t rank;
    int64_t shape[QTSA_MAX_RANK];
    /* The element with all indices 0. */
    const void *data;
    /* The array's size, as a check; 0 where strides are given. */
    size_t bytes;
    /* The bytes from one element to the next along each dimension: transposed, sliced,
     * reversed; null: dense. Borrowed for the call. */
    const int64_t *strides;
    /*
     * Lends the array, if it is not null: one that is dense, of the tensor's type, and
     * aligned to 32, is not copied, must not change, and release is called with user once
     * nothing uses the weights any more. Where it was copied, release is called before
     * the call returns; after a failure never.
     */
    qtsa_release_callback release;
    void *user;
} qtsa_array;

/* Describes a dense array of bytes bytes, rank dimensions; data may be null. Since 0.2. */
static inline qtsa_array qtsa_array_dense(qtsa_dtype dtype, const int64_t *shape, int32_t rank, const void *data,
                                          size_t bytes) {
    qtsa_array made;
    int32_t i;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    made.dtype = dtype;
    made.rank = rank;
    for (i = 0; i < rank && i < QTSA_MAX_RANK; i++) made.shape[i] = shape[i];
    made.data = data;
    made.bytes = bytes;
    return made;
}

/*
 * Adds a tensor of the array's type and shape, with its elements, copied or lent; with
 * data null without, to be given by qtsa_weights_set(). ALREADY_EXISTS: the name is taken;
 * INVALID_ARGUMENT: as in qtsa_tensor_bytes(), bytes or release without data; all else as
 * in qtsa_weights_set(). After a failure there is no such tensor. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_add(qtsa_weights weights, const char *name, const qtsa_array *array);

/*
 * Gives a tensor its elements. Real numbers are converted to the tensor's type; the K
 * types cannot be converted to here. May be repeated until a plan has used the tensor.
 *
 * NOT_FOUND; SHAPE_MISMATCH: a shape that is not the tensor's, or bytes that are not the
 * array's size; INVALID_STATE: a plan has used the tensor; UNSUPPORTED: types that are not
 * converted; INVALID_ARGUMENT: data null, strides of a quantised array, or bytes with
 * strides; or a value that the tensor's type cannot hold, and then the tensor has no data
 * any more; OUT_OF_MEMORY. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_set(qtsa_weights weights, const char *name, const qtsa_array *array);

/* Where the two levels of a byte are. */
enum {
    QTSA_NIBBLES_LOW_FIRST = 0,  /* level 2k in the low half of byte k, as MLX has it */
    QTSA_NIBBLES_HIGH_FIRST = 1, /* in the high half */
    QTSA_NIBBLES_HALVES = 2      /* of 16 bytes with 32 levels: k in the low half of byte k, k+16 in the high */
};

/*
 * A quantised matrix [n_out, n_in] as other systems keep it, levels and scales apart:
 *
 *     value = scale * (level - zero) + offset
 *
 * A scale, and an offset if there are any, counts for block levels of a row. So int8
 * with an f32 scale per 32 weights is {bits 8, is_signed 1, block 32, scale_dtype F32};
 * MLX's affine 4-bit with groups of 64 is {bits 4, block 64, scale_dtype F16} and its
 * biases as offsets.
 */
typedef struct qtsa_split_matrix {
    size_t struct_size;
    int64_t n_out;
    int64_t n_in;
    int64_t block;          /* divides n_in; 0: n_in */
    int32_t bits;           /* 8 or 4 */
    int32_t is_signed;      /* 1: levels are two's complement; 0: unsigned */
    int32_t zero;           /* -256 to 256 */
    int32_t nibbles;        /* QTSA_NIBBLES_* */
    const void *levels;     /* n_in * bits / 8 bytes a row */
    int64_t level_row;      /* bytes from a row of levels to the next; 0: dense */
    int64_t level_byte;     /* from one byte of a row to the next; 0: 1 */
    const void *scales;     /* [n_out, n_in / block] */
    const void *offsets;    /* likewise, or null */
    int64_t scale_row;      /* bytes from a row of scales to the next, and of offsets; 0: dense */
    int64_t scale_column;   /* from a block's scale to the next; 0: dense */
    qtsa_dtype scale_dtype; /* F32, F16 or BF16 */
    int32_t reserved;       /* 0 */
} qtsa_split_matrix;

/* What became of it. */
typedef struct qtsa_split_report {
    qtsa_dtype dtype; /* the type that it is stored as */
    int32_t exact;    /* 1: every value is the f32 nearest to the matrix's own */
    uint64_t bytes;   /* that it takes */
    double max_absolute_error;
    double max_relative_error; /* of values that are not 0 */
} qtsa_split_report;

/*
 * Adds a tensor [n_out, n_in] with the values of a matrix that lies apart, as dtype;
 * 0: the smallest type that keeps its levels and loses nothing, else the smallest that
 * keeps its levels and rounds scales to f16, each by 2^-11 of it at most. Where no type
 * keeps the levels, q8_0, or f16 where n_in is no multiple of 32. Where a scale is
 * beyond f16's range, so that such a type cannot hold the values, f16 if that has every
 * value to within 2^-11, else f32. A type that is named and cannot keep the levels gets
 * the values quantised anew. out_report says what that changed. ALREADY_EXISTS: the name
 * is taken; INVALID_ARGUMENT: a matrix that cannot be (the message says why), or a scale
 * or values that the named type cannot hold (the message has the row, the block and the
 * scale); UNSUPPORTED: a K type; OUT_OF_MEMORY. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_add_split(qtsa_weights weights, const char *name, const qtsa_split_matrix *matrix,
                                            qtsa_dtype dtype, qtsa_split_report *out_report);

/* The number of tensors, and of metadata keys. Since 0.2. */
QTSA_API qtsa_status qtsa_weights_count(qtsa_weights weights, size_t *out_tensors, size_t *out_metadata);

/*
 * What a tensor is, found by its name, or where name is null by its index, from 0 in the
 * order of the file. NOT_FOUND: no tensor of that name; INVALID_ARGUMENT: an index beyond
 * the last, or one that is not 0 beside a name. Of QTSA_DTYPE_FOREIGN, bytes is its size
 * in the file, and of more than QTSA_MAX_RANK dimensions the first ones are multiplied
 * together; qtsa_weights_report_copy() has what the file says. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_info(qtsa_weights weights, const char *name, size_t index,
                                       qtsa_tensor_info *out_info);

/* What has a name in weights. */
enum { QTSA_NAME_TENSOR = 1, QTSA_NAME_METADATA = 2 };

/*
 * The name of a tensor or the key of a metadata value by its index, kind QTSA_NAME_*;
 * INVALID_ARGUMENT beyond the last. A _copy function. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_name_copy(qtsa_weights weights, int32_t kind, size_t index, char *buffer,
                                            size_t capacity, size_t *out_size);

/* What a metadata value is or, of an array, its elements are. */
enum {
    QTSA_METADATA_INT = 1,
    QTSA_METADATA_FLOAT = 2,
    QTSA_METADATA_BOOL = 3,
    QTSA_METADATA_STRING = 4, /* as all of safetensors' are */
    QTSA_METADATA_ARRAY = 5   /* arrays in an array, which qtsa_weights_metadata_copy() gives */
};

typedef struct qtsa_metadata_info {
    int32_t type;     /* QTSA_METADATA_* */
    int32_t is_array; /* 1 or 0 */
    uint64_t count;   /* of an array's elements; 1 of what is none */
    char stored[16];  /* how the file has them: "u32", "f64", "string" */
} qtsa_metadata_info;

/* What the metadata value of a key is. NOT_FOUND. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_metadata_info(qtsa_weights weights, const char *key, qtsa_metadata_info *out_info);

/*
 * A metadata value as numbers: one, or all elements of an array, into values, which has
 * room for capacity of them: int64_t for QTSA_METADATA_INT, double for
 * QTSA_METADATA_FLOAT, int32_t, 0 or 1, for QTSA_METADATA_BOOL. out_count is how many there
 * are; with values null and capacity 0 that is all that is given. NOT_FOUND;
 * INVALID_ARGUMENT: the value is of another type, which the message names, type is none
 * of these, there is not room for all (out_count is set all the same), or a whole number
 * is beyond an int64. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_metadata_get(qtsa_weights weights, const char *key, int32_t type, void *values,
                                               size_t capacity, size_t *out_count);

/* Stands for the whole of a metadata value. */
#define QTSA_WHOLE ((int64_t)(-1))

/*
 * A metadata value of the file as text. With index QTSA_WHOLE: a string, a number in
 * decimal, a boolean as "true" or "false", an array as JSON; what is no UTF-8 becomes
 * U+FFFD. With an index, from 0: one of an array of strings (of a string, 0), byte for
 * byte as the file has it, which may be no UTF-8 and have zero bytes within. A _copy
 * function. NOT_FOUND; INVALID_ARGUMENT: an index beyond the last, or of what has no
 * strings. Since 0.2.
 */
QTSA_API qtsa_status qtsa_weights_metadata_copy(qtsa_weights weights, const char *key, int64_t index, char *buffer,
                                                size_t capacity, size_t *out_size);

/*
 * Writes the tensors, in their types, and the metadata into a GGUF file (version 3).
 * What was read from one and not converted comes out as the same bytes; of a model in
 * parts one file is made. The file appears under its name when it is complete and on
 * the disk; one that is there is replaced then, and goes on to serve weights that were
 * opened from it. progress may be null.
 *
 * n_metadata values of metadata are added, or take the place of those there are; the
 * attributes are borrowed. Ints become u32 where they fit, else i32 or i64, floats f32,
 * as readers expect; "general.alignment" says what tensors are aligned to.
 *
 * INVALID_STATE: a tensor has no data yet; INVALID_ARGUMENT: path is there and no
 * regular file, a key or value that cannot be; UNSUPPORTED: a tensor's name of more
 * than 63 bytes; IO: it cannot be written, or a mapped file was cut short; CANCELLED.
 * Nothing is left behind then. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_save(qtsa_weights weights, const char *path, const qtsa_attr *metadata,
                                       size_t n_metadata, qtsa_progress_callback progress, void *user);

/* ------------------------------------------------------------------- Graph -- */

/*
 * A graph is data: tensors and the operators between them, each checked as it is
 * added. It belongs to no backend. Adding to a graph after a plan was made of it
 * is fine and does not change that plan.
 */
typedef struct qtsa_graph_s *qtsa_graph;

/*
 * A tensor of one graph: a number that carries its graph, above 0 and no handle. In
 * another graph it is INVALID_ARGUMENT.
 */
typedef int64_t qtsa_tensor;

/* Stands for an optional input that is not given. */
#define QTSA_NONE ((qtsa_tensor)(-1))

/* Makes an empty graph. label names it in messages; it may be null. Since 0.1. */
QTSA_API qtsa_status qtsa_graph_create(const char *label, qtsa_graph *out_graph);

/* Gives the handle back. Plans made of the graph go on. Since 0.1. */
QTSA_API qtsa_status qtsa_graph_free(qtsa_graph graph);

/*
 * Declares a dynamic dimension: its value is given per run, from min to max.
 * out_dim is a number that stands for it in the shapes of inputs and in the int and
 * ints attributes of this graph. Operators are checked with all dynamic dimensions at
 * their smallest and at their largest when they are added, and for the values in use
 * when a plan meets them first.
 *
 * The number is no arithmetic's: n + 1, 2 * n or -n of it, and a dimension of another
 * graph, are INVALID_ARGUMENT where they are used; qtsa_graph_dim_op() makes
 * expressions. Numbers up to 2^48 in magnitude stand for themselves, as do those that
 * are as near to INT64_MIN and INT64_MAX, which slice takes as an axis' ends. The others
 * are kept for dimensions: INVALID_ARGUMENT where they stand for none.
 *
 * ALREADY_EXISTS; INVALID_ARGUMENT: not 1 <= min <= max <= 2^48, more than 64 dynamic
 * dimensions. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_dim(qtsa_graph graph, const char *name, int64_t min, int64_t max, int64_t *out_dim);

/* What qtsa_graph_dim_op() computes of two sizes. */
enum {
    QTSA_DIM_ADD = 1, /* a + b */
    QTSA_DIM_SUB = 2, /* a - b */
    QTSA_DIM_MUL = 3, /* a * b */
    QTSA_DIM_DIV = 4  /* a / b, which must leave no rest for the values in use */
};

/*
 * Makes an expression of two sizes, each a number or a dynamic dimension or expression of
 * this graph. out_dim stands for it as a dimension's number does for a dimension; equal
 * expressions have equal numbers, and one that has the same value for all dimensions is
 * that value.
 *
 * Where it is used it is checked as dimensions are, at both ends and for the values in
 * use: a division with a rest, a negative value (as a size, one below 1) and an overflow
 * are INVALID_ARGUMENT, with the expression and the values of its dimensions. So let n
 * range from 2 to 512 where n / 2 is used. INVALID_ARGUMENT: no QTSA_DIM_*, a number
 * that stands for neither itself nor a size of this graph, a division by 0 or of two
 * numbers with a rest, an expression of more than 64 terms, an overflow. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_dim_op(qtsa_graph graph, int32_t op, int64_t a, int64_t b, int64_t *out_dim);

/*
 * The text of a size, as messages have it: "2*n + 1"; of a number, the number. A _copy
 * function. INVALID_ARGUMENT: a number that stands for neither itself nor a size of this
 * graph. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_dim_text_copy(qtsa_graph graph, int64_t dim, char *buffer, size_t capacity,
                                              size_t *out_size);

/*
 * Adds an input that the host uploads at each run. Any element type but the
 * quantised ones; its dimensions may be dynamic ones and expressions of them.
 * ALREADY_EXISTS: an input of that name. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_input(qtsa_graph graph, const char *name, qtsa_dtype dtype, const int64_t *shape,
                                      int32_t rank, qtsa_tensor *out_tensor);

/*
 * Adds a tensor of the weights, which the graph keeps alive from then on.
 * NOT_FOUND: no tensor of that name. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_weight(qtsa_graph graph, qtsa_weights weights, const char *name,
                                       qtsa_tensor *out_tensor);

/*
 * Adds persistent state of the session, such as a KV cache: it is zero at first
 * and keeps its content between runs. Graphs of one session share a state by its
 * name and must agree on its type, f32 or f16, and shape. ALREADY_EXISTS: the
 * graph has a state of that name. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_state(qtsa_graph graph, const char *name, qtsa_dtype dtype, const int64_t *shape,
                                      int32_t rank, qtsa_tensor *out_tensor);

/*
 * Adds an operator of the table (docs/operators.md). inputs has n_inputs tensors
 * of this graph, QTSA_NONE for an optional one left out; attrs n_attrs attributes;
 * outputs receives n_outputs tensors, as many as the operator has. NOT_FOUND: no
 * operator or attribute of that name; SHAPE_MISMATCH, INVALID_ARGUMENT: with the
 * operator, the tensors and their shapes, or the attribute and the values that the
 * table lets it have. The graph is as before then. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_op(qtsa_graph graph, const char *op, const qtsa_tensor *inputs, size_t n_inputs,
                                   const qtsa_attr *attrs, size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs);

/*
 * Makes a tensor an output that the host can download after a run.
 * ALREADY_EXISTS: an output of that name. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_output(qtsa_graph graph, const char *name, qtsa_tensor tensor);

/*
 * What a tensor of the graph is. A dimension that depends on a dynamic one is
 * -1, and bytes is then its size with all dynamic dimensions at their largest.
 * Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_info(qtsa_graph graph, qtsa_tensor tensor, qtsa_tensor_info *out_info);

/* ----------------------------------------------------------------- Session -- */

/*
 * A session is one stream of work on a backend: it owns the state tensors of the
 * graphs that run on it and the scratch memory that their runs share.
 */
typedef struct qtsa_session_s *qtsa_session;

/* Makes a session on a backend. Since 0.1. */
QTSA_API qtsa_status qtsa_session_create(qtsa_backend backend, qtsa_session *out_session);

/* Gives the handle back. Plans on the session go on. Since 0.1. */
QTSA_API qtsa_status qtsa_session_free(qtsa_session session);

/* Sets all state of the session to zero. Since 0.1. */
QTSA_API qtsa_status qtsa_session_reset(qtsa_session session);

/*
 * Copies bytes of a state tensor, from byte offset on, to data. NOT_FOUND: no plan
 * on the session has such a state; SHAPE_MISMATCH: beyond its end. Since 0.1.
 */
QTSA_API qtsa_status qtsa_session_read(qtsa_session session, const char *state, size_t offset, void *data,
                                       size_t bytes);

/* Copies data into a state tensor; errors as in qtsa_session_read(). Since 0.1. */
QTSA_API qtsa_status qtsa_session_write(qtsa_session session, const char *state, size_t offset, const void *data,
                                        size_t bytes);

/*
 * Asks the run in progress on the session, if any, to stop: it returns CANCELLED
 * after the operator it is at (on a GPU: after what was submitted). Returns at once,
 * and is the one call on a session that does not wait its turn. Since 0.1.
 */
QTSA_API qtsa_status qtsa_session_cancel(qtsa_session session);

/* -------------------------------------------------------------------- Plan -- */

/*
 * A plan is a graph made ready on a session. What depends on the values of dynamic
 * dimensions is built when they are met first, and kept.
 */
typedef struct qtsa_plan_s *qtsa_plan;

typedef struct qtsa_plan_options {
    size_t struct_size;
    /* How many sets of values of the dynamic dimensions are kept built; beyond it
     * the least recently used one is dropped. 0: 32. */
    int32_t max_instances;
    /* Not 0: the device itself must compute every operator, or making the plan is
     * UNSUPPORTED, with the twelve most frequent that it does not and their counts.
     * 0: those go to the CPU beside it, and the placement says so. */
    int32_t strict;
} qtsa_plan_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_plan_options qtsa_plan_options_init(void) {
    qtsa_plan_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Makes a plan of the graph as it is now. options may be null. INVALID_ARGUMENT:
 * a graph without output; SHAPE_MISMATCH: a state that the session has with
 * another type or shape; UNSUPPORTED: operators that neither the backend nor the
 * CPU beside it has a kernel or a decomposition for, or with strict those that the
 * backend has none for, listed; OUT_OF_MEMORY: for states. What sizes the dynamic
 * dimensions may reach costs nothing here: memory is for those that are used. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_create(qtsa_session session, qtsa_graph graph, const qtsa_plan_options *options,
                                      qtsa_plan *out_plan);

/* Gives the handle back. A run in progress goes on to its end. Since 0.1. */
QTSA_API qtsa_status qtsa_plan_free(qtsa_plan plan);

/* Which of a plan's two lists is meant. */
enum { QTSA_INPUT = 1, QTSA_OUTPUT = 2 };

/*
 * The index of an input or output, kind QTSA_INPUT or QTSA_OUTPUT, from 0 in the order in
 * which they were added to the graph, by name; NOT_FOUND. Since 0.2.
 */
QTSA_API qtsa_status qtsa_plan_find(qtsa_plan plan, int32_t kind, const char *name, size_t *out_index);

/*
 * What an input or output is for these values of the dynamic dimensions, in the order
 * in which they were declared: its element type, shape and bytes, by which a host finds
 * room for it. Builds nothing, and waits for no run. INVALID_ARGUMENT: an index beyond
 * the last, as many values as there are dimensions not given, or one out of its range.
 * Since 0.2.
 */
QTSA_API qtsa_status qtsa_plan_info(qtsa_plan plan, int32_t kind, size_t index, const int64_t *dims, size_t n_dims,
                                    qtsa_tensor_info *out_info);

/*
 * Builds what a run with these values of the dynamic dimensions needs, in the
 * order in which they were declared, uploads weights that are not on the backend
 * yet, and runs nothing. INVALID_STATE: a weight has no data yet; OUT_OF_MEMORY, with
 * the bytes wanted and free, before any of them is taken; UNSUPPORTED: ggml counts rows
 * and their elements up to 2^31 - 1, and there are more. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_prepare(qtsa_plan plan, const int64_t *dims, size_t n_dims);

/* The content for an input; data null: as it was at the plan's last run with these dims. */
typedef struct qtsa_input {
    const void *data;
    size_t bytes;
} qtsa_input;

/* Where an output goes; data null: not wanted. */
typedef struct qtsa_output {
    void *data;
    size_t bytes;
} qtsa_output;

/* How long the parts of a run took, in nanoseconds. */
typedef struct qtsa_timing {
    uint64_t upload_ns;
    uint64_t compute_ns;
    uint64_t download_ns;
} qtsa_timing;

typedef struct qtsa_run_options {
    size_t struct_size;
    /* The values of the dynamic dimensions, in the order in which they were
     * declared; borrowed for the call. */
    const int64_t *dims;
    size_t n_dims;
    /* CPU threads of this run: 1 to QTSA_MAX_THREADS; 0: the backend's. */
    int32_t threads;
    int32_t reserved; /* 0 */
    /* Receives the timing of the run if it is not null. */
    qtsa_timing *timing;
} qtsa_run_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_run_options qtsa_run_options_init(void) {
    qtsa_run_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Uploads the inputs, computes, and downloads the outputs; returns when they are
 * there. inputs and outputs have one entry per input and output of the graph, in
 * the order of their indices; bytes must be their size, or SHAPE_MISMATCH. Indices
 * in inputs (tokens, positions) are checked: INVALID_ARGUMENT with the value, the
 * bound and where. What is found wrong before the run starts leaves the session as
 * it was; after any other failure its state is undefined until it is reset or
 * written. options may be null. INVALID_STATE: a weight has no data yet, or an
 * input was never given; CANCELLED; OUT_OF_MEMORY and UNSUPPORTED as in
 * qtsa_plan_prepare(). DEVICE_LOST: every later call on the backend gives it, too;
 * INTERNAL: every later call on the session, and the backend's other sessions go on.
 * Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_run(qtsa_plan plan, const qtsa_input *inputs, size_t n_inputs,
                                   const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options);

/*
 * What the plan is made of and where its nodes run: per built instance the nodes,
 * operators with counts and their device, memory, weights that are rearranged for the
 * processor; hits, builds and evictions of the kept instances. A _copy function. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_placement_copy(qtsa_plan plan, int32_t format, char *buffer, size_t capacity,
                                              size_t *out_size);

/* ---------------------------------------------------- Operator-level calls -- */

/*
 * For hosts that keep a graph of their own and want single operators run on a
 * device: "run this if it is worth it, else tell me". Inputs and outputs are host
 * memory, f32 and row-major, of any alignment; weights are matrices on the backend.
 *
 * A call uploads its inputs, computes, and downloads its outputs before it returns.
 * What it needs is built at the first call of a shape and kept, up to a bound, so
 * that the second builds and allocates nothing. Calls on one backend from several
 * threads run side by side, up to four; more wait for their turn.
 *
 * NaN and infinity pass through as IEEE 754 says. An output must not overlap an
 * input or another output: INVALID_ARGUMENT. After a failure outputs are undefined,
 * except where the call was refused or declined: then nothing was touched.
 *
 * A call runs whenever the device can. UNSUPPORTED: it cannot; DEVICE_LOST,
 * OUT_OF_MEMORY: as for plans. What may be done instead is said by flags:
 */
enum {
    /* Decline what qtsa_backend_wants() advises against: NOT_WORTHWHILE, which
     * changes no outputs and no message. */
    QTSA_ONLY_IF_WORTHWHILE = 1,
    /* Compute on the CPU beside the device, or on a CPU by the reference, what was
     * declined or is unsupported, or what uses a matrix that the device's memory has no
     * room for. */
    QTSA_ON_CPU_IF_DECLINED = 2
};

/*
 * A weight of operator-level calls on one backend: a matrix [n_out, n_in], a
 * convolution's kernel [n_out, k, k, c_in], or another operator's weight. The device's
 * memory is taken at its first use there, not before, and kept: a call is OUT_OF_MEMORY
 * then or, with QTSA_ON_CPU_IF_DECLINED, computed on the CPU, and the statistics say why.
 * A CPU computes with the host's copy. It keeps its backend alive.
 */
typedef struct qtsa_matrix_s *qtsa_matrix;

/* What a matrix is made of: data, a tensor of weights, or levels and scales apart. */
typedef struct qtsa_matrix_desc {
    size_t struct_size;
    /* From memory: f32, f16, bf16 or a quantised type, rank 1 to QTSA_MAX_RANK, and
     * the data, which is copied; bytes must be its size. */
    qtsa_dtype dtype;
    int32_t rank;
    int64_t shape[QTSA_MAX_RANK];
    const void *data;
    size_t bytes;
    /* Or from weights, without a copy: the tensor's name; what is above is zero. */
    qtsa_weights weights;
    const char *name;
    /* Or from levels and scales that lie apart, borrowed for the call and stored as
     * dtype, or where that is 0, as qtsa_weights_add_split() chooses; all else is zero. */
    const qtsa_split_matrix *split;
    /* Where a matrix is made of split: receives what that has changed, if not null. */
    qtsa_split_report *report;
} qtsa_matrix_desc;

/* Gives a description with nothing in it but its size. Since 0.2. */
static inline qtsa_matrix_desc qtsa_matrix_desc_init(void) {
    qtsa_matrix_desc made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Makes a matrix on a backend. INVALID_ARGUMENT: desc null, more than one of data,
 * weights and split or none, an integer type, a shape as in qtsa_tensor_bytes(), a
 * split as in qtsa_weights_add_split(); UNSUPPORTED: a split as a K type;
 * SHAPE_MISMATCH: bytes is not the size; NOT_FOUND: no tensor of that name;
 * INVALID_STATE: the tensor has no data yet; OUT_OF_MEMORY. Since 0.1.
 */
QTSA_API qtsa_status qtsa_matrix_create(qtsa_backend backend, const qtsa_matrix_desc *desc, qtsa_matrix *out_matrix);

/* Gives the handle back; calls under way end first. Since 0.1. */
QTSA_API qtsa_status qtsa_matrix_free(qtsa_matrix matrix);

/* The bytes that a matrix takes on its device from its first use on. Since 0.1. */
QTSA_API qtsa_status qtsa_matrix_bytes(qtsa_matrix matrix, uint64_t *out_bytes);

/* What is applied to a product's result. */
enum {
    QTSA_ACTIVATION_NONE = 0,
    QTSA_ACTIVATION_RELU = 1,
    QTSA_ACTIVATION_SILU = 2,
    QTSA_ACTIVATION_GELU = 3,      /* with the error function */
    QTSA_ACTIVATION_GELU_TANH = 4, /* its approximation with tanh */
    QTSA_ACTIVATION_SIGMOID = 5,
    QTSA_ACTIVATION_TANH = 6
};

/* One product: y = activation(x weight^T + bias). */
typedef struct qtsa_product {
    size_t struct_size;
    qtsa_matrix weight; /* [n_out, n_in] */
    const float *bias;  /* [n_out], or null */
    float *y;           /* [rows of x, n_out] */
    int64_t n_out;      /* the weight's, as a check of y */
    int32_t activation; /* QTSA_ACTIVATION_* */
    int32_t reserved;   /* 0 */
} qtsa_product;

/*
 * Multiplies x [t, n_in] with the weight of each of n_products products, in one submission
 * that uploads x once. flags: QTSA_ONLY_IF_WORTHWHILE and QTSA_ON_CPU_IF_DECLINED, or
 * 0. t = 0 succeeds and does nothing. INVALID_ARGUMENT: null pointers, negative t,
 * n_in below 1, no products, a weight of another backend, an unknown activation or flag,
 * overlap; INVALID_HANDLE: a weight that is null or freed; SHAPE_MISMATCH: a weight
 * whose rows are not n_in or whose n_out is not the product's. The message names the
 * product, from 0. Since 0.1.
 */
QTSA_API qtsa_status qtsa_matmul(qtsa_backend backend, const float *x, int64_t t, int64_t n_in,
                                 const qtsa_product *products, size_t n_products, int32_t flags);

/* A convolution of an image with its channels last. */
typedef struct qtsa_conv2d_geometry {
    size_t struct_size;
    int64_t h; /* the input is [h*w, c_in] */
    int64_t w;
    int64_t c_in;
    int64_t k; /* the kernel is k by k; floor(k/2) zeros are put on each side */
    int64_t stride;
    int64_t oh; /* floor((h + 2*floor(k/2) - k) / stride) + 1, as a check of y; */
    int64_t ow; /* likewise of w */
} qtsa_conv2d_geometry;

/* Kinds of norms. */
enum {
    QTSA_NORM_NONE = 0,
    QTSA_NORM_GROUP = 1, /* mean and variance over a group's channels of all pixels */
    QTSA_NORM_LAYER = 2  /* over the channels of each pixel */
};

/* What is done to an input as it is loaded. */
typedef struct qtsa_conv2d_norm {
    size_t struct_size;
    int32_t kind;       /* QTSA_NORM_* */
    int32_t silu;       /* not 0: x * sigmoid(x) afterwards */
    int64_t groups;     /* of QTSA_NORM_GROUP: divides c_in */
    double eps;         /* added to the variance */
    const float *gamma; /* [c_in], or null: 1 */
    const float *beta;  /* [c_in], or null: 0 */
} qtsa_conv2d_norm;

/*
 * Convolves x [h*w, c_in] to the product's y [oh*ow, n_out], with a weight [n_out, k, k,
 * c_in] or the same numbers as [n_out, k*k*c_in]. With norm, x is first normalised,
 * (x - mean) / sqrt(variance + eps) * gamma + beta, and only then padded: beyond the
 * border is 0. norm may be null. The windows are gathered on the device, in tiles:
 * beyond x, weight and y it needs at most twice y or 64 MiB of memory, whichever is
 * more. Errors as in qtsa_matmul(), and SHAPE_MISMATCH: groups that do not divide
 * c_in, an oh or ow that is not as above, a weight of another shape. Since 0.1.
 */
QTSA_API qtsa_status qtsa_conv2d(qtsa_backend backend, const float *x, const qtsa_conv2d_geometry *geometry,
                                 const qtsa_conv2d_norm *norm, const qtsa_product *product, int32_t flags);

/* Attention of queries over keys and values. */
typedef struct qtsa_attention_desc {
    size_t struct_size;
    const float *q; /* [tq, heads*head_dim] */
    const float *k; /* [tk, kv_heads*head_dim] */
    const float *v; /* likewise */
    float *out;     /* as q */
    int64_t tq;
    int64_t tk;
    int64_t heads;
    int64_t kv_heads; /* divides heads: head i reads head i / (heads / kv_heads) of k and v */
    int64_t head_dim;
    int64_t window;   /* with causal: how many keys a query sees at most; 0: all */
    double scale;     /* 0: 1/sqrt(head_dim) */
    int32_t causal;   /* not 0: query j sees the keys up to tk - tq + j */
    int32_t reserved; /* 0 */
} qtsa_attention_desc;

/*
 * softmax(scale q k^T) v for each head. tq = 0 succeeds and does nothing.
 * INVALID_ARGUMENT: null pointers, sizes below 1, a window without causal, overlap;
 * SHAPE_MISMATCH: heads no multiple of kv_heads, causal with tq > tk. Since 0.2.
 */
QTSA_API qtsa_status qtsa_attention(qtsa_backend backend, const qtsa_attention_desc *desc, int32_t flags);

/* An input or output of qtsa_op_run(); all zero but struct_size: an optional input left
 * out. */
typedef struct qtsa_operand {
    size_t struct_size;
    qtsa_dtype dtype;
    int32_t rank;
    int64_t shape[QTSA_MAX_RANK];
    void *data;         /* of this type and shape; an input's is only read */
    qtsa_matrix matrix; /* an input in the place of data, with the type and shape that it has */
} qtsa_operand;

/*
 * Runs any other operator of the table (docs/operators.md) that does not work on
 * state. outputs have the type and shape that the operator gives, or SHAPE_MISMATCH.
 * Errors as in qtsa_graph_op() and qtsa_matmul(); indices are checked as in
 * qtsa_plan_run(). Since 0.1.
 */
QTSA_API qtsa_status qtsa_op_run(qtsa_backend backend, const char *op, const qtsa_operand *inputs, size_t n_inputs,
                                 const qtsa_attr *attrs, size_t n_attrs, const qtsa_operand *outputs, size_t n_outputs,
                                 int32_t flags);

/*
 * Whether the device should run a call, transfers included: out_wants is 1 or 0;
 * always 1 on a CPU. shape is, for "matmul" t, n_in and the products' n_out together; for
 * "conv2d" h, w, c_in, k, stride and n_out; for "attention" tq, tk, heads, kv_heads
 * and head_dim; for another operator that of its largest input or output. The answer
 * is measured: see qtsa_backend_calibrate(). NOT_FOUND: no such operator. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_wants(qtsa_backend backend, const char *op, const int64_t *shape, size_t n_shape,
                                        int32_t *out_wants);

/*
 * From when on a call is worth the device's while: when its operations (a
 * multiplication and an addition are two) are at least min_flops + flops_per_byte *
 * the bytes that it moves up and down.
 */
typedef struct qtsa_threshold {
    size_t struct_size;
    const char *op; /* it is for the operators alike to "matmul", "conv2d" or "attention", or all "other" */
    double min_flops;
    double flops_per_byte;
} qtsa_threshold;

/* Where thresholds come from. */
enum {
    QTSA_CALIBRATE_AUTO = 0,  /* measured once for a device and version, then remembered in the user's cache */
    QTSA_CALIBRATE_FORCE = 1, /* measured now */
    QTSA_CALIBRATE_OFF = 2,   /* built in */
    QTSA_CALIBRATE_KEEP = 3   /* as they are, or are found first */
};

typedef struct qtsa_calibrate_options {
    size_t struct_size;
    int32_t how;      /* QTSA_CALIBRATE_* */
    int32_t reserved; /* 0 */
    /* n_thresholds to set in the place of those found so; borrowed for the call. */
    const qtsa_threshold *thresholds;
    size_t n_thresholds;
} qtsa_calibrate_options;

/* Gives options with all defaults. Since 0.2. */
static inline qtsa_calibrate_options qtsa_calibrate_options_init(void) {
    qtsa_calibrate_options made;
    memset(&made, 0, sizeof made);
    made.struct_size = sizeof made;
    return made;
}

/*
 * Makes the thresholds anew; options may be null. To measure them takes under a second,
 * or until the call returns in which a driver compiled kernels. Without it, that happens
 * when they are needed first, as the environment variable QTSACCEL_CALIBRATE says: auto,
 * force or off. The first answer then waits for 0.9 s at most; what takes longer goes on
 * beside, and until it is there the built-in thresholds stand. INVALID_ARGUMENT: no
 * QTSA_CALIBRATE_*, a threshold below 0, infinite or NaN; NOT_FOUND: no such operator;
 * nothing was changed then. Since 0.2.
 */
QTSA_API qtsa_status qtsa_backend_calibrate(qtsa_backend backend, const qtsa_calibrate_options *options);

/* Flags of qtsa_backend_stats_copy(). */
enum {
    /* Begin to count anew, where the call succeeds and buffer is not null. */
    QTSA_STATS_RESET = 1
};

/*
 * What the operator-level calls on a backend did since it was made or the last reset:
 * for each operator the calls, those declined and why the device could not run the
 * last of them, if it could not, total and median time, bytes up and down, GFLOP/s;
 * programs built and dropped; the thresholds, if any were needed; and the same of the
 * CPU beside it, if it computed what was declined. flags: QTSA_STATS_RESET, or 0. A _copy function.
 * Since 0.2.
 */
QTSA_API qtsa_status qtsa_backend_stats_copy(qtsa_backend backend, int32_t format, int32_t flags, char *buffer,
                                             size_t capacity, size_t *out_size);

#ifdef __cplusplus
}
#endif

#endif /* QTSACCEL_H */
