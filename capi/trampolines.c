/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

/*
 * Each function of the header refuses in a forked child and in a callback, sets its
 * out parameters to zero, and calls its Go export. Handles, and what a callback gets as user, go
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_set_log_callback(callback, (uintptr_t)user);
}

extern qtsa_status go_qtsa_tensor_bytes(qtsa_dtype dtype, const int64_t *shape, int32_t rank, size_t *out_bytes);

qtsa_status qtsa_tensor_bytes(qtsa_dtype dtype, const int64_t *shape, int32_t rank, size_t *out_bytes) {
    if (out_bytes)
        memset(out_bytes, 0, sizeof *out_bytes);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_bytes)
        return capi_refuse_null("out_bytes");
    return go_qtsa_tensor_bytes(dtype, shape, rank, out_bytes);
}

extern qtsa_status go_qtsa_backend_create(const qtsa_backend_options *options, uintptr_t *out_backend);

qtsa_status qtsa_backend_create(const qtsa_backend_options *options, qtsa_backend *out_backend) {
    if (out_backend)
        memset(out_backend, 0, sizeof *out_backend);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_backend_free((uintptr_t)backend);
}

extern qtsa_status go_qtsa_backend_report_copy(uintptr_t backend, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_backend_report_copy(qtsa_backend backend, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_backend_report_copy((uintptr_t)backend, format, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_backend_install(uintptr_t backend);

qtsa_status qtsa_backend_install(qtsa_backend backend) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_backend_install((uintptr_t)backend);
}

extern qtsa_status go_qtsa_backend_get_active(uintptr_t *out_backend);

qtsa_status qtsa_backend_get_active(qtsa_backend *out_backend) {
    if (out_backend)
        memset(out_backend, 0, sizeof *out_backend);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_backend)
        return capi_refuse_null("out_backend");
    uintptr_t made_backend = 0;
    qtsa_status status = go_qtsa_backend_get_active(&made_backend);
    if (status == QTSA_OK)
        *out_backend = (qtsa_backend)made_backend;
    return status;
}

extern qtsa_status go_qtsa_devices_list(const qtsa_backend_options *options, qtsa_device *devices, size_t capacity, size_t *out_count);

qtsa_status qtsa_devices_list(const qtsa_backend_options *options, qtsa_device *devices, size_t capacity, size_t *out_count) {
    if (out_count)
        memset(out_count, 0, sizeof *out_count);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_count)
        return capi_refuse_null("out_count");
    return go_qtsa_devices_list(options, devices, capacity, out_count);
}

extern qtsa_status go_qtsa_devices_report_copy(const qtsa_backend_options *options, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_devices_report_copy(const qtsa_backend_options *options, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_devices_report_copy(options, format, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_create(uintptr_t *out_weights);

qtsa_status qtsa_weights_create(qtsa_weights *out_weights) {
    if (out_weights)
        memset(out_weights, 0, sizeof *out_weights);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_weights)
        return capi_refuse_null("out_weights");
    uintptr_t made_weights = 0;
    qtsa_status status = go_qtsa_weights_create(&made_weights);
    if (status == QTSA_OK)
        *out_weights = (qtsa_weights)made_weights;
    return status;
}

extern qtsa_status go_qtsa_weights_open(const char *path, const qtsa_weights_options *options, uintptr_t *out_weights);

qtsa_status qtsa_weights_open(const char *path, const qtsa_weights_options *options, qtsa_weights *out_weights) {
    if (out_weights)
        memset(out_weights, 0, sizeof *out_weights);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_weights)
        return capi_refuse_null("out_weights");
    uintptr_t made_weights = 0;
    qtsa_status status = go_qtsa_weights_open(path, options, &made_weights);
    if (status == QTSA_OK)
        *out_weights = (qtsa_weights)made_weights;
    return status;
}

extern qtsa_status go_qtsa_weights_plan_memory(const char *path, const qtsa_weights_options *options, qtsa_weights_memory *out_memory);

qtsa_status qtsa_weights_plan_memory(const char *path, const qtsa_weights_options *options, qtsa_weights_memory *out_memory) {
    if (out_memory)
        memset(out_memory, 0, sizeof *out_memory);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_memory)
        return capi_refuse_null("out_memory");
    return go_qtsa_weights_plan_memory(path, options, out_memory);
}

extern qtsa_status go_qtsa_weights_report_copy(uintptr_t weights, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_weights_report_copy(qtsa_weights weights, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_weights_report_copy((uintptr_t)weights, format, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_free(uintptr_t weights);

qtsa_status qtsa_weights_free(qtsa_weights weights) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_weights_free((uintptr_t)weights);
}

extern qtsa_status go_qtsa_weights_upload(uintptr_t weights, uintptr_t backend, const qtsa_upload_options *options);

qtsa_status qtsa_weights_upload(qtsa_weights weights, qtsa_backend backend, const qtsa_upload_options *options) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_weights_upload((uintptr_t)weights, (uintptr_t)backend, options);
}

extern qtsa_status go_qtsa_weights_device_bytes(uintptr_t weights, uintptr_t backend, uint64_t *out_bytes);

qtsa_status qtsa_weights_device_bytes(qtsa_weights weights, qtsa_backend backend, uint64_t *out_bytes) {
    if (out_bytes)
        memset(out_bytes, 0, sizeof *out_bytes);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_bytes)
        return capi_refuse_null("out_bytes");
    return go_qtsa_weights_device_bytes((uintptr_t)weights, (uintptr_t)backend, out_bytes);
}

extern qtsa_status go_qtsa_weights_add(uintptr_t weights, const char *name, const qtsa_array *array);

qtsa_status qtsa_weights_add(qtsa_weights weights, const char *name, const qtsa_array *array) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_weights_add((uintptr_t)weights, name, array);
}

extern qtsa_status go_qtsa_weights_set(uintptr_t weights, const char *name, const qtsa_array *array);

qtsa_status qtsa_weights_set(qtsa_weights weights, const char *name, const qtsa_array *array) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_weights_set((uintptr_t)weights, name, array);
}

extern qtsa_status go_qtsa_weights_add_split(uintptr_t weights, const char *name, const qtsa_split_matrix *matrix, qtsa_dtype dtype, qtsa_split_report *out_report);

qtsa_status qtsa_weights_add_split(qtsa_weights weights, const char *name, const qtsa_split_matrix *matrix, qtsa_dtype dtype, qtsa_split_report *out_report) {
    if (out_report)
        memset(out_report, 0, sizeof *out_report);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_report)
        return capi_refuse_null("out_report");
    return go_qtsa_weights_add_split((uintptr_t)weights, name, matrix, dtype, out_report);
}

extern qtsa_status go_qtsa_weights_count(uintptr_t weights, size_t *out_tensors, size_t *out_metadata);

qtsa_status qtsa_weights_count(qtsa_weights weights, size_t *out_tensors, size_t *out_metadata) {
    if (out_tensors)
        memset(out_tensors, 0, sizeof *out_tensors);
    if (out_metadata)
        memset(out_metadata, 0, sizeof *out_metadata);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_tensors)
        return capi_refuse_null("out_tensors");
    if (!out_metadata)
        return capi_refuse_null("out_metadata");
    return go_qtsa_weights_count((uintptr_t)weights, out_tensors, out_metadata);
}

extern qtsa_status go_qtsa_weights_info(uintptr_t weights, const char *name, size_t index, qtsa_tensor_info *out_info);

qtsa_status qtsa_weights_info(qtsa_weights weights, const char *name, size_t index, qtsa_tensor_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_info)
        return capi_refuse_null("out_info");
    return go_qtsa_weights_info((uintptr_t)weights, name, index, out_info);
}

extern qtsa_status go_qtsa_weights_name_copy(uintptr_t weights, int32_t kind, size_t index, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_weights_name_copy(qtsa_weights weights, int32_t kind, size_t index, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_weights_name_copy((uintptr_t)weights, kind, index, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_metadata_info(uintptr_t weights, const char *key, qtsa_metadata_info *out_info);

qtsa_status qtsa_weights_metadata_info(qtsa_weights weights, const char *key, qtsa_metadata_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_info)
        return capi_refuse_null("out_info");
    return go_qtsa_weights_metadata_info((uintptr_t)weights, key, out_info);
}

extern qtsa_status go_qtsa_weights_metadata_get(uintptr_t weights, const char *key, int32_t type, void *values, size_t capacity, size_t *out_count);

qtsa_status qtsa_weights_metadata_get(qtsa_weights weights, const char *key, int32_t type, void *values, size_t capacity, size_t *out_count) {
    if (out_count)
        memset(out_count, 0, sizeof *out_count);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_count)
        return capi_refuse_null("out_count");
    return go_qtsa_weights_metadata_get((uintptr_t)weights, key, type, values, capacity, out_count);
}

extern qtsa_status go_qtsa_weights_metadata_copy(uintptr_t weights, const char *key, int64_t index, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_weights_metadata_copy(qtsa_weights weights, const char *key, int64_t index, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_weights_metadata_copy((uintptr_t)weights, key, index, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_weights_save(uintptr_t weights, const char *path, const qtsa_attr *metadata, size_t n_metadata, qtsa_progress_callback progress, uintptr_t user);

qtsa_status qtsa_weights_save(qtsa_weights weights, const char *path, const qtsa_attr *metadata, size_t n_metadata, qtsa_progress_callback progress, void *user) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_weights_save((uintptr_t)weights, path, metadata, n_metadata, progress, (uintptr_t)user);
}

extern qtsa_status go_qtsa_graph_create(const char *label, uintptr_t *out_graph);

qtsa_status qtsa_graph_create(const char *label, qtsa_graph *out_graph) {
    if (out_graph)
        memset(out_graph, 0, sizeof *out_graph);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_graph_free((uintptr_t)graph);
}

extern qtsa_status go_qtsa_graph_dim(uintptr_t graph, const char *name, int64_t min, int64_t max, int64_t *out_dim);

qtsa_status qtsa_graph_dim(qtsa_graph graph, const char *name, int64_t min, int64_t max, int64_t *out_dim) {
    if (out_dim)
        memset(out_dim, 0, sizeof *out_dim);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_dim)
        return capi_refuse_null("out_dim");
    return go_qtsa_graph_dim((uintptr_t)graph, name, min, max, out_dim);
}

extern qtsa_status go_qtsa_graph_dim_op(uintptr_t graph, int32_t op, int64_t a, int64_t b, int64_t *out_dim);

qtsa_status qtsa_graph_dim_op(qtsa_graph graph, int32_t op, int64_t a, int64_t b, int64_t *out_dim) {
    if (out_dim)
        memset(out_dim, 0, sizeof *out_dim);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_dim)
        return capi_refuse_null("out_dim");
    return go_qtsa_graph_dim_op((uintptr_t)graph, op, a, b, out_dim);
}

extern qtsa_status go_qtsa_graph_dim_text_copy(uintptr_t graph, int64_t dim, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_graph_dim_text_copy(qtsa_graph graph, int64_t dim, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_graph_dim_text_copy((uintptr_t)graph, dim, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_graph_input(uintptr_t graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor);

qtsa_status qtsa_graph_input(qtsa_graph graph, const char *name, qtsa_dtype dtype, const int64_t *shape, int32_t rank, qtsa_tensor *out_tensor) {
    if (out_tensor)
        memset(out_tensor, 0, sizeof *out_tensor);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_tensor)
        return capi_refuse_null("out_tensor");
    return go_qtsa_graph_state((uintptr_t)graph, name, dtype, shape, rank, out_tensor);
}

extern qtsa_status go_qtsa_graph_op(uintptr_t graph, const char *op, const qtsa_tensor *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs);

qtsa_status qtsa_graph_op(qtsa_graph graph, const char *op, const qtsa_tensor *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, qtsa_tensor *outputs, size_t n_outputs) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_graph_op((uintptr_t)graph, op, inputs, n_inputs, attrs, n_attrs, outputs, n_outputs);
}

extern qtsa_status go_qtsa_graph_output(uintptr_t graph, const char *name, qtsa_tensor tensor);

qtsa_status qtsa_graph_output(qtsa_graph graph, const char *name, qtsa_tensor tensor) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_graph_output((uintptr_t)graph, name, tensor);
}

extern qtsa_status go_qtsa_graph_info(uintptr_t graph, qtsa_tensor tensor, qtsa_tensor_info *out_info);

qtsa_status qtsa_graph_info(qtsa_graph graph, qtsa_tensor tensor, qtsa_tensor_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_session_free((uintptr_t)session);
}

extern qtsa_status go_qtsa_session_reset(uintptr_t session);

qtsa_status qtsa_session_reset(qtsa_session session) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_session_reset((uintptr_t)session);
}

extern qtsa_status go_qtsa_session_read(uintptr_t session, const char *state, size_t offset, void *data, size_t bytes);

qtsa_status qtsa_session_read(qtsa_session session, const char *state, size_t offset, void *data, size_t bytes) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_session_read((uintptr_t)session, state, offset, data, bytes);
}

extern qtsa_status go_qtsa_session_write(uintptr_t session, const char *state, size_t offset, void *data, size_t bytes);

qtsa_status qtsa_session_write(qtsa_session session, const char *state, size_t offset, const void *data, size_t bytes) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_session_write((uintptr_t)session, state, offset, (void *)data, bytes);
}

extern qtsa_status go_qtsa_session_cancel(uintptr_t session);

qtsa_status qtsa_session_cancel(qtsa_session session) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_session_cancel((uintptr_t)session);
}

extern qtsa_status go_qtsa_plan_create(uintptr_t session, uintptr_t graph, const qtsa_plan_options *options, uintptr_t *out_plan);

qtsa_status qtsa_plan_create(qtsa_session session, qtsa_graph graph, const qtsa_plan_options *options, qtsa_plan *out_plan) {
    if (out_plan)
        memset(out_plan, 0, sizeof *out_plan);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
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
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_plan_free((uintptr_t)plan);
}

extern qtsa_status go_qtsa_plan_find(uintptr_t plan, int32_t kind, const char *name, size_t *out_index);

qtsa_status qtsa_plan_find(qtsa_plan plan, int32_t kind, const char *name, size_t *out_index) {
    if (out_index)
        memset(out_index, 0, sizeof *out_index);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_index)
        return capi_refuse_null("out_index");
    return go_qtsa_plan_find((uintptr_t)plan, kind, name, out_index);
}

extern qtsa_status go_qtsa_plan_info(uintptr_t plan, int32_t kind, size_t index, const int64_t *dims, size_t n_dims, qtsa_tensor_info *out_info);

qtsa_status qtsa_plan_info(qtsa_plan plan, int32_t kind, size_t index, const int64_t *dims, size_t n_dims, qtsa_tensor_info *out_info) {
    if (out_info)
        memset(out_info, 0, sizeof *out_info);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_info)
        return capi_refuse_null("out_info");
    return go_qtsa_plan_info((uintptr_t)plan, kind, index, dims, n_dims, out_info);
}

extern qtsa_status go_qtsa_plan_prepare(uintptr_t plan, const int64_t *dims, size_t n_dims);

qtsa_status qtsa_plan_prepare(qtsa_plan plan, const int64_t *dims, size_t n_dims) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_plan_prepare((uintptr_t)plan, dims, n_dims);
}

extern qtsa_status go_qtsa_plan_run(uintptr_t plan, const qtsa_input *inputs, size_t n_inputs, const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options);

qtsa_status qtsa_plan_run(qtsa_plan plan, const qtsa_input *inputs, size_t n_inputs, const qtsa_output *outputs, size_t n_outputs, const qtsa_run_options *options) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_plan_run((uintptr_t)plan, inputs, n_inputs, outputs, n_outputs, options);
}

extern qtsa_status go_qtsa_plan_placement_copy(uintptr_t plan, int32_t format, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_plan_placement_copy(qtsa_plan plan, int32_t format, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_plan_placement_copy((uintptr_t)plan, format, buffer, capacity, out_size);
}

extern qtsa_status go_qtsa_matrix_create(uintptr_t backend, const qtsa_matrix_desc *desc, uintptr_t *out_matrix);

qtsa_status qtsa_matrix_create(qtsa_backend backend, const qtsa_matrix_desc *desc, qtsa_matrix *out_matrix) {
    if (out_matrix)
        memset(out_matrix, 0, sizeof *out_matrix);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_matrix)
        return capi_refuse_null("out_matrix");
    uintptr_t made_matrix = 0;
    qtsa_status status = go_qtsa_matrix_create((uintptr_t)backend, desc, &made_matrix);
    if (status == QTSA_OK)
        *out_matrix = (qtsa_matrix)made_matrix;
    return status;
}

extern qtsa_status go_qtsa_matrix_free(uintptr_t matrix);

qtsa_status qtsa_matrix_free(qtsa_matrix matrix) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_matrix_free((uintptr_t)matrix);
}

extern qtsa_status go_qtsa_matrix_bytes(uintptr_t matrix, uint64_t *out_bytes);

qtsa_status qtsa_matrix_bytes(qtsa_matrix matrix, uint64_t *out_bytes) {
    if (out_bytes)
        memset(out_bytes, 0, sizeof *out_bytes);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_bytes)
        return capi_refuse_null("out_bytes");
    return go_qtsa_matrix_bytes((uintptr_t)matrix, out_bytes);
}

extern qtsa_status go_qtsa_matmul(uintptr_t backend, const float *x, int64_t t, int64_t n_in, const qtsa_product *products, size_t n_products, int32_t flags);

qtsa_status qtsa_matmul(qtsa_backend backend, const float *x, int64_t t, int64_t n_in, const qtsa_product *products, size_t n_products, int32_t flags) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_matmul((uintptr_t)backend, x, t, n_in, products, n_products, flags);
}

extern qtsa_status go_qtsa_conv2d(uintptr_t backend, const float *x, const qtsa_conv2d_geometry *geometry, const qtsa_conv2d_norm *norm, const qtsa_product *product, int32_t flags);

qtsa_status qtsa_conv2d(qtsa_backend backend, const float *x, const qtsa_conv2d_geometry *geometry, const qtsa_conv2d_norm *norm, const qtsa_product *product, int32_t flags) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_conv2d((uintptr_t)backend, x, geometry, norm, product, flags);
}

extern qtsa_status go_qtsa_attention(uintptr_t backend, const qtsa_attention_desc *desc, int32_t flags);

qtsa_status qtsa_attention(qtsa_backend backend, const qtsa_attention_desc *desc, int32_t flags) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_attention((uintptr_t)backend, desc, flags);
}

extern qtsa_status go_qtsa_op_run(uintptr_t backend, const char *op, const qtsa_operand *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, const qtsa_operand *outputs, size_t n_outputs, int32_t flags);

qtsa_status qtsa_op_run(qtsa_backend backend, const char *op, const qtsa_operand *inputs, size_t n_inputs, const qtsa_attr *attrs, size_t n_attrs, const qtsa_operand *outputs, size_t n_outputs, int32_t flags) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_op_run((uintptr_t)backend, op, inputs, n_inputs, attrs, n_attrs, outputs, n_outputs, flags);
}

extern qtsa_status go_qtsa_backend_wants(uintptr_t backend, const char *op, const int64_t *shape, size_t n_shape, int32_t *out_wants);

qtsa_status qtsa_backend_wants(qtsa_backend backend, const char *op, const int64_t *shape, size_t n_shape, int32_t *out_wants) {
    if (out_wants)
        memset(out_wants, 0, sizeof *out_wants);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_wants)
        return capi_refuse_null("out_wants");
    return go_qtsa_backend_wants((uintptr_t)backend, op, shape, n_shape, out_wants);
}

extern qtsa_status go_qtsa_backend_calibrate(uintptr_t backend, const qtsa_calibrate_options *options);

qtsa_status qtsa_backend_calibrate(qtsa_backend backend, const qtsa_calibrate_options *options) {
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    return go_qtsa_backend_calibrate((uintptr_t)backend, options);
}

extern qtsa_status go_qtsa_backend_stats_copy(uintptr_t backend, int32_t format, int32_t flags, char *buffer, size_t capacity, size_t *out_size);

qtsa_status qtsa_backend_stats_copy(qtsa_backend backend, int32_t format, int32_t flags, char *buffer, size_t capacity, size_t *out_size) {
    if (out_size)
        memset(out_size, 0, sizeof *out_size);
    if (capi_forked)
        return QTSA_ERR_FORKED;
    if (capi_callbacks)
        return capi_refuse_in_callback();
    if (!out_size)
        return capi_refuse_null("out_size");
    return go_qtsa_backend_stats_copy((uintptr_t)backend, format, flags, buffer, capacity, out_size);
}
