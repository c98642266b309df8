"""qtsaccel: run neural-network graphs on CPU, Vulkan, CUDA or Metal, with ggml's kernels.

    import numpy as np
    import qtsaccel as qa
    from qtsaccel import ops

    backend = qa.Backend()                            # the fastest device there is
    weights = qa.Weights.open("model.gguf")
    graph = qa.Graph("head")
    x = graph.input("x", np.float32, (1, 64))
    y = ops.silu(ops.linear(x, graph.weight(weights, "output.weight")) + 0.5)
    graph.output("y", y)
    plan = backend.session().plan(graph)
    y = plan.run({"x": np.zeros((1, 64), np.float32)})["y"]

Errors are qtsaccel.Error, with status and message. Every object may be used from
every thread, and the GIL is free while a run computes. Not across fork(): in a child
of multiprocessing's "fork" every call raises FORKED; use "spawn".
"""

from . import ops
from ._backend import Backend, active, install
from ._bindings import DType, Status, Timing
from ._calls import Matrix, Norm, Product, Threshold
from ._device import Device, device_report, devices
from ._dim import Dim
from ._errors import (
    Cancelled,
    Corrupt,
    DeviceLost,
    DeviceUnavailable,
    Error,
    FileError,
    Forked,
    InvalidArgument,
    MissingFile,
    NotFound,
    NotPermitted,
    NotWorthwhile,
    OutOfMemory,
    ShapeMismatch,
    Timeout,
    Unsupported,
)
from ._graph import Graph, Tensor
from ._library import path as library_path
from ._library import set_log_callback, version
from ._report import Report
from ._session import Plan, Session
from ._split import SplitMatrix, SplitReport
from ._weights import Rule, TensorInfo, Weights, WeightsMemory

__version__ = "0.2.0"

__all__ = [
    "Backend",
    "Cancelled",
    "Corrupt",
    "DType",
    "Device",
    "DeviceLost",
    "DeviceUnavailable",
    "Dim",
    "Error",
    "FileError",
    "Forked",
    "Graph",
    "InvalidArgument",
    "Matrix",
    "MissingFile",
    "Norm",
    "NotFound",
    "NotPermitted",
    "NotWorthwhile",
    "OutOfMemory",
    "Plan",
    "Product",
    "Report",
    "Rule",
    "Session",
    "ShapeMismatch",
    "SplitMatrix",
    "SplitReport",
    "Status",
    "Tensor",
    "TensorInfo",
    "Threshold",
    "Timeout",
    "Timing",
    "Unsupported",
    "Weights",
    "WeightsMemory",
    "active",
    "device_report",
    "devices",
    "install",
    "library_path",
    "ops",
    "set_log_callback",
    "version",
]
