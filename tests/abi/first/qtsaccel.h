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
 * words: the operator, tensor or file, and the numbers. No function ends the
 * process, and none prints: ggml's lines, too, go to the callback of
 * qtsa_set_log_callback(), and nowhere if none is set. (ggml's Vulkan backend and
 * the drivers write a few lines straight to stderr.)
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
 * OUT PARAMETERS come last, are named out_*, must not be null, and are set to zero
 * when the call fails.
 *
 * OPTIONS structs begin with struct_size, which says how much of the struct the
 * host was compiled with. Fill one with its _init function, or with zeros and
 * sizeof the struct in struct_size, then change fields; null instead of a struct
 * means all defaults. They only grow at their end: an older, smaller struct goes
 * on working. Smaller than the first version's is INVALID_ARGUMENT, larger than
 * the library knows VERSION_MISMATCH.
 *
 * SHAPES are row-major with the outermost dimension first, as in numpy and
 * PyTorch. A tensor has at most QTSA_MAX_RANK dimensions. A weight matrix is
 * [n_out, n_in].
 *
 * TEXT is UTF-8 and ends with a zero byte.
 *
 * EMBEDDING. Once loaded, the library stays loaded: dlclose() does nothing. It
 * cannot be used in a child made by fork() without exec(): there every function
 * that returns a status gives QTSA_ERR_FORKED at once. It takes over SIGSEGV,
 * SIGBUS, SIGFPE, SIGPIPE and SIGURG when it is loaded, and passes on to the
 * handlers from before what is not its own. Handlers that the host installs later,
 * for any signal, must have SA_ONSTACK: inside the library stacks are small.
 */
#ifndef QTSACCEL_H
#define QTSACCEL_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define QTSA_API
#else
#define QTSA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define QTSA_VERSION_MAJOR 0
#define QTSA_VERSION_MINOR 1
#define QTSA_VERSION_PATCH 0

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
    QTSA_ERR_INTERNAL = -19           /* a mistake of the library's */
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
 * patch, to compare with the QTSA_VERSION_* that the host was compiled with.
 * Since 0.1.
 */
QTSA_API int32_t qtsa_version(void);

/* How grave a line for the log is. */
enum { QTSA_LOG_DEBUG = 1, QTSA_LOG_INFO = 2, QTSA_LOG_WARN = 3, QTSA_LOG_ERROR = 4 };

/*
 * Receives lines for the log, without a line end; text is valid during the call.
 * It may come from any thread, several at once, and must not call the library.
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

/* ----------------------------------------------------------------- Backend -- */

/*
 * A backend is a chosen device with its threads and its memory. Several may exist,
 * of the same device too.
 */
typedef struct qtsa_backend_s *qtsa_backend;

typedef struct qtsa_backend_options {
    size_t struct_size;
    /*
     * "auto", "cpu", "cuda", "vulkan", "metal" or "reference"; null: the
     * environment variable QTSACCEL_BACKEND, and without it "auto". A backend asked
     * for by name that cannot be had is an error, never another one.
     */
    const char *backend;
    /* The folder with the backend plugins; null: the variable QTSACCEL_PLUGIN_DIR,
     * and without it the folder "qtsaccel" beside the library. */
    const char *plugin_dir;
    /* CPU threads, those of a run that sets none: 1 or more; 0: what the process's
     * CPU affinity and cgroup quota allow. */
    int32_t threads;
    int32_t reserved; /* 0 */
} qtsa_backend_options;

/* Sets all fields to their defaults; struct_size is sizeof *options. Since 0.1. */
QTSA_API qtsa_status qtsa_backend_options_init(qtsa_backend_options *options, size_t struct_size);

/*
 * Makes a backend. options may be null. DEVICE_UNAVAILABLE: cannot be had, the
 * message has every reason and where plugins were looked for; INVALID_ARGUMENT: an
 * unknown name (the message lists the known ones), negative threads. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_create(const qtsa_backend_options *options, qtsa_backend *out_backend);

/* Gives the handle back. Sessions made on the backend go on working. Since 0.1. */
QTSA_API qtsa_status qtsa_backend_free(qtsa_backend backend);

