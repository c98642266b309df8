"""Weights: named tensors in host memory."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import _bindings
from ._arrays import DTypeLike, as_array, check_shape, dtype_of, host_array, numpy_dtype, pointer, shape_text
from ._bindings import DType
from ._errors import invalid
from ._handle import Handle
from ._library import api, check, text_of
from ._report import Report


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


def c_shape(shape: Iterable[int]) -> tuple[ctypes.Array[ctypes.c_int64], int]:
    """A shape and its length, as the C API takes them."""
    dims = [int(n) for n in shape]
    return (ctypes.c_int64 * max(len(dims), 1))(*dims), len(dims)


Attribute = int | float | str | Sequence[int] | Sequence[float]
Attributes = tuple[tuple[str, int, Attribute], ...]


def _kind(value: Attribute) -> int:
    """The type of an attribute with this value."""
    if isinstance(value, str):
        return _bindings.ATTR_STRING
    return _bindings.ATTR_FLOAT if isinstance(value, float) else _bindings.ATTR_INT


def c_attrs(attrs: Attributes) -> ctypes.Array[_bindings.Attr]:
    """Attributes as the C API takes them; ctypes keeps what they point to."""
    made = (_bindings.Attr * max(len(attrs), 1))()
    for a, (name, kind, value) in zip(made, attrs):
        a.name, a.type = name.encode(), kind
        if kind == _bindings.ATTR_INT:
            a.i = value
        elif kind == _bindings.ATTR_FLOAT:
            a.f = value
        elif kind == _bindings.ATTR_STRING:
            a.s = str(value).encode()
        else:
            many: Any = (value,) if isinstance(value, (int, float)) else value
            a.count = len(many)
            if kind == _bindings.ATTR_INTS:
                a.ints = (ctypes.c_int64 * max(len(many), 1))(*(int(n) for n in many))
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


class Rule(NamedTuple):
    """How tensors of a file are taken in whose names match a pattern ("*" any text, "?" one byte)."""

    pattern: str
    dtype: DTypeLike | None = None  # to store as; None: as in the file
    rename: str | None = None  # with a "*" for each of the pattern's; None: as in the file


# True: a bar, where tqdm is installed. A function is told the bytes done and all, and
# cancels with anything true.
Progress = bool | Callable[[int, int], object]

_PLACEMENTS = {
    "auto": _bindings.PLACEMENT_AUTO,
    "copied": _bindings.PLACEMENT_COPIED,
    "mapped": _bindings.PLACEMENT_MAPPED,
}


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
        progress: Progress = False,
    ) -> Weights:
        """Opens a GGUF or safetensors file, the first part of a split one, or an index of several.

        placement is "auto", "copied" (into memory) or "mapped" (read when used); budget the
        bytes that tensors may take (0: what is free); rules say which types and names
        tensors get.
        """
        if placement not in _PLACEMENTS:
            raise invalid(f"placement is {placement!r}; known: {', '.join(_PLACEMENTS)}")
        options = _bindings.WeightsOptions()
        options.struct_size = ctypes.sizeof(options)
        options.placement = _PLACEMENTS[placement]
        options.budget_bytes = budget
        c_rules = (_bindings.WeightsRule * max(len(rules), 1))()
        for c, rule in zip(c_rules, rules):
            c.pattern = rule.pattern.encode()
            c.rename = None if rule.rename is None else rule.rename.encode()
            c.dtype = 0 if rule.dtype is None else dtype_of(rule.dtype)
        options.rules, options.n_rules = c_rules, len(rules)
        self = cls.__new__(cls)
        self._label = os.fspath(path)
        with _told(progress) as callback:
            options.progress = callback
            self._make(api.weights_open, os.fsencode(path), ctypes.byref(options))
        return self

    def save(
        self,
        path: str | os.PathLike[str],
        metadata: Mapping[str, str | int | float] | None = None,
        *,
        progress: Progress = False,
    ) -> None:
        """Writes tensors and metadata into a GGUF file; values of metadata take the place of those there are."""
        given = tuple((key, _kind(value), value) for key, value in (metadata or {}).items())
        with _told(progress) as callback:
            check(api.weights_save(self._value, os.fsencode(path), c_attrs(given), len(given), callback, None))

    @property
    def report(self) -> Report:
        """What became of each tensor of the file: types, whether copied or mapped, and why."""
        return Report.of(api.weights_report_copy, self._value)

    def declare(self, name: str, dtype: DTypeLike, shape: Iterable[int]) -> None:
        """Adds a tensor whose data is given later, by w[name] = array."""
        check(api.weights_declare(self._value, name.encode(), dtype_of(dtype), *c_shape(shape)))

    def update(self, arrays: Mapping[str, object], *, progress: bool = False) -> None:
        """Takes arrays over; with progress behind a bar, where tqdm is installed."""
        for name, array in _bar(arrays.items(), len(arrays), progress):
            self[name] = array

    def __setitem__(self, name: str, value: object) -> None:
        """Copies an array in, declaring the tensor where there is none of that name.

        A quantised tensor takes its blocks as bytes.
        """
        if isinstance(value, (bytes, bytearray, memoryview)):
            data = bytes(value)
            check(api.weights_set(self._value, name.encode(), data, len(data)))
            return
        what = f"weight {name!r}"
        if name in self:
            info = self.info(name)
            array = host_array(value, numpy_dtype(info.dtype, what), what)
            check_shape(array.shape, info.shape, what)
        else:
            array = as_array(value, what)
            dtype = dtype_of("f32" if not hasattr(value, "dtype") else array.dtype)
            array = host_array(value, numpy_dtype(dtype, what), what)
            self.declare(name, dtype, array.shape)
        check(api.weights_set(self._value, name.encode(), pointer(array), array.nbytes))

    def _index(self, name: str) -> int:
        index = ctypes.c_size_t()
        check(api.weights_find(self._value, name.encode(), ctypes.byref(index)))
        return index.value

    def info(self, name: str) -> TensorInfo:
        """What the tensor of that name is."""
        raw = _bindings.TensorInfo()
        check(api.weights_info(self._value, self._index(name), ctypes.byref(raw)))
        return info_of(raw)

    def metadata(self, key: str) -> str:
        """A metadata value of the file as text."""
        return text_of(api.weights_metadata_copy, self._value, key.encode())

    def __len__(self) -> int:
        count = ctypes.c_size_t()
        check(api.weights_count(self._value, ctypes.byref(count)))
        return count.value

    def __iter__(self) -> Iterator[str]:
        for i in range(len(self)):
            yield text_of(api.weights_name_copy, self._value, i)

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        index = ctypes.c_size_t()
        status = api.weights_find(self._value, name.encode(), ctypes.byref(index))
        if status == _bindings.Status.NOT_FOUND:
            return False
        check(status)
        return True

    def __repr__(self) -> str:
        return "<Weights, closed>" if self.closed else f"<Weights {self._label}: {len(self)} tensors>"
