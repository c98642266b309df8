"""Weights: named tensors in host memory."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from . import _bindings
from ._arrays import (
    Array,
    DTypeLike,
    as_array,
    check_shape,
    checked,
    dtype_of,
    host_array,
    numpy_dtype,
    pointer,
    shape_text,
)
from ._bindings import DType
from ._dim import Size, c_size
from ._errors import chosen, invalid
from ._handle import Handle
from ._library import api, check, sized, text_of
from ._metadata import Metadata
from ._report import Report
from ._split import SplitMatrix, SplitReport


class TensorInfo(NamedTuple):
    """What a tensor is."""

    dtype: DType
    shape: tuple[int, ...]
    bytes: int

    def __repr__(self) -> str:
        return f"{self.dtype.name.lower()} {shape_text(self.shape)}"


def info_of(raw: _bindings.TensorInfo) -> TensorInfo:
    """The C API's struct as Python has it."""
    return TensorInfo(DType(raw.dtype), tuple(raw.shape[: raw.rank]), raw.bytes)


def c_shape(shape: Iterable[Size]) -> tuple[ctypes.Array[ctypes.c_int64], int]:
    """A shape and its length, as the C API takes them."""
    dims = [c_size(n) for n in shape]
    return (ctypes.c_int64 * max(len(dims), 1))(*dims), len(dims)


def _array(dtype: int, shape: Iterable[int]) -> _bindings.Array:
    """An array's description without its elements."""
    c, (dims, rank) = sized(_bindings.Array()), c_shape(shape)
    if rank > _bindings.MAX_RANK:
        raise invalid(f"the shape has {rank} dimensions, {_bindings.MAX_RANK} at most are possible")
    c.dtype, c.rank, c.shape[:rank] = dtype, rank, dims[:rank]
    return c


Attribute = Size | float | str | Sequence[Size] | Sequence[float]
Attributes = tuple[tuple[str, int, Attribute], ...]


def kind_of(value: Attribute) -> int:
    """The type of an attribute with this value."""
    if isinstance(value, str):
        return _bindings.ATTR_STRING
    if isinstance(value, Sequence):
        return _bindings.ATTR_FLOATS if any(isinstance(v, float) for v in value) else _bindings.ATTR_INTS
    return _bindings.ATTR_FLOAT if isinstance(value, float) else _bindings.ATTR_INT


def c_attrs(attrs: Attributes) -> ctypes.Array[_bindings.Attr]:
    """Attributes as the C API takes them; ctypes keeps what they point to."""
    made = (_bindings.Attr * max(len(attrs), 1))()
    for a, (name, kind, value) in zip(made, attrs):
        a.name, a.type = name.encode(), kind
        if kind == _bindings.ATTR_INT:
            a.i = c_size(value)  # type: ignore[arg-type]
        elif kind == _bindings.ATTR_FLOAT:
            a.f = value
        elif kind == _bindings.ATTR_STRING:
            a.s = str(value).encode()
        else:
            many: Any = value if isinstance(value, Sequence) or hasattr(value, "__len__") else (value,)
            a.count = len(many)
            if kind == _bindings.ATTR_INTS:
                a.ints = (ctypes.c_int64 * max(len(many), 1))(*(c_size(n) for n in many))
            else:
                a.floats = (ctypes.c_double * max(len(many), 1))(*many)
    return made


def _bar(items: Iterable[tuple[str, object]], total: int, progress: bool) -> Iterable[tuple[str, object]]:
    """items behind a progress bar, where one is asked for and tqdm is there."""
    if not progress or not _has_tqdm():
        return items
    from tqdm.auto import tqdm

    bar: Iterable[tuple[str, object]] = tqdm(items, total=total, unit="tensor", desc="weights")
    return bar


class WeightsMemory(NamedTuple):
    """What opening a file takes, in bytes."""

    tensors: int  # how many
    file_bytes: int  # their size in the files
    memory_bytes: int  # the memory of those that are copied or converted
    mapped_bytes: int  # the size of those that stay in the files


class Rule(NamedTuple):
    """How tensors of a file are taken in whose names match a pattern ("*" any text, "?" one byte)."""

    pattern: str
    dtype: DTypeLike | None = None  # to store as; None: as in the file
    rename: str | None = None  # with a "*" for each of the pattern's; None: as in the file
    skip: bool = False  # leave the tensors out


# True: a bar, where tqdm is installed. A function is told the bytes done and all, and
# cancels with anything true.
Progress = bool | Callable[[int, int], object]

_PLACEMENTS = {
    "auto": _bindings.PLACEMENT_AUTO,
    "copied": _bindings.PLACEMENT_COPIED,
    "mapped": _bindings.PLACEMENT_MAPPED,
}


