"""Another ggml, opened with global symbols before or after this package: both give right products.

two_copies.py before|after BASE CPU
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

# Small whole numbers, so that every order of summation gives the same.
X = np.arange(3 * 64, dtype=np.float32).reshape(3, 64) % 11 - 5
W = np.arange(5 * 64, dtype=np.float32).reshape(5, 64) % 7 - 3


class Params(ctypes.Structure):
    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


def others(base: str, cpu: str) -> None:
    """A product by the other copy."""
    libraries = [ctypes.CDLL(f, ctypes.RTLD_GLOBAL) for f in (base, cpu)]
    p, i64 = ctypes.c_void_p, ctypes.c_int64

    def call(name: str, result: object, types: list[object], *args: object) -> object:
        f = getattr(libraries[name == "ggml_graph_compute_with_ctx"], name)
        f.restype, f.argtypes = result, types
        return f(*args)

    def matrix(values: np.ndarray) -> object:
        t = call("ggml_new_tensor_2d", p, [p, ctypes.c_int, i64, i64], context, 0, values.shape[1], values.shape[0])
        ctypes.memmove(call("ggml_get_data", p, [p], t), values.ctypes.data, values.nbytes)
        return t

    context = call("ggml_init", p, [Params], Params(16 << 20, None, False))
    y = call("ggml_mul_mat", p, [p] * 3, context, matrix(W), matrix(X))
    graph = call("ggml_new_graph", p, [p], context)
    call("ggml_build_forward_expand", None, [p, p], graph, y)
    assert call("ggml_graph_compute_with_ctx", ctypes.c_int, [p, p, ctypes.c_int], context, graph, 1) == 0
    got = np.empty((3, 5), np.float32)
    ctypes.memmove(got.ctypes.data, call("ggml_get_data", p, [p], y), got.nbytes)
    np.testing.assert_array_equal(got, X @ W.T)
    call("ggml_free", None, [p], context)


def ours() -> None:
    """The same by this package's."""
    import qtsaccel as qa

    g = qa.Graph()
    g.output("y", qa.ops.linear(g.input("x", "f32", X.shape), W))
    np.testing.assert_array_equal(qa.Backend("cpu").session().plan(g).run({"x": X})["y"], X @ W.T)


if __name__ == "__main__":
    moment, *files = sys.argv[1:]
    if moment == "before":
        others(*files)
    ours()
    others(*files)
    ours()
    print("both are right")
