/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

/*
 * Each function of the header refuses in a forked child, sets its out parameters
 * to zero, and calls its Go export. Handles, and what a callback gets as user, go
 * to Go as integers, since as pointers their values would upset its runtime. Each
 * export is declared again here, behind cgo's own declaration, so that the
 * compiler compares the two.
 */
#include <string.h>

#include "_cgo_export.h"
#include "entry.h"

extern qtsa_status go_qtsa_set_log_callback(qtsa_log_callback callback, uintptr_t user);

qtsa_status qtsa_set_log_callback(qtsa_log_callback callback, void *user) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_set_log_callback(callback, (uintptr_t)user);
}

extern qtsa_status go_qtsa_tensor_bytes(qtsa_dtype dtype, const int64_t *shape, int32_t rank, size_t *out_bytes);

qtsa_status qtsa_tensor_bytes(qtsa_dtype dtype, const int64_t *shape, int32_t rank, size_t *out_bytes) {
    if (out_bytes)
        memset(out_bytes, 0, sizeof *out_bytes);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_bytes)
        return capi_refuse_null("out_bytes");
    return go_qtsa_tensor_bytes(dtype, shape, rank, out_bytes);
}

extern qtsa_status go_qtsa_backend_options_init(qtsa_backend_options *options, size_t struct_size);

qtsa_status qtsa_backend_options_init(qtsa_backend_options *options, size_t struct_size) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_backend_options_init(options, struct_size);
}

extern qtsa_status go_qtsa_backend_create(const qtsa_backend_options *options, uintptr_t *out_backend);

qtsa_status qtsa_backend_create(const qtsa_backend_options *options, qtsa_backend *out_backend) {
    if (out_backend)
        memset(out_backend, 0, sizeof *out_backend);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_backend)
        return capi_refuse_null("out_backend");
    uintptr_t made_backend = 0;
    qtsa_status status = go_qtsa_backend_create(options, &made_backend);
    if (status == QTSA_OK)
        *out_backend = (qtsa_backend)made_backend;
    return status;
}

extern qtsa_status go_qtsa_backend_free(uintptr_t backend);

qtsa_status qtsa_backend_free(qtsa_backend backend) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_backend_free((uintptr_t)backend);
}

extern qtsa_status go_qtsa_backend_report_copy(uintptr_t backend, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_backend_report_copy(qtsa_backend backend, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_backend_report_copy((uintptr_t)backend, format, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_backend_name_copy(uintptr_t backend, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_backend_name_copy(qtsa_backend backend, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_backend_name_copy((uintptr_t)backend, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_create(uintptr_t *out_weights);

qtsa_status qtsa_weights_create(qtsa_weights *out_weights) {
    if (out_weights)
        memset(out_weights, 0, sizeof *out_weights);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_weights)
        return capi_refuse_null("out_weights");
    uintptr_t made_weights = 0;
    qtsa_status status = go_qtsa_weights_create(&made_weights);
    if (status == QTSA_OK)
        *out_weights = (qtsa_weights)made_weights;
    return status;
}

extern qtsa_status go_qtsa_weights_options_init(qtsa_weights_options *options, size_t struct_size);

qtsa_status qtsa_weights_options_init(qtsa_weights_options *options, size_t struct_size) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_weights_options_init(options, struct_size);
}

extern qtsa_status go_qtsa_weights_open(const char *path, const qtsa_weights_options *options, uintptr_t *out_weights);

qtsa_status qtsa_weights_open(const char *path, const qtsa_weights_options *options, qtsa_weights *out_weights) {
    if (out_weights)
        memset(out_weights, 0, sizeof *out_weights);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_weights)
        return capi_refuse_null("out_weights");
    uintptr_t made_weights = 0;
    qtsa_status status = go_qtsa_weights_open(path, options, &made_weights);
    if (status == QTSA_OK)
        *out_weights = (qtsa_weights)made_weights;
    return status;
}

extern qtsa_status go_qtsa_weights_free(uintptr_t weights);

qtsa_status qtsa_weights_free(qtsa_weights weights) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_weights_free((uintptr_t)weights);
}

extern qtsa_status go_qtsa_weights_declare(uintptr_t weights, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank);

qtsa_status qtsa_weights_declare(qtsa_weights weights, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_weights_declare((uintptr_t)weights, name, dtype, shape, rank);
}

extern qtsa_status go_qtsa_weights_set(uintptr_t weights, const char *name, void *data, size_t bytes);

qtsa_status qtsa_weights_set(qtsa_weights weights, const char *name, const void *data, size_t bytes) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_weights_set((uintptr_t)weights, name, (void *)data, bytes);
}

extern qtsa_status go_qtsa_weights_count(uintptr_t weights, size_t *out_count);

qtsa_status qtsa_weights_count(qtsa_weights weights, size_t *out_count) {
    if (out_count)
        memset(out_count, 0, sizeof *out_count);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_count)
        return capi_refuse_null("out_count");
    return go_qtsa_weights_count((uintptr_t)weights, out_count);
}

