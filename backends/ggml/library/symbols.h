/*
 * The functions of ggml that the shim calls, but for the operators of ops.list. To use
 * another, add its name here; it is then looked up when the library is opened
 * and called as gg.name(...).
 */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "symbols_gen.h"

/* In the base library; each name stands without its ggml_ in front. */
#define SHIM_BASE_SYMBOLS(X)        \
    SHIM_OPERATOR_SYMBOLS(X)        \
    X(set_abort_callback)           \
    X(log_set)                      \
    X(version)                      \
    X(init)                         \
    X(free)                         \
    X(used_mem)                     \
    X(tensor_overhead)              \
    X(graph_overhead_custom)        \
    X(new_graph_custom)             \
    X(build_forward_expand)         \
    X(get_first_tensor)             \
    X(get_next_tensor)              \
    X(new_tensor)                   \
    X(nbytes)                       \
    X(op_desc)                      \
    X(set_output)                   \
    X(is_contiguous)                \
    X(type_size)                    \
    X(row_size)                     \
    X(get_type_traits)              \
    X(quantize_chunk)               \
    X(mul_mat)                      \
    X(flash_attn_ext)               \
    X(view_4d)                      \
    X(permute)                      \
    X(pool_2d)                      \
    X(custom_4d)                    \
    X(custom_inplace)               \
    X(gallocr_new)                  \
    X(gallocr_free)                 \
    X(gallocr_alloc_graph)          \
    X(gallocr_reserve)              \
    X(gallocr_reserve_n_size)       \
    X(gallocr_get_buffer_size)      \
    X(threadpool_params_default)    \
    X(backend_free)                 \
    X(backend_graph_compute)        \
    X(backend_synchronize)          \
    X(backend_event_new)            \
    X(backend_event_free)           \
    X(backend_event_record)         \
    X(backend_event_synchronize)    \
    X(backend_tensor_set)           \
    X(backend_tensor_set_async)     \
    X(backend_tensor_get)           \
    X(backend_tensor_alloc)         \
    X(backend_buft_alloc_buffer)    \
    X(backend_buft_get_alignment)   \
    X(backend_buft_get_alloc_size)  \
    X(backend_buft_get_max_size)    \
    X(backend_buffer_free)          \
    X(backend_buffer_get_base)      \
    X(backend_buffer_get_type)      \
    X(backend_buffer_clear)         \
    X(backend_buffer_set_usage)     \
    X(backend_buffer_get_size)      \
    X(backend_cpu_buffer_from_ptr)  \
    X(backend_dev_name)             \
    X(backend_dev_description)      \
    X(backend_dev_init)             \
    X(backend_dev_memory)           \
    X(backend_dev_buffer_type)      \
    X(backend_dev_host_buffer_type) \
    X(backend_dev_supports_op)      \
    X(backend_buft_name)            \
    X(backend_reg_dev_count)        \
    X(backend_reg_dev_get)          \
    X(backend_reg_get_proc_address)

/* In the CPU plugin. */
#define SHIM_CPU_SYMBOLS(X) \
    X(get_type_traits_cpu)  \
    X(graph_plan)           \
    X(graph_compute)        \
    X(threadpool_new)       \
    X(threadpool_free)      \
    X(threadpool_pause)

/*
 * In the base library of some versions only, so with their types: other headers do
 * not declare them, or as deprecated. prec_set_acc has replaced the *_set_prec.
 */
#define SHIM_OPTIONAL_SYMBOLS(X)         \
    X(prec_set_acc, bool, ggml_prec)     \
    X(mul_mat_set_prec, void, ggml_prec) \
    X(flash_attn_ext_set_prec, void, ggml_prec)

#endif
