/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

/* cgo has no const; these names carry it into the declarations of Go exports. */
#ifndef QTSACCEL_CAPI_CONST_TYPES_H
#define QTSACCEL_CAPI_CONST_TYPES_H

#include "qtsaccel.h"

typedef const char const_char;
typedef const float const_float;
typedef const int64_t const_int64_t;
typedef const qtsa_array const_array;
typedef const qtsa_attention_desc const_attention_desc;
typedef const qtsa_attr const_attr;
typedef const qtsa_backend_options const_backend_options;
typedef const qtsa_calibrate_options const_calibrate_options;
typedef const qtsa_conv2d_geometry const_conv2d_geometry;
typedef const qtsa_conv2d_norm const_conv2d_norm;
typedef const qtsa_input const_input;
typedef const qtsa_matrix_desc const_matrix_desc;
typedef const qtsa_operand const_operand;
typedef const qtsa_output const_output;
typedef const qtsa_plan_options const_plan_options;
typedef const qtsa_product const_product;
typedef const qtsa_run_options const_run_options;
typedef const qtsa_split_matrix const_split_matrix;
typedef const qtsa_tensor const_tensor;
typedef const qtsa_upload_options const_upload_options;
typedef const qtsa_weights_options const_weights_options;

#endif