/* Forms of a report. */
enum { QTSA_FORMAT_TEXT = 0, QTSA_FORMAT_JSON = 1 };

/*
 * How the backend was chosen and what it is: the backends tried with each verdict
 * and reason, device, ggml version, plugin, threads, folders searched. The text
 * goes to buffer with its terminating zero, capacity bytes at most; out_size is
 * what it needs, the zero included. With buffer null and capacity 0 only the size
 * is given. INVALID_ARGUMENT: the buffer is too small (out_size is set all the
 * same), unknown format. Every _copy function works so. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_report_copy(qtsa_backend backend, int32_t format, char *buffer, size_t capacity,
                                              size_t *out_size);

/*
 * The name of what computes, such as "cpu" or "vulkan:0", then the device's own
 * name: "cpu (AMD EPYC)". A _copy function. Since 0.1.
 */
QTSA_API qtsa_status qtsa_backend_name_copy(qtsa_backend backend, char *buffer, size_t capacity, size_t *out_size);

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

typedef struct qtsa_weights_options {
    size_t struct_size;
} qtsa_weights_options;

/* Sets all fields to their defaults; struct_size is sizeof *options. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_options_init(qtsa_weights_options *options, size_t struct_size);

/*
 * Opens a GGUF (version 2 or 3) or safetensors file, told apart by content, reads
 * it whole, and closes it. options may be null. IO: cannot be opened or read;
 * CORRUPT: not such a file, or a wrong one, with the field and its offset;
 * UNSUPPORTED: a tensor's type is none of the library's. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_open(const char *path, const qtsa_weights_options *options,
                                       qtsa_weights *out_weights);

/* Gives the handle back. Graphs and plans that use the weights go on. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_free(qtsa_weights weights);

/*
 * Adds a tensor without data, to be given by qtsa_weights_set(). ALREADY_EXISTS:
 * the name is taken; INVALID_ARGUMENT: as in qtsa_tensor_bytes(). Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_declare(qtsa_weights weights, const char *name, qtsa_dtype dtype,
                                          const int64_t *shape, int32_t rank);

/*
 * Copies a tensor's data in: bytes must be the tensor's size, or SHAPE_MISMATCH.
 * May be repeated until a plan has used the tensor; then INVALID_STATE. Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_set(qtsa_weights weights, const char *name, const void *data, size_t bytes);

/* The number of tensors. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_count(qtsa_weights weights, size_t *out_count);

/* Finds a tensor's index, from 0, by name; NOT_FOUND. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_find(qtsa_weights weights, const char *name, size_t *out_index);

/* What the tensor at index is; INVALID_ARGUMENT beyond the last. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_info(qtsa_weights weights, size_t index, qtsa_tensor_info *out_info);

/* The name of the tensor at index. A _copy function. Since 0.1. */
QTSA_API qtsa_status qtsa_weights_name_copy(qtsa_weights weights, size_t index, char *buffer, size_t capacity,
                                            size_t *out_size);

/*
 * A metadata value of the file as text: a string as it is, a number in decimal, a
 * boolean as "true" or "false", an array as JSON. NOT_FOUND. A _copy function.
 * Since 0.1.
 */
QTSA_API qtsa_status qtsa_weights_metadata_copy(qtsa_weights weights, const char *key, char *buffer, size_t capacity,
                                                size_t *out_size);

/* ------------------------------------------------------------------- Graph -- */

/*
 * A graph is data: tensors and the operators between them, each checked as it is
 * added. It belongs to no backend. Adding to a graph after a plan was made of it
 * is fine and does not change that plan.
 */
typedef struct qtsa_graph_s *qtsa_graph;

/* A tensor of one graph: an index, not a handle. */
typedef int64_t qtsa_tensor;

/* Stands for an optional input that is not given. */
#define QTSA_NONE ((qtsa_tensor)(-1))

/* Types of an attribute's value. */
enum { QTSA_ATTR_INT = 1, QTSA_ATTR_FLOAT = 2, QTSA_ATTR_STRING = 3, QTSA_ATTR_INTS = 4, QTSA_ATTR_FLOATS = 5 };

/* An attribute of an operator; make it with the functions below. */
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

