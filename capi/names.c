/* Made by capi/gen from include/qtsaccel.h; do not edit. */
/* clang-format off */

#include "qtsaccel.h"

const char *qtsa_status_name(qtsa_status status) {
    switch (status) {
    case QTSA_OK:
        return "OK";
    case QTSA_ERR_INVALID_ARGUMENT:
        return "INVALID_ARGUMENT";
    case QTSA_ERR_INVALID_HANDLE:
        return "INVALID_HANDLE";
    case QTSA_ERR_SHAPE_MISMATCH:
        return "SHAPE_MISMATCH";
    case QTSA_ERR_UNSUPPORTED:
        return "UNSUPPORTED";
    case QTSA_ERR_NOT_FOUND:
        return "NOT_FOUND";
    case QTSA_ERR_OUT_OF_MEMORY:
        return "OUT_OF_MEMORY";
    case QTSA_ERR_IO:
        return "IO";
    case QTSA_ERR_CORRUPT:
        return "CORRUPT";
    case QTSA_ERR_DEVICE_UNAVAILABLE:
        return "DEVICE_UNAVAILABLE";
    case QTSA_ERR_DEVICE_LOST:
        return "DEVICE_LOST";
    case QTSA_ERR_BUSY:
        return "BUSY";
    case QTSA_ERR_CANCELLED:
        return "CANCELLED";
    case QTSA_ERR_FORKED:
        return "FORKED";
    case QTSA_ERR_NOT_WORTHWHILE:
        return "NOT_WORTHWHILE";
    case QTSA_ERR_ALREADY_EXISTS:
        return "ALREADY_EXISTS";
    case QTSA_ERR_INVALID_STATE:
        return "INVALID_STATE";
    case QTSA_ERR_TIMEOUT:
        return "TIMEOUT";
    case QTSA_ERR_VERSION_MISMATCH:
        return "VERSION_MISMATCH";
    case QTSA_ERR_INTERNAL:
        return "INTERNAL";
    }
    return "UNKNOWN";
}

const char *qtsa_dtype_name(qtsa_dtype dtype) {
    switch (dtype) {
    case QTSA_DTYPE_FOREIGN:
        return "foreign";
    case QTSA_DTYPE_F32:
        return "f32";
    case QTSA_DTYPE_F16:
        return "f16";
    case QTSA_DTYPE_BF16:
        return "bf16";
    case QTSA_DTYPE_I8:
        return "i8";
    case QTSA_DTYPE_I16:
        return "i16";
    case QTSA_DTYPE_I32:
        return "i32";
    case QTSA_DTYPE_I64:
        return "i64";
    case QTSA_DTYPE_Q8_0:
        return "q8_0";
    case QTSA_DTYPE_Q4_0:
        return "q4_0";
    case QTSA_DTYPE_Q4_1:
        return "q4_1";
    case QTSA_DTYPE_Q5_0:
        return "q5_0";
    case QTSA_DTYPE_Q5_1:
        return "q5_1";
    case QTSA_DTYPE_IQ4_NL:
        return "iq4_nl";
    case QTSA_DTYPE_MXFP4:
        return "mxfp4";
    case QTSA_DTYPE_Q2_K:
        return "q2_K";
    case QTSA_DTYPE_Q3_K:
        return "q3_K";
    case QTSA_DTYPE_Q4_K:
        return "q4_K";
    case QTSA_DTYPE_Q5_K:
        return "q5_K";
    case QTSA_DTYPE_Q6_K:
        return "q6_K";
    }
    return "invalid";
}
