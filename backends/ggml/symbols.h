/*
 * The functions of ggml that the shim calls: the one list of them. To use
 * another, add its name here; it is then looked up when the library is opened
 * and called as gg.name(...).
 */
#ifndef SHIM_SYMBOLS_H
#define SHIM_SYMBOLS_H

#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"

/* In the base library; each name stands without its ggml_ in front. */
#define SHIM_BASE_SYMBOLS(X)        \
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
    X(add)                          \
    X(sub)                          \
    X(mul)                          \
    X(div)                          \
    X(repeat_4d)                    \
    X(scale_bias)                   \
    X(sqr)                          \
    X(sqrt)                         \
    X(log)                          \
    X(sin)                          \
    X(cos)                          \
    X(unary)                        \
    X(leaky_relu)                   \
    X(clamp)                        \
    X(swiglu_split)                 \
    X(soft_max)                     \
    X(soft_max_ext)                 \
    X(norm)                         \
    X(rms_norm)                     \
    X(group_norm)                   \
    X(mul_mat)                      \
    X(rope_ext)                     \
    X(flash_attn_ext)               \
    X(get_rows)                     \
    X(set_rows)                     \
    X(cpy)                          \
    X(cast)                         \
    X(cont)                         \
    X(reshape_4d)                   \
    X(view_4d)                      \
    X(permute)                      \
    X(concat)                       \
    X(pad_ext)                      \
    X(pad_reflect_1d)               \
    X(im2col)                       \
    X(conv_2d_dw_direct)            \
    X(pool_2d)                      \
    X(interpolate)                  \
    X(custom_4d)                    \
    X(custom_inplace)               \
    X(sum_rows)                     \
    X(mean)                         \
    X(cumsum)                       \
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