extern qtsa_status go_qtsa_weights_find(uintptr_t weights, const char *name, size_t *out_index);

qtsa_status qtsa_weights_find(qtsa_weights weights, const char *name, size_t *out_index) {
    if (out_index)
        memset(out_index, 0, sizeof *out_index);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_index)
        return capi_refuse_null("out_index");
    return go_qtsa_weights_find((uintptr_t)weights, name, out_index);
}

extern qtsa_status go_qtsa_weights_info(uintptr_t weights, size_t index, qtsa_tensor_info *out_info);

qtsa_status qtsa_weights_info(qtsa_weights weights, size_t index, qtsa_tensor_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_info)
        return capi_refuse_null("out_info");
    return go_qtsa_weights_info((uintptr_t)weights, index, out_info);
}

extern qtsa_status go_qtsa_weights_name_copy(uintptr_t weights, size_t index, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_weights_name_copy(qtsa_weights weights, size_t index, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_weights_name_copy((uintptr_t)weights, index, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_metadata_copy(uintptr_t weights, const char *key, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_weights_metadata_copy(qtsa_weights weights, const char *key, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_weights_metadata_copy((uintptr_t)weights, key, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_graph_create(const char *label, uintptr_t *out_graph);

qtsa_status qtsa_graph_create(const char *label, qtsa_graph *out_graph) {
    if (out_graph)
        memset(out_graph, 0, sizeof *out_graph);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_graph)
        return capi_refuse_null("out_graph");
    uintptr_t made_graph = 0;
    qtsa_status status = go_qtsa_graph_create(label, &made_graph);
    if (status == QTSA_OK)
        *out_graph = (qtsa_graph)made_graph;
    return status;
}

extern qtsa_status go_qtsa_graph_free(uintptr_t graph);

qtsa_status qtsa_graph_free(qtsa_graph graph) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_graph_free((uintptr_t)graph);
}

extern qtsa_status go_qtsa_graph_dim(uintptr_t graph, const char *name, int64_t min, int64_t max, int64_t *out_dim);

qtsa_status qtsa_graph_dim(qtsa_graph graph, const char *name, int64_t min, int64_t max, int64_t *out_dim) {
    if (out_dim)
        memset(out_dim, 0, sizeof *out_dim);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_dim)
        return capi_refuse_null("out_dim");
    return go_qtsa_graph_dim((uintptr_t)graph, name, min, max, out_dim);
}

extern qtsa_status go_qtsa_graph_input(uintptr_t graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor);

qtsa_status qtsa_graph_input(qtsa_graph graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor) {
    if (out_tensor)
        memset(out_tensor, 0, sizeof *out_tensor);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_tensor)
        return capi_refuse_null("out_tensor");
    return go_qtsa_graph_input((uintptr_t)graph, name, dtype, shape, rank, out_tensor);
}

extern qtsa_status go_qtsa_graph_weight(uintptr_t graph, uintptr_t weights, const char *name, qtsa_tensor *out_tensor);

qtsa_status qtsa_graph_weight(qtsa_graph graph, qtsa_weights weights, const char *name, qtsa_tensor *out_tensor) {
    if (out_tensor)
        memset(out_tensor, 0, sizeof *out_tensor);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_tensor)
        return capi_refuse_null("out_tensor");
    return go_qtsa_graph_weight((uintptr_t)graph, (uintptr_t)weights, name, out_tensor);
}

extern qtsa_status go_qtsa_graph_state(uintptr_t graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor);

qtsa_status qtsa_graph_state(qtsa_graph graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor) {
    if (out_tensor)
        memset(out_tensor, 0, sizeof *out_tensor);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_tensor)
        return capi_refuse_null("out_tensor");
    return go_qtsa_graph_state((uintptr_t)graph, name, dtype, shape, rank, out_tensor);
}

extern qtsa_status go_qtsa_graph_op(uintptr_t graph, const char *op, const qtsa_tensor *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs);

qtsa_status qtsa_graph_op(qtsa_graph graph, const char *op, const qtsa_tensor *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_graph_op((uintptr_t)graph, op, inputs, n_inputs, attrs, n_attrs, outputs, n_outputs);
}

extern qtsa_status go_qtsa_graph_output(uintptr_t graph, const char *name, qtsa_tensor tensor);

qtsa_status qtsa_graph_output(qtsa_graph graph, const char *name, qtsa_tensor tensor) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_graph_output((uintptr_t)graph, name, tensor);
}

extern qtsa_status go_qtsa_graph_info(uintptr_t graph, qtsa_tensor tensor, qtsa_tensor_info *out_info);

qtsa_status qtsa_graph_info(qtsa_graph graph, qtsa_tensor tensor, qtsa_tensor_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_info)
        return capi_refuse_null("out_info");
    return go_qtsa_graph_info((uintptr_t)graph, tensor, out_info);
}

