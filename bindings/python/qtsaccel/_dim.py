"""Dynamic dimensions of graphs, and expressions of them."""

from __future__ import annotations

import ctypes
import operator
from typing import TYPE_CHECKING, NoReturn

from . import _bindings
from ._errors import invalid
from ._library import api, check, text_of

if TYPE_CHECKING:
    from ._graph import Graph


class Dim:
    """A dynamic dimension of a graph, or an expression of such: n + 1, 2 * n, n // 2.

    It stands in shapes and attributes of its graph, and each run gives its value: a
    division must leave no rest then. Equal expressions are equal.
    """

    __slots__ = ("graph", "max", "min", "name", "number")

    graph: Graph
    number: int  # what stands for it in the C API
    name: str | None  # None of an expression, as are its ends
    min: int | None
    max: int | None

    def __init__(
        self, graph: Graph, number: int, name: str | None = None, min: int | None = None, max: int | None = None
    ) -> None:
        self.graph, self.number, self.name, self.min, self.max = graph, number, name, min, max

    def _join(self, op: int, a: Size, b: Size) -> Dim:
        if not all(isinstance(x, Dim) or _whole(x) for x in (a, b)):
            return NotImplemented  # type: ignore[no-any-return]
        made = ctypes.c_int64()
        check(api.graph_dim_op(self.graph._value, op, c_size(a), c_size(b), ctypes.byref(made)))
        return Dim(self.graph, made.value)

    def __add__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_ADD, self, other)

    def __radd__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_ADD, other, self)

    def __sub__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_SUB, self, other)

    def __rsub__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_SUB, other, self)

    def __mul__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_MUL, self, other)

    def __rmul__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_MUL, other, self)

    def __floordiv__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_DIV, self, other)

    def __rfloordiv__(self, other: Size) -> Dim:
        return self._join(_bindings.DIM_DIV, other, self)

    def __neg__(self) -> Dim:
        return 0 - self

    def __truediv__(self, other: object) -> NoReturn:
        raise TypeError(f"sizes are whole numbers: {self} // {other}, not /")

    __rtruediv__ = __truediv__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dim) and other.graph is self.graph and other.number == self.number

    def __hash__(self) -> int:
        return hash((id(self.graph), self.number))

    def _no_number(self) -> NoReturn:
        raise TypeError(
            f"the dimension {self} has a value in a run only; it stands in shapes and attributes of its graph"
        )

    def __int__(self) -> int:
        self._no_number()

    def __index__(self) -> int:
        self._no_number()

    def __float__(self) -> float:
        self._no_number()

    def __str__(self) -> str:
        """The expression, as messages of the library have it: 2*n + 1."""
        if self.name is not None:
            return self.name
        if self.graph.closed:
            return "an expression of a closed graph"
        return text_of(api.graph_dim_text_copy, self.graph._value, self.number)

    __repr__ = __str__


Size = int | Dim


def _whole(n: object) -> bool:
    """Whether it is a whole number, Python's own or numpy's."""
    if isinstance(n, Dim):
        return False
    try:
        operator.index(n)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def c_size(n: Size) -> int:
    """A size as the C API takes it."""
    if isinstance(n, Dim):
        return n.number
    if not _whole(n):
        raise invalid(f"{n!r} is no size: whole numbers and dynamic dimensions are")
    value = operator.index(n)
    if not -(2**63) <= value < 2**63:
        raise invalid(f"{value} is beyond the 64 bits that sizes have")
    return value
