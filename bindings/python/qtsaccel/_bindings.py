# Made by capi/gen from include/qtsaccel.h and the operator table; do not edit.
"""The C API for ctypes, name by name: the header has the words."""

from __future__ import annotations

import enum
from collections.abc import Callable
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint64,
    c_void_p,
)
from typing import Any, ClassVar

VERSION_MAJOR = 0
VERSION_MINOR = 2
VERSION_PATCH = 0
MAX_RANK = 4
MAX_THREADS = 512
WHOLE = -1
NONE = -1
LOG_DEBUG = 1
LOG_INFO = 2
LOG_WARN = 3
LOG_ERROR = 4
ATTR_INT = 1
ATTR_FLOAT = 2
ATTR_STRING = 3
ATTR_INTS = 4
ATTR_FLOATS = 5
REPACK_AUTO = 0
REPACK_NEVER = 1
FORMAT_TEXT = 0
FORMAT_JSON = 1
DEVICE_CPU = 1
DEVICE_DISCRETE = 2
DEVICE_INTEGRATED = 3
DEVICE_SOFTWARE = 4
PLACEMENT_AUTO = 0
PLACEMENT_COPIED = 1
PLACEMENT_MAPPED = 2
RULE_SKIP = 1
NIBBLES_LOW_FIRST = 0
NIBBLES_HIGH_FIRST = 1
NIBBLES_HALVES = 2
NAME_TENSOR = 1
NAME_METADATA = 2
METADATA_INT = 1
METADATA_FLOAT = 2
METADATA_BOOL = 3
METADATA_STRING = 4
METADATA_ARRAY = 5
DIM_ADD = 1
DIM_SUB = 2
DIM_MUL = 3
DIM_DIV = 4
INPUT = 1
OUTPUT = 2
ONLY_IF_WORTHWHILE = 1
ON_CPU_IF_DECLINED = 2
ACTIVATION_NONE = 0
ACTIVATION_RELU = 1
ACTIVATION_SILU = 2
ACTIVATION_GELU = 3
ACTIVATION_GELU_TANH = 4
ACTIVATION_SIGMOID = 5
ACTIVATION_TANH = 6
NORM_NONE = 0
NORM_GROUP = 1
NORM_LAYER = 2
CALIBRATE_AUTO = 0
CALIBRATE_FORCE = 1
CALIBRATE_OFF = 2
CALIBRATE_KEEP = 3
STATS_RESET = 1


class Status(enum.IntEnum):
    """The result of a call."""

    OK = 0
    INVALID_ARGUMENT = -1
    INVALID_HANDLE = -2
    SHAPE_MISMATCH = -3
    UNSUPPORTED = -4
    NOT_FOUND = -5
    OUT_OF_MEMORY = -6
    IO = -7
    CORRUPT = -8
    DEVICE_UNAVAILABLE = -9
    DEVICE_LOST = -10
    BUSY = -11
    CANCELLED = -12
    FORKED = -13
    NOT_WORTHWHILE = -14
    ALREADY_EXISTS = -15
    INVALID_STATE = -16
    TIMEOUT = -17
    VERSION_MISMATCH = -18
    INTERNAL = -19


class DType(enum.IntEnum):
    """The type of a tensor's elements."""

    FOREIGN = 0
    F32 = 1
    F16 = 2
    BF16 = 3
    I8 = 8
    I16 = 9
    I32 = 10
    I64 = 11
    Q8_0 = 32
    Q4_0 = 33
    Q4_1 = 34
    Q5_0 = 35
    Q5_1 = 36
    IQ4_NL = 64
    MXFP4 = 65
    Q2_K = 48
    Q3_K = 49
    Q4_K = 50
    Q5_K = 51
    Q6_K = 52


LogCallback = CFUNCTYPE(None, c_int32, c_char_p, c_void_p)

ProgressCallback = CFUNCTYPE(c_int32, c_uint64, c_uint64, c_void_p)

ReleaseCallback = CFUNCTYPE(None, c_void_p)


class Attr(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("name", c_char_p),
        ("type", c_int32),
        ("count", c_int32),
        ("i", c_int64),
        ("f", c_double),
        ("s", c_char_p),
        ("ints", POINTER(c_int64)),
        ("floats", POINTER(c_double)),
    ]


class BackendOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("backend", c_char_p),
        ("plugin_dir", c_char_p),
        ("threads", c_int32),
        ("debug", c_int32),
        ("fallback", c_char_p),
        ("device", c_char_p),
        ("probe", c_char_p),
        ("repack", c_int32),
        ("reserved", c_int32),
        ("weights_budget_bytes", c_uint64),
    ]


class Device(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("kind", c_int32),
        ("usable", c_int32),
        ("memory_total", c_uint64),
        ("memory_free", c_uint64),
        ("apis", c_char * 64),
        ("name", c_char * 128),
        ("driver", c_char * 128),
        ("pci", c_char * 32),
        ("uuid", c_char * 48),
        ("problem", c_char * 512),
    ]


class TensorInfo(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 4),
        ("bytes", c_uint64),
    ]


class WeightsRule(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("pattern", c_char_p),
        ("rename", c_char_p),
        ("dtype", c_int32),
        ("flags", c_int32),
    ]


class Importance(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("columns", POINTER(c_float)),
        ("n_columns", c_size_t),
    ]


class WeightsOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("placement", c_int32),
        ("reserved", c_int32),
        ("budget_bytes", c_uint64),
        ("rules", POINTER(WeightsRule)),
        ("n_rules", c_size_t),
        ("progress", ProgressCallback),
        ("user", c_void_p),
        ("importance", POINTER(Importance)),
        ("n_importance", c_size_t),
    ]


class WeightsMemory(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("tensors", c_uint64),
        ("file_bytes", c_uint64),
        ("memory_bytes", c_uint64),
        ("mapped_bytes", c_uint64),
    ]


class UploadOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("patterns", POINTER(c_char_p)),
        ("n_patterns", c_size_t),
        ("progress", ProgressCallback),
        ("user", c_void_p),
    ]


class Array(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 4),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("strides", POINTER(c_int64)),
        ("release", ReleaseCallback),
        ("user", c_void_p),
    ]


class SplitMatrix(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("n_out", c_int64),
        ("n_in", c_int64),
        ("block", c_int64),
        ("bits", c_int32),
        ("is_signed", c_int32),
        ("zero", c_int32),
        ("nibbles", c_int32),
        ("levels", c_void_p),
        ("level_row", c_int64),
        ("level_byte", c_int64),
        ("scales", c_void_p),
        ("offsets", c_void_p),
        ("scale_row", c_int64),
        ("scale_column", c_int64),
        ("scale_dtype", c_int32),
        ("reserved", c_int32),
    ]


class SplitReport(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("dtype", c_int32),
        ("exact", c_int32),
        ("bytes", c_uint64),
        ("max_absolute_error", c_double),
        ("max_relative_error", c_double),
    ]


class MetadataInfo(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("type", c_int32),
        ("is_array", c_int32),
        ("count", c_uint64),
        ("stored", c_char * 16),
    ]


class PlanOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("max_instances", c_int32),
        ("strict", c_int32),
    ]


class Input(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("data", c_void_p),
        ("bytes", c_size_t),
    ]


class Output(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("data", c_void_p),
        ("bytes", c_size_t),
    ]


class Timing(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("upload_ns", c_uint64),
        ("compute_ns", c_uint64),
        ("download_ns", c_uint64),
    ]


class RunOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("dims", POINTER(c_int64)),
        ("n_dims", c_size_t),
        ("threads", c_int32),
        ("reserved", c_int32),
        ("timing", POINTER(Timing)),
    ]


class MatrixDesc(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 4),
        ("data", c_void_p),
        ("bytes", c_size_t),
        ("weights", c_void_p),
        ("name", c_char_p),
        ("split", POINTER(SplitMatrix)),
        ("report", POINTER(SplitReport)),
    ]


class Product(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("weight", c_void_p),
        ("bias", POINTER(c_float)),
        ("y", POINTER(c_float)),
        ("n_out", c_int64),
        ("activation", c_int32),
        ("reserved", c_int32),
    ]


class Conv2dGeometry(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("h", c_int64),
        ("w", c_int64),
        ("c_in", c_int64),
        ("k", c_int64),
        ("stride", c_int64),
        ("oh", c_int64),
        ("ow", c_int64),
    ]


class Conv2dNorm(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("kind", c_int32),
        ("silu", c_int32),
        ("groups", c_int64),
        ("eps", c_double),
        ("gamma", POINTER(c_float)),
        ("beta", POINTER(c_float)),
    ]


