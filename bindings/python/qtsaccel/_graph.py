"""Graphs, and the tensors that are built like numpy expressions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from . import _bindings
from ._arrays import DTypeLike, dtype_of, shape_text
from ._bindings import DType, Status
from ._dim import Dim, Size, c_size
from ._errors import from_status, invalid
from ._handle import Handle
from ._library import api, check
from ._weights import Attribute, Attributes, TensorInfo, Weights, c_attrs, c_shape, info_of, kind_of

_LAST = 2**40  # beyond the end of any axis


class Tensor:
    """A tensor of a graph. Operators and arrays beside it make new tensors of the graph."""

    __slots__ = ("_declared", "graph", "index")
    __array_ufunc__ = None  # so that numpy leaves `array + tensor` to us

    def __init__(self, graph: Graph, index: int, declared: tuple[Size, ...] | None = None) -> None:
        self.graph = graph
        self.index = index
        self._declared = declared

    @property
    def info(self) -> TensorInfo:
        """Element type, shape and bytes; a dimension that depends on a dynamic one is -1."""
        return self.graph.info(self)

    @property
    def shape(self) -> tuple[Size, ...]:
        """The shape: of an input as it was declared, with its dynamic dimensions; of what an
        operator gives, a dimension that depends on a dynamic one is -1."""
        return self._declared or self.info.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.info.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.info.shape)

    def __repr__(self) -> str:
        if self.graph.closed:
            return "<Tensor of a closed graph>"
        kind = f"{self.dtype.name.lower()} {shape_text(self.shape)}"
        return f"<Tensor of graph {self.graph.label!r}: {kind}>"

    def _affine(self, scale: float, bias: float) -> Tensor:
        attrs = (("scale", _bindings.ATTR_FLOAT, scale), ("bias", _bindings.ATTR_FLOAT, bias))
        return add_op(None, "scale", (self,), attrs, 1)[0]

    def _binary(self, op: str, a: Operand, b: Operand) -> Tensor:
        return add_op(self.graph, op, (a, b), (), 1)[0]

    def __matmul__(self, other: Operand) -> Tensor:
        return self._binary("matmul", self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return self._binary("matmul", other, self)

    def __add__(self, other: Operand) -> Tensor:
        return self._affine(1, other) if isinstance(other, (int, float)) else self._binary("add", self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tensor:
        return self._affine(1, -other) if isinstance(other, (int, float)) else self._binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return self._affine(-1, other) if isinstance(other, (int, float)) else self._binary("sub", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return self._affine(other, 0) if isinstance(other, (int, float)) else self._binary("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Tensor:
        return self._binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return self._binary("div", other, self)

    def __neg__(self) -> Tensor:
        return add_op(None, "neg", (self,), (), 1)[0]

    def __abs__(self) -> Tensor:
        return add_op(None, "abs", (self,), (), 1)[0]

    def __pow__(self, power: float) -> Tensor:
        """The square and the square root: the operators that there are."""
        op = {2: "square", 0.5: "sqrt"}.get(power) if isinstance(power, (int, float)) else None
        if op is None:
            raise from_status(Status.UNSUPPORTED, f"{self!r} ** {power!r}: only 2 and 0.5 are taken")
        return add_op(None, op, (self,), (), 1)[0]

    # What a tensor holds is known when a plan runs, not while its graph is built.
    __iter__ = None
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError(f"{self!r} cannot be compared while its graph is built; `is` tells whether two are the same")

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} is neither true nor false while its graph is built; ops.where() chooses in a run")

    def reshape(self, *shape: Size | Sequence[Size]) -> Tensor:
        """The same elements in another shape; one dimension may be -1."""
        return add_op(None, "reshape", (self,), (("shape", _bindings.ATTR_INTS, _flat(shape)),), 1)[0]

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """The axes in another order; without any, reversed."""
        order = _flat(axes) or tuple(reversed(range(self.ndim)))
        return add_op(None, "transpose", (self,), (("axes", _bindings.ATTR_INTS, order),), 1)[0]

    @property
    def T(self) -> Tensor:
        """The axes reversed."""
        return self.transpose()

    def __getitem__(self, key: object) -> Tensor:
        """Slices, numbers and one `...`, as in numpy: x[:, 1:5], x[..., 0]."""
        keys = key if isinstance(key, tuple) else (key,)
        rank = self.ndim
        if (n := sum(k is Ellipsis for k in keys)) == 0:
            keys, n = (*keys, Ellipsis), 1
        if n > 1 or len(keys) - 1 > rank:
            raise invalid(f"{len(keys)} subscripts do not fit {self!r}")
        at = next(i for i, k in enumerate(keys) if k is Ellipsis)
        keys = (*keys[:at], *(slice(None),) * (rank - len(keys) + 1), *keys[at + 1 :])
        out, gone = self, list[int]()
        for axis, k in enumerate(keys):
            if isinstance(k, Dim):
                out = out._slice(axis, slice(k, k + 1))
                gone.append(axis)
            elif isinstance(k, (int, np.integer)):
                end = int(k) + 1 if k != -1 else None
                out = out._slice(axis, slice(int(k), end))
                gone.append(axis)
            elif isinstance(k, slice):
                out = out if k == slice(None) else out._slice(axis, k)
            else:
                raise invalid(f"{k!r} is no subscript of a tensor: numbers, slices and ... are")
        if gone:
            shape = out.info.shape
            if shape.count(-1) > 1:
                raise invalid(f"{self!r}: a number as subscript and two dynamic dimensions; slice and reshape instead")
            out = out.reshape(*(n for axis, n in enumerate(shape) if axis not in gone))
        return out

    def _slice(self, axis: int, key: slice) -> Tensor:
        attrs = [("axis", axis), ("start", key.start), ("end", key.stop), ("step", key.step)]
        if (
            key.step is not None
            and not isinstance(key.step, Dim)
            and key.step < 0
            and (key.start is None or key.stop is None)
        ):
            start, end = (default if n is None else n for n, default in ((key.start, _LAST), (key.stop, -_LAST)))
            attrs[1:3] = [("start", start), ("end", end)]
        given = tuple((name, _bindings.ATTR_INT, value) for name, value in attrs if value is not None)
        return add_op(None, "slice", (self,), given, 1)[0]


def _flat(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers that were given one by one or, as numpy takes them too, in one sequence."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (Sequence, np.ndarray)) else values


Operand = Tensor | npt.ArrayLike


class Graph(Handle):
    """Tensors and the operators between them, each checked as it is added."""

    _release = api.graph_free

    def __init__(self, label: str = "graph") -> None:
        self.label = label
        self.inputs: dict[str, tuple[Tensor, tuple[Size, ...]]] = {}
        self.outputs: dict[str, Tensor] = {}
        self.states: dict[str, Tensor] = {}
        self.dims: dict[str, Dim] = {}
        self._constants: Weights | None = None
        self._make(api.graph_create, label.encode())

    def dim(self, name: str, min: int, max: int) -> Dim:
        """Declares a dynamic dimension, whose value is given per run or read off its inputs."""
        token = ctypes.c_int64()
        ends = c_size(min), c_size(max)
        check(api.graph_dim(self._value, name.encode(), *ends, ctypes.byref(token)))
        d = Dim(self, token.value, name, min, max)
        self.dims[name] = d
        return d

    def input(self, name: str, dtype: DTypeLike, shape: Iterable[Size]) -> Tensor:
        """An input that each run uploads."""
        dims = tuple(shape)
        t = self._typed(api.graph_input, name, dtype_of(dtype), dims)
        t._declared = dims
        self.inputs[name] = t, dims
        return t

    def state(self, name: str, dtype: DTypeLike, shape: Iterable[int]) -> Tensor:
        """State of the session that keeps its content between runs."""
        t = self._typed(api.graph_state, name, dtype_of(dtype), tuple(shape))
        self.states[name] = t
        return t

    def _typed(self, add: Callable[..., int], name: str, dtype: DType, shape: tuple[Size, ...]) -> Tensor:
        index = ctypes.c_int64()
        check(add(self._value, name.encode(), dtype, *c_shape(shape), ctypes.byref(index)))
        return Tensor(self, index.value)

    def weight(self, weights: Weights, name: str) -> Tensor:
        """A tensor of the weights, which the graph keeps alive from then on."""
        index = ctypes.c_int64()
        check(api.graph_weight(self._value, weights._value, name.encode(), ctypes.byref(index)))
        return Tensor(self, index.value)

    def constant(self, array: npt.ArrayLike) -> Tensor:
        """A tensor with the content that the array has now."""
        if self._constants is None:
            self._constants = Weights()
        name = str(len(self._constants))
        self._constants[name] = array
        return self.weight(self._constants, name)

    def op(self, name: str, inputs: Sequence[Operand | None], **attributes: Attribute | None) -> tuple[Tensor, ...]:
        """Adds an operator by its name, with its attributes by theirs: g.op("softmax", [x], axis=-1).

        Arrays become constants, None leaves an input or an attribute out; qtsaccel.ops has a
        function for each operator.
        """
        outputs, kinds = _bindings.OPERATORS.get(name, (1, {}))
        given = {key: value for key, value in attributes.items() if value is not None}
        attrs = tuple((key, kinds.get(key) or kind_of(value), value) for key, value in given.items())
        return add_op(self, name, inputs, attrs, outputs)

    def _add(self, name: str, inputs: Sequence[Tensor | None], attrs: Attributes, outputs: int) -> tuple[Tensor, ...]:
        for t in inputs:
            if t is not None and t.graph is not self:
                raise invalid(f"{name}: {t!r} is of another graph than {self.label!r}")
        indices = [_bindings.NONE if t is None else t.index for t in inputs]
        while indices and indices[-1] == _bindings.NONE:
            indices.pop()
        c_in = (ctypes.c_int64 * max(len(indices), 1))(*indices)
        c_out = (ctypes.c_int64 * outputs)()
        check(api.graph_op(self._value, name.encode(), c_in, len(indices), c_attrs(attrs), len(attrs), c_out, outputs))
        return tuple(Tensor(self, i) for i in c_out)

    def output(self, name: str, tensor: Tensor) -> None:
        """Makes a tensor one that runs download."""
        if tensor.graph is not self:
            raise invalid(f"output {name!r}: {tensor!r} is of another graph than {self.label!r}")
        check(api.graph_output(self._value, name.encode(), tensor.index))
        self.outputs[name] = tensor

    def info(self, tensor: Tensor) -> TensorInfo:
        """What a tensor of the graph is."""
        raw = _bindings.TensorInfo()
        check(api.graph_info(self._value, tensor.index, ctypes.byref(raw)))
        return info_of(raw)

    def __repr__(self) -> str:
        if self.closed:
            return f"<Graph {self.label!r}, closed>"
        parts = [f"{name}: {t.dtype.name.lower()} {shape_text(t.shape)}" for name, (t, _) in self.inputs.items()]
        outs = [f"{name}: {t.info!r}" for name, t in self.outputs.items()]
        return f"<Graph {self.label!r}: ({', '.join(parts)}) -> ({', '.join(outs)})>"


def add_op(
    graph: Graph | None, name: str, operands: Sequence[Operand | None], attrs: Attributes, outputs: int
) -> tuple[Tensor, ...]:
    """Adds an operator to the graph of its tensors; arrays become constants of it."""
    if graph is None:
        graph = next((x.graph for x in operands if isinstance(x, Tensor)), None)
    if graph is None:
        raise invalid(f"{name}: one input at least must be a tensor of a graph")
    tensors = [x if x is None or isinstance(x, Tensor) else graph.constant(x) for x in operands]
    return graph._add(name, tensors, attrs, outputs)