def _options(
    placement: str, budget: int, rules: Sequence[Rule], importance: Mapping[str, object] | None
) -> _bindings.WeightsOptions:
    """The options as the C API takes them; ctypes keeps what they point to."""
    options = sized(_bindings.WeightsOptions())
    options.placement = chosen(_PLACEMENTS, placement, "placement")
    options.budget_bytes = budget
    c_rules = sized((_bindings.WeightsRule * max(len(rules), 1))())
    for c, rule in zip(c_rules, rules):
        c.pattern = rule.pattern.encode()
        c.rename = None if rule.rename is None else rule.rename.encode()
        c.dtype = 0 if rule.dtype is None else dtype_of(rule.dtype)
        c.flags = _bindings.RULE_SKIP if rule.skip else 0
    options.rules, options.n_rules = c_rules, len(rules)
    matter = importance or {}
    c_importance = sized((_bindings.Importance * max(len(matter), 1))())
    for c, (name, columns) in zip(c_importance, matter.items()):
        what = f"the importance of {name!r}"
        array = host_array(columns, np.dtype(np.float32), what)
        check_shape(array.shape, (array.size,), what)
        c.name, c.n_columns = name.encode(), array.size
        c.columns = (ctypes.c_float * max(array.size, 1))(*array)
    options.importance, options.n_importance = c_importance, len(matter)
    return options


# Arrays that were lent to the library, by the number that it gives them back by.
_lent: dict[int, Array] = {}
_keys = itertools.count(1)
_give_back = _bindings.ReleaseCallback(lambda key: _lent.pop(key, None))


def _has_tqdm() -> bool:
    return importlib.util.find_spec("tqdm") is not None


@contextmanager
def _told(progress: Progress) -> Iterator[_bindings.ProgressCallback]:  # type: ignore[valid-type]
    """What the library tells how far it is. What a function of the host's raises cancels, and goes on from here."""
    raised: list[BaseException] = []
    bars: list[Any] = []

    def show(done: int, total: int) -> None:
        if not bars:
            from tqdm.auto import tqdm

            bars.append(tqdm(total=total, unit="B", unit_scale=True, desc="weights"))
        bars[0].update(done - bars[0].n)

    if isinstance(progress, bool):
        if not progress or not _has_tqdm():
            yield _bindings.ProgressCallback()
            return
        progress = show
    told = progress

    def tell(done: int, total: int, _: object) -> int:
        try:
            return int(bool(told(done, total)))
        except BaseException as e:
            raised.append(e)
            return 1

    try:
        yield _bindings.ProgressCallback(tell)
    except Exception:
        if raised:
            raise raised[0] from None
        raise
    finally:
        for bar in bars:
            bar.close()