class AttentionDesc(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("q", POINTER(c_float)),
        ("k", POINTER(c_float)),
        ("v", POINTER(c_float)),
        ("out", POINTER(c_float)),
        ("tq", c_int64),
        ("tk", c_int64),
        ("heads", c_int64),
        ("kv_heads", c_int64),
        ("head_dim", c_int64),
        ("window", c_int64),
        ("scale", c_double),
        ("causal", c_int32),
        ("reserved", c_int32),
    ]


class Operand(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("shape", c_int64 * 4),
        ("data", c_void_p),
        ("matrix", c_void_p),
    ]


class Threshold(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("op", c_char_p),
        ("min_flops", c_double),
        ("flops_per_byte", c_double),
    ]


class CalibrateOptions(Structure):
    _fields_: ClassVar[list[Any]] = [
        ("struct_size", c_size_t),
        ("how", c_int32),
        ("reserved", c_int32),
        ("thresholds", POINTER(Threshold)),
        ("n_thresholds", c_size_t),
    ]


# How many outputs an operator has, and the ATTR_* of its attributes.
OPERATORS: dict[str, tuple[int, dict[str, int]]] = {
    "abs": (1, {}),
    "add": (1, {}),
    "arange": (1, {"count": 1, "start": 2, "step": 2}),
    "argmax": (1, {"axis": 1}),
    "attention": (1, {"scale": 2, "causal": 1, "window": 1}),
    "cast": (1, {"dtype": 3}),
    "clamp": (1, {"min": 2, "max": 2}),
    "concat": (1, {"axis": 1}),
    "conv1d": (1, {"stride": 1, "padding": 4, "dilation": 1, "groups": 1}),
    "conv2d": (1, {"stride": 4, "padding": 4, "dilation": 4, "groups": 1}),
    "conv_transpose1d": (1, {"stride": 1, "padding": 4, "output_padding": 1, "dilation": 1, "groups": 1}),
    "cos": (1, {}),
    "cumsum": (1, {"axis": 1}),
    "depth_to_space": (1, {"block": 1, "mode": 3}),
    "div": (1, {}),
    "elu": (1, {"alpha": 2}),
    "embedding": (1, {}),
    "exp": (1, {}),
    "expand": (1, {"shape": 4}),
    "gelu": (1, {"approximate": 3}),
    "glu": (1, {"axis": 1}),
    "group_norm": (1, {"groups": 1, "eps": 2}),
    "layer_norm": (1, {"eps": 2}),
    "leaky_relu": (1, {"negative_slope": 2}),
    "linear": (1, {}),
    "log": (1, {}),
    "log_softmax": (1, {"axis": 1}),
    "lstm_cell": (2, {}),
    "matmul": (1, {}),
    "maximum": (1, {}),
    "minimum": (1, {}),
    "mul": (1, {}),
    "neg": (1, {}),
    "pad": (1, {"pads": 4, "mode": 3, "value": 2}),
    "reduce_max": (1, {"axis": 1, "keepdims": 1}),
    "reduce_mean": (1, {"axis": 1, "keepdims": 1}),
    "reduce_sum": (1, {"axis": 1, "keepdims": 1}),
    "relu": (1, {}),
    "reshape": (1, {"shape": 4}),
    "rms_norm": (1, {"eps": 2}),
    "rope": (1, {"base": 2, "mode": 3, "dims": 1, "scale": 2}),
    "scale": (1, {"scale": 2, "bias": 2}),
    "sigmoid": (1, {}),
    "silu": (1, {}),
    "sin": (1, {}),
    "slice": (1, {"axis": 1, "start": 1, "end": 1, "step": 1}),
    "snake": (1, {}),
    "softmax": (1, {"axis": 1}),
    "softplus": (1, {}),
    "sqrt": (1, {}),
    "square": (1, {}),
    "state_write": (1, {}),
    "step": (1, {}),
    "sub": (1, {}),
    "swiglu": (1, {}),
    "tanh": (1, {}),
    "top_k": (2, {"k": 1}),
    "transpose": (1, {"axes": 4}),
    "upsample": (1, {"scale": 4, "mode": 3}),
    "where": (1, {}),
}


