"""Operator-level calls: single operators on a backend, arrays in and out."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np

from . import _bindings
from ._arrays import Array, DTypeLike, as_array, check_shape, dtype_of, host_array, numpy_dtype, pointer, shape_text
from ._bindings import DType
from ._errors import chosen, invalid, mismatch
from ._graph import Graph, Tensor
from ._handle import Handle
from ._library import api, check, sized, text_of
from ._report import Report
from ._split import SplitMatrix, SplitReport
from ._weights import Attributes, Weights, c_attrs, c_shape

_F32 = np.dtype(np.float32)
_ACTIVATIONS = {
    "none": _bindings.ACTIVATION_NONE,
    "relu": _bindings.ACTIVATION_RELU,
    "silu": _bindings.ACTIVATION_SILU,
    "gelu": _bindings.ACTIVATION_GELU,
    "gelu_tanh": _bindings.ACTIVATION_GELU_TANH,
    "sigmoid": _bindings.ACTIVATION_SIGMOID,
    "tanh": _bindings.ACTIVATION_TANH,
}
_NORMS = {"none": _bindings.NORM_NONE, "group": _bindings.NORM_GROUP, "layer": _bindings.NORM_LAYER}
_CALIBRATE = {
    "auto": _bindings.CALIBRATE_AUTO,
    "force": _bindings.CALIBRATE_FORCE,
    "off": _bindings.CALIBRATE_OFF,
    "keep": _bindings.CALIBRATE_KEEP,
}


class Matrix(Handle):
    """A weight of the calls on one backend, made by Backend.matrix()."""

    _release = api.matrix_free

    split: SplitReport | None = None  # of one that was made of a SplitMatrix: what became of it

    def __init__(self, backend: Handle, desc: _bindings.MatrixDesc, dtype: DType, shape: tuple[int, ...]) -> None:
        self.dtype, self.shape = dtype, shape
        self._make(api.matrix_create, backend._value, ctypes.byref(desc))

    @property
    def nbytes(self) -> int:
        """What it takes on its device."""
        n = ctypes.c_uint64()
        check(api.matrix_bytes(self._value, ctypes.byref(n)))
        return n.value

    def __repr__(self) -> str:
        kind = f"{self.dtype.name.lower()} {shape_text(self.shape)}"
        return f"<Matrix {kind}, closed>" if self.closed else f"<Matrix {kind}>"


@dataclass(frozen=True)
class Product:
    """A product or convolution: activation(x weight^T + bias)."""

    weight: Matrix
    bias: object = None  # [n_out]
    activation: str = "none"  # "relu", "silu", "gelu", "gelu_tanh", "sigmoid", "tanh"


@dataclass(frozen=True)
class Norm:
    """What a convolution does to its input as it loads it."""

    kind: str = "none"  # "group": over a group's channels of all pixels; "layer": over each pixel's channels
    groups: int = 1
    eps: float = 1e-5
    gamma: object = None  # [c_in]; None: 1
    beta: object = None  # [c_in]; None: 0
    silu: bool = False  # x * sigmoid(x) afterwards


class Threshold(NamedTuple):
    """A call is worthwhile whose operations are at least min_flops + flops_per_byte * the bytes that it moves."""

    min_flops: float
    flops_per_byte: float


def _flags(only_if_worthwhile: bool, on_cpu_if_declined: bool) -> int:
    return (_bindings.ONLY_IF_WORTHWHILE if only_if_worthwhile else 0) | (
        _bindings.ON_CPU_IF_DECLINED if on_cpu_if_declined else 0
    )


def _floats(array: Array | None) -> Any:
    """A contiguous f32 array as C takes it; it must be held for the call."""
    return None if array is None else ctypes.cast(pointer(array), ctypes.POINTER(ctypes.c_float))


def _optional(value: object, length: int, what: str) -> Array | None:
    if value is None:
        return None
    array = host_array(value, _F32, what)
    check_shape(array.shape, (length,), what)
    return array


class _Products:
    """Products as C has them, with the arrays that they write."""

    def __init__(self, products: Sequence[Matrix | Product], shape: tuple[int, ...]) -> None:
        self.c = sized((_bindings.Product * max(len(products), 1))())
        self.y: list[Array] = []
        self._held: list[Array | None] = []
        for i, (c, product) in enumerate(zip(self.c, products)):
            if isinstance(product, Matrix):
                product = Product(product)
            n_out = product.weight.shape[0]
            bias = _optional(product.bias, n_out, f"the bias of product {i}")
            y = np.empty((*shape, n_out), _F32)
            c.weight, c.bias, c.y, c.n_out = product.weight._value, _floats(bias), _floats(y), n_out
            c.activation = chosen(_ACTIVATIONS, product.activation, "activation")
            self.y.append(y)
            self._held.append(bias)


class _Recorder(Graph):
    """A graph that tells which operator was added to it."""

    def __init__(self) -> None:
        super().__init__("operator")
        self.calls: list[tuple[str, list[int], Attributes, tuple[Tensor, ...]]] = []

    def _add(self, name: str, inputs: Sequence[Tensor | None], attrs: Attributes, outputs: int) -> tuple[Tensor, ...]:
        made = super()._add(name, inputs, attrs, outputs)
        self.calls.append((name, [_bindings.NONE if t is None else t.index for t in inputs], attrs, made))
        return made


class _Recipe(NamedTuple):
    """How to run an operator on operands of given types: built once for each kind of call."""

    name: bytes
    inputs: list[int]  # which operand each input is; NONE: left out
    attrs: Any
    n_attrs: int
    outputs: list[tuple[DType, tuple[int, ...]]]


_recipes: dict[Any, _Recipe] = {}  # by all that a recipe depends on

Operator = Callable[..., Tensor | tuple[Tensor, ...]]


def _is_operand(value: object) -> bool:
    return isinstance(value, (Matrix, np.ndarray, np.generic)) or hasattr(value, "__dlpack__")


def _typed(operand: Matrix | Array) -> tuple[DType, tuple[int, ...]]:
    return dtype_of(operand.dtype), operand.shape


class OperatorCalls(Handle):
    """What a backend offers besides sessions: operators one by one.

    Arrays come and go by host memory; weights are matrices on the backend. A call runs
    whenever the device can. only_if_worthwhile declines what wants() advises against, by
    the exception NotWorthwhile, and on_cpu_if_declined computes on the CPU what was
    declined or what the device cannot. Calls from several threads run side by side.
    """

    def matrix(
        self, value: object, name: str | None = None, *, dtype: DTypeLike | None = None, shape: Sequence[int] = ()
    ) -> Matrix:
        """Puts a weight on the backend: an array, or a tensor of Weights by name, without a copy.

        Of a matrix [n_out, n_in] or a convolution's kernel [n_out, k, k, c_in]. Quantised
        blocks are given as bytes, with dtype and shape; levels and scales that lie apart as
        a SplitMatrix, which is stored as dtype, else as the smallest type that keeps it.
        """
        desc = sized(_bindings.MatrixDesc())
        if isinstance(value, SplitMatrix):
            split, _held = value.as_c()
            report = _bindings.SplitReport()
            desc.dtype = 0 if dtype is None else dtype_of(dtype)
            desc.split, desc.report = ctypes.pointer(split), ctypes.pointer(report)
            made = Matrix(self, desc, DType.F32, (split.n_out, split.n_in))
            made.split = SplitReport.of(report)
            made.dtype = made.split.dtype
            return made
        if isinstance(value, Weights):
            if name is None:
                raise invalid("which tensor of the weights? matrix(weights, name)")
            desc.weights, desc.name = value._value, name.encode()
            info = value.info(name)
            return Matrix(self, desc, info.dtype, info.shape)
        if isinstance(value, (bytes, bytearray, memoryview)):
            if dtype is None:
                raise invalid("bytes have no element type: matrix(blocks, dtype=..., shape=...)")
            array, own = np.frombuffer(value, np.uint8), dtype_of(dtype)
        else:
            array = as_array(value, "matrix")
            own = dtype_of("f32" if not hasattr(value, "dtype") else array.dtype) if dtype is None else dtype_of(dtype)
            array = host_array(value, numpy_dtype(own, "matrix"), "matrix")
            shape = shape or array.shape
        dims, desc.rank = c_shape(shape)
        if desc.rank > _bindings.MAX_RANK:
            raise invalid(f"matrix has {desc.rank} dimensions, {_bindings.MAX_RANK} at most are possible")
        desc.dtype, desc.shape[: desc.rank] = own, dims[: desc.rank]
        desc.data, desc.bytes = pointer(array), array.nbytes
        return Matrix(self, desc, own, tuple(shape))

    @overload
    def matmul(
        self,
        x: object,
        products: Matrix | Product,
        *,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
    ) -> Array: ...
    @overload
    def matmul(
        self,
        x: object,
        products: Sequence[Matrix | Product],
        *,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
    ) -> list[Array]: ...
    def matmul(
        self,
        x: object,
        products: Matrix | Product | Sequence[Matrix | Product],
        *,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
    ) -> Array | list[Array]:
        """x [..., n_in] times a weight [n_out, n_in]: [..., n_out]. Several weights at once read x once."""
        array = host_array(x, _F32, "x")
        if not array.ndim:
            raise mismatch("x has no dimensions, want [..., n_in]")
        all_products = [products] if isinstance(products, (Matrix, Product)) else products
        made = _Products(all_products, array.shape[:-1])
        t, n_in = math.prod(array.shape[:-1]), array.shape[-1]
        flags = _flags(only_if_worthwhile, on_cpu_if_declined)
        check(api.matmul(self._value, _floats(array), t, n_in, made.c, len(all_products), flags))
        return made.y[0] if all_products is not products else made.y

    def conv2d(
        self,
        x: object,
        product: Matrix | Product,
        *,
        k: int = 0,
        stride: int = 1,
        norm: Norm | None = None,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
    ) -> Array:
        """Convolves an image [h, w, c_in] with a kernel [n_out, k, k, c_in]: [oh, ow, n_out].

        floor(k/2) zeros are put on each side. k needs to be given where the kernel is
        [n_out, k*k*c_in].
        """
        image = host_array(x, _F32, "x")
        if image.ndim != 3:
            raise mismatch(f"x has shape {shape_text(image.shape)}, want [h, w, c_in]")
        kernel = product.weight if isinstance(product, Product) else product
        if not k:
            if len(kernel.shape) != 4:
                raise invalid(f"the kernel has shape {shape_text(kernel.shape)}: give k")
            k = kernel.shape[1]
        if k < 1 or stride < 1:
            raise invalid(f"k is {k} and stride {stride}; both are 1 or more")
        h, w, c_in = image.shape
        oh, ow = ((n + 2 * (k // 2) - k) // stride + 1 for n in (h, w))
        if min(oh, ow) < 1:
            raise mismatch(f"nothing is left of an image of {h} by {w} with k {k}")
        made = _Products([product], (oh, ow))
        geometry = _bindings.Conv2dGeometry(ctypes.sizeof(_bindings.Conv2dGeometry), h, w, c_in, k, stride, oh, ow)
        c_norm: Any = None
        if norm is not None:
            gamma, beta = _optional(norm.gamma, c_in, "gamma"), _optional(norm.beta, c_in, "beta")
            kind = chosen(_NORMS, norm.kind, "norm")
            raw = sized(_bindings.Conv2dNorm(0, kind, norm.silu, norm.groups, norm.eps, _floats(gamma), _floats(beta)))
            c_norm = ctypes.byref(raw)
        flags = _flags(only_if_worthwhile, on_cpu_if_declined)
        check(api.conv2d(self._value, _floats(image), ctypes.byref(geometry), c_norm, made.c, flags))
        return made.y[0]

    def attention(
        self,
        q: object,
        k: object,
        v: object,
        *,
        causal: bool = False,
        window: int = 0,
        scale: float = 0.0,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
    ) -> Array:
        """softmax(scale q k^T) v for each head, of q [tq, heads, head_dim] and k, v [tk, kv_heads, head_dim].

        causal: query j sees the keys up to tk - tq + j, with a window the last of these.
        scale 0 means 1/sqrt(head_dim). The result is like q.
        """
        arrays = [host_array(a, _F32, name) for a, name in ((q, "q"), (k, "k"), (v, "v"))]
        for a, name in zip(arrays, "qkv"):
            if a.ndim != 3:
                raise mismatch(f"{name} has shape {shape_text(a.shape)}, want [positions, heads, head_dim]")
        (tq, heads, dim), (tk, kv_heads, _) = arrays[0].shape, arrays[1].shape
        check_shape(arrays[1].shape, (tk, kv_heads, dim), "k")
        check_shape(arrays[2].shape, (tk, kv_heads, dim), "v")
        out = np.empty(arrays[0].shape, _F32)
        flags = _flags(only_if_worthwhile, on_cpu_if_declined)
        desc = sized(_bindings.AttentionDesc())
        desc.q, desc.k, desc.v = (_floats(a) for a in arrays)
        desc.out, desc.tq, desc.tk = _floats(out), tq, tk
        desc.heads, desc.kv_heads, desc.head_dim = heads, kv_heads, dim
        desc.causal, desc.window, desc.scale = causal, window, scale
        check(api.attention(self._value, ctypes.byref(desc), flags))
        return out

    def run(
        self,
        operator: Operator,
        *operands: object,
        only_if_worthwhile: bool = False,
        on_cpu_if_declined: bool = False,
        **others: Any,
    ) -> Array | tuple[Array, ...]:
        """Runs an operator of qtsaccel.ops on arrays and matrices: backend.run(ops.softmax, x, axis=0).

        Lists and numbers among the operands are taken as f32; arrays by name are operands,
        too, all else by name attributes.
        """
        placed = [x if x is None or _is_operand(x) else np.asarray(x, _F32) for x in operands]
        named = {name: x for name, x in others.items() if _is_operand(x)}
        attrs = {name: x for name, x in others.items() if name not in named}
        held: list[Matrix | Array] = []
        for i, x in enumerate([*placed, *named.values()]):
            if isinstance(x, Matrix):
                held.append(x)
            elif x is not None:
                what = f"operand {i}"
                array = as_array(x, what)
                held.append(host_array(array, numpy_dtype(dtype_of(array.dtype), what), what))
        missing = tuple(x is None for x in placed)
        key = (operator, missing, tuple(named), *(_typed(x) for x in held), repr(attrs))
        recipe = _recipes.get(key)
        if recipe is None:
            recipe = _record(operator, missing, tuple(named), held, attrs)
            if len(_recipes) > 256:
                _recipes.clear()
            _recipes[key] = recipe
        c_in = sized((_bindings.Operand * max(len(recipe.inputs), 1))())
        for c, at in zip(c_in, recipe.inputs):
            if at == _bindings.NONE:
                continue
            operand = held[at]
            if isinstance(operand, Matrix):
                c.matrix = operand._value
            else:
                _describe(c, *_typed(operand), operand)
        c_out = sized((_bindings.Operand * len(recipe.outputs))())
        results = []
        for c, (dtype, shape) in zip(c_out, recipe.outputs):
            results.append(np.empty(shape, numpy_dtype(dtype, "the result")))
            _describe(c, dtype, shape, results[-1])
        flags = _flags(only_if_worthwhile, on_cpu_if_declined)
        arguments = recipe.name, c_in, len(recipe.inputs), recipe.attrs, recipe.n_attrs, c_out, len(c_out), flags
        check(api.op_run(self._value, *arguments))
        return results[0] if len(results) == 1 else tuple(results)

    def wants(self, operator: str, *shape: int) -> bool:
        """Whether the device should run a call, transfers included; always on a CPU.

        shape is for "matmul" t, n_in and n_out; for "conv2d" h, w, c_in, k, stride and n_out;
        for "attention" tq, tk, heads, kv_heads and head_dim; for another operator that of its
        largest input or output.
        """
        answer = ctypes.c_int32()
        check(api.backend_wants(self._value, operator.encode(), *c_shape(shape), ctypes.byref(answer)))
        return bool(answer.value)

    @property
    def thresholds(self) -> dict[str, Threshold]:
        """From when on calls are worthwhile, by class: "matmul", "conv2d", "attention", and all "other"."""
        self.calibrate("keep")
        return {c: Threshold(**t) for c, t in self.stats.json()["thresholds"].items()}

    def set_threshold(self, operator: str, threshold: Threshold) -> None:
        """Overrules it, for all operators of its class: those like matmul, conv2d, attention, and all others."""
        self._calibrate("keep", {operator: threshold})

    def calibrate(self, how: str = "auto") -> None:
        """Makes the thresholds anew.

        "auto": measured once, then remembered; "force": now; "off": built in; "keep": as they
        are, or are found first.
        """
        self._calibrate(how, {})

    def _calibrate(self, how: str, given: dict[str, Threshold]) -> None:
        options = sized(_bindings.CalibrateOptions())
        options.how = chosen(_CALIBRATE, how, "how")
        c = sized((_bindings.Threshold * max(len(given), 1))())
        for to, (operator, t) in zip(c, given.items()):
            to.op, to.min_flops, to.flops_per_byte = operator.encode(), t.min_flops, t.flops_per_byte
        options.thresholds, options.n_thresholds = c, len(given)
        check(api.backend_calibrate(self._value, ctypes.byref(options)))

    @property
    def stats(self) -> Report:
        """What the calls did since the backend was made or reset_stats()."""
        forms = _bindings.FORMAT_TEXT, _bindings.FORMAT_JSON
        return Report(*(text_of(api.backend_stats_copy, self._value, form, 0) for form in forms))

    def reset_stats(self) -> None:
        """Begins to count anew."""
        text_of(api.backend_stats_copy, self._value, _bindings.FORMAT_TEXT, _bindings.STATS_RESET)


def _describe(c: _bindings.Operand, dtype: DType, shape: tuple[int, ...], array: Array) -> None:
    c.dtype, c.rank, c.data = dtype, len(shape), pointer(array)
    c.shape[: len(shape)] = shape


def _record(
    operator: Operator,
    missing: tuple[bool, ...],
    names: tuple[str, ...],
    operands: Sequence[Matrix | Array],
    attrs: dict[str, Any],
) -> _Recipe:
    """Finds out what an operator makes of operands of these types, by a graph of nothing else."""
    with _Recorder() as g, Weights() as weights:
        tensors: list[Tensor] = []
        for i, x in enumerate(operands):
            dtype, shape = _typed(x)
            if isinstance(x, Matrix):
                weights.declare(str(i), dtype, shape)
                tensors.append(g.weight(weights, str(i)))
            else:
                tensors.append(g.input(str(i), dtype, shape))
        given = iter(tensors)
        positional = [None if left_out else next(given) for left_out in missing]
        operator(*([] if tensors else [g]), *positional, **dict(zip(names, given)), **attrs)
        if len(g.calls) != 1:
            raise invalid(f"{operator!r} adds {len(g.calls)} operators: run() takes one of qtsaccel.ops")
        name, inputs, c, outputs = g.calls[0]
        at = {t.index: i for i, t in enumerate(tensors)}
        at[_bindings.NONE] = _bindings.NONE
        if unknown := [i for i in inputs if i not in at]:
            raise invalid(f"{name}: tensor {unknown[0]} is no operand of the call")
        while inputs and inputs[-1] == _bindings.NONE:
            inputs.pop()
        infos = [g.info(t) for t in outputs]
        return _Recipe(name.encode(), [at[i] for i in inputs], c_attrs(c), len(c), [(i.dtype, i.shape) for i in infos])