class Weights(Handle):
    """Named tensors that belong to no backend: made empty, from arrays, or from a file."""

    _release = api.weights_free

    def __init__(self, arrays: Mapping[str, object] | None = None, *, progress: bool = False) -> None:
        self._make(api.weights_create)
        self._label = "in memory"
        if arrays is not None:
            self.update(arrays, progress=progress)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        placement: str = "auto",
        budget: int = 0,
        rules: Sequence[Rule] = (),
        importance: Mapping[str, object] | None = None,
        progress: Progress = False,
    ) -> Weights:
        """Opens a GGUF or safetensors file, the first part of a split one, or an index of several.

        placement is "auto", "copied" (into memory) or "mapped" (read when used); budget the
        bytes that tensors may take (0: what is free); rules say which types and names
        tensors get, and importance how much the columns of tensors of the file matter
        where a rule quantises them.
        """
        options = _options(placement, budget, rules, importance)
        self = cls.__new__(cls)
        self._label = os.fspath(path)
        with _told(progress) as callback:
            options.progress = callback
            self._make(api.weights_open, os.fsencode(path), ctypes.byref(options))
        return self

    @staticmethod
    def plan_memory(
        path: str | os.PathLike[str], *, placement: str = "auto", rules: Sequence[Rule] = ()
    ) -> WeightsMemory:
        """What opening a file so would take; nothing of it is allocated."""
        raw, options = _bindings.WeightsMemory(), _options(placement, 0, rules, None)
        check(api.weights_plan_memory(os.fsencode(path), ctypes.byref(options), ctypes.byref(raw)))
        return WeightsMemory(raw.tensors, raw.file_bytes, raw.memory_bytes, raw.mapped_bytes)

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, Attribute] | None = None,
        *,
        progress: Progress = False,
    ) -> None:
        """Writes tensors and metadata into a GGUF file; values of metadata take the place of those there are."""
        given = tuple((key, kind_of(value), value) for key, value in (metadata or {}).items())
        with _told(progress) as callback:
            check(api.weights_save(self._value, os.fsencode(path), c_attrs(given), len(given), callback, None))

    @property
    def report(self) -> Report:
        """What became of each tensor of the file: types, whether copied or mapped, and why."""
        return Report.of(api.weights_report_copy, self._value)

    def declare(self, name: str, dtype: DTypeLike, shape: Iterable[int]) -> None:
        """Adds a tensor whose data is given later, by w[name] = array."""
        array = _array(dtype_of(dtype), shape)
        check(api.weights_add(self._value, name.encode(), ctypes.byref(array)))

    def update(self, arrays: Mapping[str, object], *, progress: bool = False) -> None:
        """Takes arrays over; with progress behind a bar, where tqdm is installed."""
        for name, array in _bar(arrays.items(), len(arrays), progress):
            self[name] = array

    def __setitem__(self, name: str, value: object) -> None:
        """Copies an array in, declaring the tensor where there is none of that name.

        A quantised tensor takes its blocks as bytes.
        """
        self.set(name, value)

    def set(self, name: str, value: object, *, dtype: DTypeLike | None = None, lend: bool = False) -> None:
        """As w[name] = value; dtype is what to store it as, where that is not the array's own.

        Arrays may lie in any order. One that is lent is used where it lies, if it is dense
        and of the tensor's type: it must not change as long as the weights are used.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = np.frombuffer(value, np.uint8)
            c = _array(0, ())
            c.data, c.bytes = pointer(data) if data.size else None, data.size
            check(api.weights_set(self._value, name.encode(), ctypes.byref(c)))
            return
        what = f"weight {name!r}"
        array = as_array(value, what)
        own = dtype_of("f32" if not hasattr(value, "dtype") else array.dtype) if dtype is None else dtype_of(dtype)
        info = self.info(name) if name in self else None
        if info is not None:
            check_shape(array.shape, info.shape, what)
            own = info.dtype if dtype is None else own
            if own != info.dtype:
                raise invalid(f"{what} is declared as {info.dtype.name.lower()}, not {own.name.lower()}")
        if dtype is None or not hasattr(value, "dtype"):
            array = checked(value, numpy_dtype(own, what), what)
        given = dtype_of(array.dtype)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        c = _array(given, array.shape)
        c.data = pointer(array)
        if array.flags.c_contiguous:
            c.bytes = array.nbytes
        else:
            c.strides = (ctypes.c_int64 * array.ndim)(*array.strides)
        key = next(_keys)
        if lend:
            _lent[key] = array
            c.release, c.user = _give_back, key
        if info is None and own != given:
            self.declare(name, own, array.shape)
        add = info is None and own == given
        status = (api.weights_add if add else api.weights_set)(self._value, name.encode(), ctypes.byref(c))
        if status:
            _lent.pop(key, None)
            check(status)

    def add_split(self, name: str, matrix: SplitMatrix, *, dtype: DTypeLike | None = None) -> SplitReport:
        """Adds a matrix whose levels and scales lie apart, in the smallest type that keeps it, or as dtype.

        The report says what that changed.
        """
        c, _held = matrix.as_c()
        raw = _bindings.SplitReport()
        wanted = 0 if dtype is None else dtype_of(dtype)
        check(api.weights_add_split(self._value, name.encode(), ctypes.byref(c), wanted, ctypes.byref(raw)))
        return SplitReport.of(raw)

    def info(self, name: str) -> TensorInfo:
        """What the tensor of that name is."""
        raw = _bindings.TensorInfo()
        check(api.weights_info(self._value, name.encode(), 0, ctypes.byref(raw)))
        return info_of(raw)

    @property
    def metadata(self) -> Metadata:
        """The metadata of the file, by key."""
        return Metadata(self)

    def upload(self, backend: Handle, names: Iterable[str] = (), *, progress: Progress = False) -> None:
        """Puts tensors onto a backend's device ahead of plans: those whose names match one of these, or all.

        What does not fit there is OutOfMemory, and the call may be made again.
        """
        patterns = [name.encode() for name in names]
        options = sized(_bindings.UploadOptions())
        options.patterns = (ctypes.c_char_p * max(len(patterns), 1))(*patterns)
        options.n_patterns = len(patterns)
        with _told(progress) as callback:
            options.progress = callback
            check(api.weights_upload(self._value, backend._value, ctypes.byref(options)))

    def device_bytes(self, backend: Handle) -> int:
        """The memory of a backend's device that the weights take."""
        count = ctypes.c_uint64()
        check(api.weights_device_bytes(self._value, backend._value, ctypes.byref(count)))
        return count.value

    def __len__(self) -> int:
        tensors, keys = ctypes.c_size_t(), ctypes.c_size_t()
        check(api.weights_count(self._value, ctypes.byref(tensors), ctypes.byref(keys)))
        return tensors.value

    def __iter__(self) -> Iterator[str]:
        for i in range(len(self)):
            yield text_of(api.weights_name_copy, self._value, _bindings.NAME_TENSOR, i)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        raw = _bindings.TensorInfo()
        status = api.weights_info(self._value, name.encode(), 0, ctypes.byref(raw))
        if status == _bindings.Status.NOT_FOUND:
            return False
        check(status)
        return True

    def __repr__(self) -> str:
        return "<Weights, closed>" if self.closed else f"<Weights {self._label}: {len(self)} tensors>"