class Api:
    """The functions of a library that is loaded; a missing one is an AttributeError."""

    def __init__(self, library: CDLL) -> None:
        def function(name: str, result: Any, *parameters: Any) -> Callable[..., Any]:
            f = getattr(library, name)
            f.restype, f.argtypes = result, parameters
            return f  # type: ignore[no-any-return]

        self.status_name = function("qtsa_status_name", c_char_p, c_int32)
        self.last_error = function("qtsa_last_error", c_char_p)
        self.version = function("qtsa_version", c_int32)
        self.set_log_callback = function("qtsa_set_log_callback", c_int32, LogCallback, c_void_p)
        self.dtype_name = function("qtsa_dtype_name", c_char_p, c_int32)
        self.tensor_bytes = function("qtsa_tensor_bytes", c_int32, c_int32, POINTER(c_int64), c_int32, POINTER(c_size_t))
        self.backend_create = function("qtsa_backend_create", c_int32, POINTER(BackendOptions), POINTER(c_void_p))
        self.backend_free = function("qtsa_backend_free", c_int32, c_void_p)
        self.backend_report_copy = function("qtsa_backend_report_copy", c_int32, c_void_p, c_int32, c_char_p, c_size_t, POINTER(c_size_t))
        self.backend_install = function("qtsa_backend_install", c_int32, c_void_p)
        self.backend_get_active = function("qtsa_backend_get_active", c_int32, POINTER(c_void_p))
        self.devices_list = function("qtsa_devices_list", c_int32, POINTER(BackendOptions), POINTER(Device), c_size_t, POINTER(c_size_t))
        self.devices_report_copy = function("qtsa_devices_report_copy", c_int32, POINTER(BackendOptions), c_int32, c_char_p, c_size_t, POINTER(c_size_t))
        self.weights_create = function("qtsa_weights_create", c_int32, POINTER(c_void_p))
        self.weights_open = function("qtsa_weights_open", c_int32, c_char_p, POINTER(WeightsOptions), POINTER(c_void_p))
        self.weights_plan_memory = function("qtsa_weights_plan_memory", c_int32, c_char_p, POINTER(WeightsOptions), POINTER(WeightsMemory))
        self.weights_report_copy = function("qtsa_weights_report_copy", c_int32, c_void_p, c_int32, c_char_p, c_size_t, POINTER(c_size_t))
        self.weights_free = function("qtsa_weights_free", c_int32, c_void_p)
        self.weights_upload = function("qtsa_weights_upload", c_int32, c_void_p, c_void_p, POINTER(UploadOptions))
        self.weights_device_bytes = function("qtsa_weights_device_bytes", c_int32, c_void_p, c_void_p, POINTER(c_uint64))
        self.weights_add = function("qtsa_weights_add", c_int32, c_void_p, c_char_p, POINTER(Array))
        self.weights_set = function("qtsa_weights_set", c_int32, c_void_p, c_char_p, POINTER(Array))
        self.weights_add_split = function("qtsa_weights_add_split", c_int32, c_void_p, c_char_p, POINTER(SplitMatrix), c_int32, POINTER(SplitReport))
        self.weights_count = function("qtsa_weights_count", c_int32, c_void_p, POINTER(c_size_t), POINTER(c_size_t))
        self.weights_info = function("qtsa_weights_info", c_int32, c_void_p, c_char_p, c_size_t, POINTER(TensorInfo))
        self.weights_name_copy = function("qtsa_weights_name_copy", c_int32, c_void_p, c_int32, c_size_t, c_char_p, c_size_t, POINTER(c_size_t))
        self.weights_metadata_info = function("qtsa_weights_metadata_info", c_int32, c_void_p, c_char_p, POINTER(MetadataInfo))
        self.weights_metadata_get = function("qtsa_weights_metadata_get", c_int32, c_void_p, c_char_p, c_int32, c_void_p, c_size_t, POINTER(c_size_t))
        self.weights_metadata_copy = function("qtsa_weights_metadata_copy", c_int32, c_void_p, c_char_p, c_int64, c_char_p, c_size_t, POINTER(c_size_t))
        self.weights_save = function("qtsa_weights_save", c_int32, c_void_p, c_char_p, POINTER(Attr), c_size_t, ProgressCallback, c_void_p)
        self.graph_create = function("qtsa_graph_create", c_int32, c_char_p, POINTER(c_void_p))
        self.graph_free = function("qtsa_graph_free", c_int32, c_void_p)
        self.graph_dim = function("qtsa_graph_dim", c_int32, c_void_p, c_char_p, c_int64, c_int64, POINTER(c_int64))
        self.graph_dim_op = function("qtsa_graph_dim_op", c_int32, c_void_p, c_int32, c_int64, c_int64, POINTER(c_int64))
        self.graph_dim_text_copy = function("qtsa_graph_dim_text_copy", c_int32, c_void_p, c_int64, c_char_p, c_size_t, POINTER(c_size_t))
        self.graph_input = function("qtsa_graph_input", c_int32, c_void_p, c_char_p, c_int32, POINTER(c_int64), c_int32, POINTER(c_int64))
        self.graph_weight = function("qtsa_graph_weight", c_int32, c_void_p, c_void_p, c_char_p, POINTER(c_int64))
        self.graph_state = function("qtsa_graph_state", c_int32, c_void_p, c_char_p, c_int32, POINTER(c_int64), c_int32, POINTER(c_int64))
        self.graph_op = function("qtsa_graph_op", c_int32, c_void_p, c_char_p, POINTER(c_int64), c_size_t, POINTER(Attr), c_size_t, POINTER(c_int64), c_size_t)
        self.graph_output = function("qtsa_graph_output", c_int32, c_void_p, c_char_p, c_int64)
        self.graph_info = function("qtsa_graph_info", c_int32, c_void_p, c_int64, POINTER(TensorInfo))
        self.session_create = function("qtsa_session_create", c_int32, c_void_p, POINTER(c_void_p))
        self.session_free = function("qtsa_session_free", c_int32, c_void_p)
        self.session_reset = function("qtsa_session_reset", c_int32, c_void_p)
        self.session_read = function("qtsa_session_read", c_int32, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t)
        self.session_write = function("qtsa_session_write", c_int32, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t)
        self.session_cancel = function("qtsa_session_cancel", c_int32, c_void_p)
        self.plan_create = function("qtsa_plan_create", c_int32, c_void_p, c_void_p, POINTER(PlanOptions), POINTER(c_void_p))
        self.plan_free = function("qtsa_plan_free", c_int32, c_void_p)
        self.plan_find = function("qtsa_plan_find", c_int32, c_void_p, c_int32, c_char_p, POINTER(c_size_t))
        self.plan_info = function("qtsa_plan_info", c_int32, c_void_p, c_int32, c_size_t, POINTER(c_int64), c_size_t, POINTER(TensorInfo))
        self.plan_prepare = function("qtsa_plan_prepare", c_int32, c_void_p, POINTER(c_int64), c_size_t)
        self.plan_run = function("qtsa_plan_run", c_int32, c_void_p, POINTER(Input), c_size_t, POINTER(Output), c_size_t, POINTER(RunOptions))
        self.plan_placement_copy = function("qtsa_plan_placement_copy", c_int32, c_void_p, c_int32, c_char_p, c_size_t, POINTER(c_size_t))
        self.matrix_create = function("qtsa_matrix_create", c_int32, c_void_p, POINTER(MatrixDesc), POINTER(c_void_p))
        self.matrix_free = function("qtsa_matrix_free", c_int32, c_void_p)
        self.matrix_bytes = function("qtsa_matrix_bytes", c_int32, c_void_p, POINTER(c_uint64))
        self.matmul = function("qtsa_matmul", c_int32, c_void_p, POINTER(c_float), c_int64, c_int64, POINTER(Product), c_size_t, c_int32)
        self.conv2d = function("qtsa_conv2d", c_int32, c_void_p, POINTER(c_float), POINTER(Conv2dGeometry), POINTER(Conv2dNorm), POINTER(Product), c_int32)
        self.attention = function("qtsa_attention", c_int32, c_void_p, POINTER(AttentionDesc), c_int32)
        self.op_run = function("qtsa_op_run", c_int32, c_void_p, c_char_p, POINTER(Operand), c_size_t, POINTER(Attr), c_size_t, POINTER(Operand), c_size_t, c_int32)
        self.backend_wants = function("qtsa_backend_wants", c_int32, c_void_p, c_char_p, POINTER(c_int64), c_size_t, POINTER(c_int32))
        self.backend_calibrate = function("qtsa_backend_calibrate", c_int32, c_void_p, POINTER(CalibrateOptions))
        self.backend_stats_copy = function("qtsa_backend_stats_copy", c_int32, c_void_p, c_int32, c_int32, c_char_p, c_size_t, POINTER(c_size_t))
