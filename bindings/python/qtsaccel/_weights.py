"""Weights: named tensors in host memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from . import _bindings
from ._arrays import DTypeLike, as_array, check_shape, dtype_of, host_array, numpy_dtype, pointer, shape_text
from ._bindings import DType
from ._handle import Handle
from ._library import api, check, text_of


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


def _bar(items: Iterable[tuple[str, object]], total: int, progress: bool) -> Iterable[tuple[str, object]]:
    """items behind a progress bar, where one is asked for and tqdm is there."""
    if progress:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            return items
        bar: Iterable[tuple[str, object]] = tqdm(items, total=total, unit="tensor", desc="weights")
        return bar
    return items


class Weights(Handle):
    """Named tensors that belong to no backend: made empty, from arrays, or from a file."""

    _release = api.weights_free

    def __init__(self, arrays: Mapping[str, object] | None = None, *, progress: bool = False) -> None:
        self._make(api.weights_create)
        self._label = "in memory"
        if arrays is not None:
            self.update(arrays, progress=progress)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Weights:
        """Opens a GGUF or safetensors file."""
        self = cls.__new__(cls)
        self._label = os.fspath(path)
        self._make(api.weights_open, os.fsencode(path), None)
        return self

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