/* Makes an empty graph. label names it in messages; it may be null. Since 0.1. */
QTSA_API qtsa_status qtsa_graph_create(const char *label, qtsa_graph *out_graph);

/* Gives the handle back. Plans made of the graph go on. Since 0.1. */
QTSA_API qtsa_status qtsa_graph_free(qtsa_graph graph);

/*
 * Declares a dynamic dimension: its value is given per run, from min to max.
 * out_dim stands for it in shapes and in int attributes of this graph. Operators
 * are checked with all dynamic dimensions at their smallest and at their largest
 * when they are added, and for the values in use when a plan meets them first.
 * ALREADY_EXISTS; INVALID_ARGUMENT: not 1 <= min <= max. Since 0.1.
 */
QTSA_API qtsa_status qtsa_graph_dim(qtsa_graph graph, const char *name, int64_t min, int64_t max, int64_t *out_dim);

/*
 * Adds an input that the host uploads at each run. Any element type but the
 * quantised ones. ALREADY_EXISTS: an input of that name. Since 0.1.
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
 * operator, the tensors and their shapes. The graph is as before then. Since 0.1.
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
    int32_t reserved; /* 0 */
} qtsa_plan_options;

/* Sets all fields to their defaults; struct_size is sizeof *options. Since 0.1. */
QTSA_API qtsa_status qtsa_plan_options_init(qtsa_plan_options *options, size_t struct_size);

/*
 * Makes a plan of the graph as it is now. options may be null. INVALID_ARGUMENT:
 * a graph without output; SHAPE_MISMATCH: a state that the session has with
 * another type or shape; UNSUPPORTED: operators that the backend has neither a
 * kernel nor a decomposition for, listed. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_create(qtsa_session session, qtsa_graph graph, const qtsa_plan_options *options,
                                      qtsa_plan *out_plan);

/* Gives the handle back. A run in progress goes on to its end. Since 0.1. */
QTSA_API qtsa_status qtsa_plan_free(qtsa_plan plan);

/*
 * The index of an input or output, from 0 in the order in which they were added to
 * the graph, by name; NOT_FOUND. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_input_index(qtsa_plan plan, const char *name, size_t *out_index);
QTSA_API qtsa_status qtsa_plan_output_index(qtsa_plan plan, const char *name, size_t *out_index);

/*
 * Builds what a run with these values of the dynamic dimensions needs, in the
 * order in which they were declared, uploads weights that are not on the backend
 * yet, and runs nothing. INVALID_STATE: a weight has no data yet. Since 0.1.
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
    /* CPU threads of this run; 0: the backend's. */
    int32_t threads;
    int32_t reserved; /* 0 */
    /* Receives the timing of the run if it is not null. */
    qtsa_timing *timing;
} qtsa_run_options;

/* Sets all fields to their defaults; struct_size is sizeof *options. Since 0.1. */
QTSA_API qtsa_status qtsa_run_options_init(qtsa_run_options *options, size_t struct_size);

/*
 * Uploads the inputs, computes, and downloads the outputs; returns when they are
 * there. inputs and outputs have one entry per input and output of the graph, in
 * the order of their indices; bytes must be their size, or SHAPE_MISMATCH. Indices
 * in inputs (tokens, positions) are checked: INVALID_ARGUMENT with the value, the
 * bound and where. What is found wrong before the run starts leaves the session as
 * it was; after any other failure its state is undefined until it is reset or
 * written. options may be null. INVALID_STATE: a weight has no data yet, or an
 * input was never given; CANCELLED; DEVICE_LOST; OUT_OF_MEMORY. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_run(qtsa_plan plan, const qtsa_input *inputs, size_t n_inputs,
                                   const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options);

/*
 * What the plan is made of and where its nodes run: per built instance the nodes,
 * operators with counts and their device, memory; hits, builds and evictions of
 * the kept instances. A _copy function. Since 0.1.
 */
QTSA_API qtsa_status qtsa_plan_placement_copy(qtsa_plan plan, int32_t format, char *buffer, size_t capacity,
                                              size_t *out_size);

#ifdef __cplusplus
}
#endif

#endif /* QTSACCEL_H */
