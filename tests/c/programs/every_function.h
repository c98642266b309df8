/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

/* Calls every function that gives a status, with the model's handles and otherwise with
 * nothing, and tells each status. For where all of them refuse. */
#ifndef TESTS_EVERY_FUNCTION_H
#define TESTS_EVERY_FUNCTION_H

#include "model.h"

static inline void every_function(const model *m, void (*told)(qtsa_status status, const char *function)) {
    told(qtsa_set_log_callback(NULL, NULL), "qtsa_set_log_callback");
    { size_t out_bytes; told(qtsa_tensor_bytes(0, NULL, 0, &out_bytes), "qtsa_tensor_bytes"); }
    { qtsa_backend out_backend; told(qtsa_backend_create(NULL, &out_backend), "qtsa_backend_create"); }
    told(qtsa_backend_free(m->backend), "qtsa_backend_free");
    { size_t out_size; told(qtsa_backend_report_copy(m->backend, 0, NULL, 0, &out_size), "qtsa_backend_report_copy"); }
    told(qtsa_backend_install(m->backend), "qtsa_backend_install");
    { qtsa_backend out_backend; told(qtsa_backend_get_active(&out_backend), "qtsa_backend_get_active"); }
    { size_t out_count; told(qtsa_devices_list(NULL, NULL, 0, &out_count), "qtsa_devices_list"); }
    { size_t out_size; told(qtsa_devices_report_copy(NULL, 0, NULL, 0, &out_size), "qtsa_devices_report_copy"); }
    { qtsa_weights out_weights; told(qtsa_weights_create(&out_weights), "qtsa_weights_create"); }
    { qtsa_weights out_weights; told(qtsa_weights_open(NULL, NULL, &out_weights), "qtsa_weights_open"); }
    { qtsa_weights_memory out_memory; told(qtsa_weights_plan_memory(NULL, NULL, &out_memory), "qtsa_weights_plan_memory"); }
    { size_t out_size; told(qtsa_weights_report_copy(m->weights, 0, NULL, 0, &out_size), "qtsa_weights_report_copy"); }
    told(qtsa_weights_free(m->weights), "qtsa_weights_free");
    told(qtsa_weights_upload(m->weights, m->backend, NULL), "qtsa_weights_upload");
    { uint64_t out_bytes; told(qtsa_weights_device_bytes(m->weights, m->backend, &out_bytes), "qtsa_weights_device_bytes"); }
    told(qtsa_weights_add(m->weights, NULL, NULL), "qtsa_weights_add");
    told(qtsa_weights_set(m->weights, NULL, NULL), "qtsa_weights_set");
    { qtsa_split_report out_report; told(qtsa_weights_add_split(m->weights, NULL, NULL, 0, &out_report), "qtsa_weights_add_split"); }
    { size_t out_tensors; size_t out_metadata; told(qtsa_weights_count(m->weights, &out_tensors, &out_metadata), "qtsa_weights_count"); }
    { qtsa_tensor_info out_info; told(qtsa_weights_info(m->weights, NULL, 0, &out_info), "qtsa_weights_info"); }
    { size_t out_size; told(qtsa_weights_name_copy(m->weights, 0, 0, NULL, 0, &out_size), "qtsa_weights_name_copy"); }
    { qtsa_metadata_info out_info; told(qtsa_weights_metadata_info(m->weights, NULL, &out_info), "qtsa_weights_metadata_info"); }
    { size_t out_count; told(qtsa_weights_metadata_get(m->weights, NULL, 0, NULL, 0, &out_count), "qtsa_weights_metadata_get"); }
    { size_t out_size; told(qtsa_weights_metadata_copy(m->weights, NULL, 0, NULL, 0, &out_size), "qtsa_weights_metadata_copy"); }
    told(qtsa_weights_save(m->weights, NULL, NULL, 0, NULL, NULL), "qtsa_weights_save");
    { qtsa_graph out_graph; told(qtsa_graph_create(NULL, &out_graph), "qtsa_graph_create"); }
    told(qtsa_graph_free(m->graph), "qtsa_graph_free");
    { int64_t out_dim; told(qtsa_graph_dim(m->graph, NULL, 0, 0, &out_dim), "qtsa_graph_dim"); }
    { int64_t out_dim; told(qtsa_graph_dim_op(m->graph, 0, 0, 0, &out_dim), "qtsa_graph_dim_op"); }
    { size_t out_size; told(qtsa_graph_dim_text_copy(m->graph, 0, NULL, 0, &out_size), "qtsa_graph_dim_text_copy"); }
    { qtsa_tensor out_tensor; told(qtsa_graph_input(m->graph, NULL, 0, NULL, 0, &out_tensor), "qtsa_graph_input"); }
    { qtsa_tensor out_tensor; told(qtsa_graph_weight(m->graph, m->weights, NULL, &out_tensor), "qtsa_graph_weight"); }
    { qtsa_tensor out_tensor; told(qtsa_graph_state(m->graph, NULL, 0, NULL, 0, &out_tensor), "qtsa_graph_state"); }
    told(qtsa_graph_op(m->graph, NULL, NULL, 0, NULL, 0, NULL, 0), "qtsa_graph_op");
    told(qtsa_graph_output(m->graph, NULL, 0), "qtsa_graph_output");
    { qtsa_tensor_info out_info; told(qtsa_graph_info(m->graph, 0, &out_info), "qtsa_graph_info"); }
    { qtsa_session out_session; told(qtsa_session_create(m->backend, &out_session), "qtsa_session_create"); }
    told(qtsa_session_free(m->session), "qtsa_session_free");
    told(qtsa_session_reset(m->session), "qtsa_session_reset");
    told(qtsa_session_read(m->session, NULL, 0, NULL, 0), "qtsa_session_read");
    told(qtsa_session_write(m->session, NULL, 0, NULL, 0), "qtsa_session_write");
    told(qtsa_session_cancel(m->session), "qtsa_session_cancel");
    { qtsa_plan out_plan; told(qtsa_plan_create(m->session, m->graph, NULL, &out_plan), "qtsa_plan_create"); }
    told(qtsa_plan_free(m->plan), "qtsa_plan_free");
    { size_t out_index; told(qtsa_plan_find(m->plan, 0, NULL, &out_index), "qtsa_plan_find"); }
    { qtsa_tensor_info out_info; told(qtsa_plan_info(m->plan, 0, 0, NULL, 0, &out_info), "qtsa_plan_info"); }
    told(qtsa_plan_prepare(m->plan, NULL, 0), "qtsa_plan_prepare");
    told(qtsa_plan_run(m->plan, NULL, 0, NULL, 0, NULL), "qtsa_plan_run");
    { size_t out_size; told(qtsa_plan_placement_copy(m->plan, 0, NULL, 0, &out_size), "qtsa_plan_placement_copy"); }
    { qtsa_matrix out_matrix; told(qtsa_matrix_create(m->backend, NULL, &out_matrix), "qtsa_matrix_create"); }
    told(qtsa_matrix_free(NULL), "qtsa_matrix_free");
    { uint64_t out_bytes; told(qtsa_matrix_bytes(NULL, &out_bytes), "qtsa_matrix_bytes"); }
    told(qtsa_matmul(m->backend, NULL, 0, 0, NULL, 0, 0), "qtsa_matmul");
    told(qtsa_conv2d(m->backend, NULL, NULL, NULL, NULL, 0), "qtsa_conv2d");
    told(qtsa_attention(m->backend, NULL, 0), "qtsa_attention");
    told(qtsa_op_run(m->backend, NULL, NULL, 0, NULL, 0, NULL, 0, 0), "qtsa_op_run");
    { int32_t out_wants; told(qtsa_backend_wants(m->backend, NULL, NULL, 0, &out_wants), "qtsa_backend_wants"); }
    told(qtsa_backend_calibrate(m->backend, NULL), "qtsa_backend_calibrate");
    { size_t out_size; told(qtsa_backend_stats_copy(m->backend, 0, 0, NULL, 0, &out_size), "qtsa_backend_stats_copy"); }
}

#endif