extern qtsa_status go_qtsa_session_create(uintptr_t backend, uintptr_t *out_session);

qtsa_status qtsa_session_create(qtsa_backend backend, qtsa_session *out_session) {
    if (out_session)
        memset(out_session, 0, sizeof *out_session);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_session)
        return capi_refuse_null("out_session");
    uintptr_t made_session = 0;
    qtsa_status status = go_qtsa_session_create((uintptr_t)backend, &made_session);
    if (status == QTSA_OK)
        *out_session = (qtsa_session)made_session;
    return status;
}

extern qtsa_status go_qtsa_session_free(uintptr_t session);

qtsa_status qtsa_session_free(qtsa_session session) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_session_free((uintptr_t)session);
}

extern qtsa_status go_qtsa_session_reset(uintptr_t session);

qtsa_status qtsa_session_reset(qtsa_session session) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_session_reset((uintptr_t)session);
}

extern qtsa_status go_qtsa_session_read(uintptr_t session, const char *state, size_t offset, void *data, size_t bytes);

qtsa_status qtsa_session_read(qtsa_session session, const char *state, size_t offset, void *data, size_t bytes) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_session_read((uintptr_t)session, state, offset, data, bytes);
}

extern qtsa_status go_qtsa_session_write(uintptr_t session, const char *state, size_t offset, void *data, size_t bytes);

qtsa_status qtsa_session_write(qtsa_session session, const char *state, size_t offset, const void *data, size_t bytes) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_session_write((uintptr_t)session, state, offset, (void *)data, bytes);
}

extern qtsa_status go_qtsa_session_cancel(uintptr_t session);

qtsa_status qtsa_session_cancel(qtsa_session session) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_session_cancel((uintptr_t)session);
}

extern qtsa_status go_qtsa_plan_options_init(qtsa_plan_options *options, size_t struct_size);

qtsa_status qtsa_plan_options_init(qtsa_plan_options *options, size_t struct_size) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_plan_options_init(options, struct_size);
}

extern qtsa_status go_qtsa_plan_create(uintptr_t session, uintptr_t graph, const qtsa_plan_options *options, uintptr_t *out_plan);

qtsa_status qtsa_plan_create(qtsa_session session, qtsa_graph graph, const qtsa_plan_options *options, qtsa_plan *out_plan) {
    if (out_plan)
        memset(out_plan, 0, sizeof *out_plan);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_plan)
        return capi_refuse_null("out_plan");
    uintptr_t made_plan = 0;
    qtsa_status status = go_qtsa_plan_create((uintptr_t)session, (uintptr_t)graph, options, &made_plan);
    if (status == QTSA_OK)
        *out_plan = (qtsa_plan)made_plan;
    return status;
}

extern qtsa_status go_qtsa_plan_free(uintptr_t plan);

qtsa_status qtsa_plan_free(qtsa_plan plan) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_plan_free((uintptr_t)plan);
}

extern qtsa_status go_qtsa_plan_input_index(uintptr_t plan, const char *name, size_t *out_index);

qtsa_status qtsa_plan_input_index(qtsa_plan plan, const char *name, size_t *out_index) {
    if (out_index)
        memset(out_index, 0, sizeof *out_index);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_index)
        return capi_refuse_null("out_index");
    return go_qtsa_plan_input_index((uintptr_t)plan, name, out_index);
}

extern qtsa_status go_qtsa_plan_output_index(uintptr_t plan, const char *name, size_t *out_index);

qtsa_status qtsa_plan_output_index(qtsa_plan plan, const char *name, size_t *out_index) {
    if (out_index)
        memset(out_index, 0, sizeof *out_index);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_index)
        return capi_refuse_null("out_index");
    return go_qtsa_plan_output_index((uintptr_t)plan, name, out_index);
}

extern qtsa_status go_qtsa_plan_prepare(uintptr_t plan, const int64_t *dims, size_t n_dims);

qtsa_status qtsa_plan_prepare(qtsa_plan plan, const int64_t *dims, size_t n_dims) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_plan_prepare((uintptr_t)plan, dims, n_dims);
}

extern qtsa_status go_qtsa_run_options_init(qtsa_run_options *options, size_t struct_size);

qtsa_status qtsa_run_options_init(qtsa_run_options *options, size_t struct_size) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_run_options_init(options, struct_size);
}

extern qtsa_status go_qtsa_plan_run(uintptr_t plan, const qtsa_input *inputs, size_t n_inputs, const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options);

qtsa_status qtsa_plan_run(qtsa_plan plan, const qtsa_input *inputs, size_t n_inputs, const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    return go_qtsa_plan_run((uintptr_t)plan, inputs, n_inputs, outputs, n_outputs, options);
}

extern qtsa_status go_qtsa_plan_placement_copy(uintptr_t plan, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_plan_placement_copy(qtsa_plan plan, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_plan_placement_copy((uintptr_t)plan, format, buffer, capacity, out_size);
}
