"""Between the library's tensors and numpy's arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from ctypes import addressof, c_char
from typing import Any

import numpy as np
import numpy.typing as npt

from ._bindings import DType
from ._errors import invalid, mismatch

Array = npt.NDArray[Any]
DTypeLike = DType | str | npt.DTypeLike

_NUMPY: dict[DType, np.dtype[Any]] = {
    DType.F32: np.dtype(np.float32),
    DType.F16: np.dtype(np.float16),
    DType.I8: np.dtype(np.int8),
    DType.I16: np.dtype(np.int16),
    DType.I32: np.dtype(np.int32),
    DType.I64: np.dtype(np.int64),
}
try:
    import ml_dtypes

    _NUMPY[DType.BF16] = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    pass
_OURS = {n: d for d, n in _NUMPY.items()}
_NAMES = {d.name.lower(): d for d in DType}
# What numpy's other element types become.
_WIDER = {
    "float64": "float32",
    "bool": "int8",
    "uint8": "int16",
    "uint16": "int32",
    "uint32": "int64",
    "uint64": "int64",
}


def dtype_of(dtype: DTypeLike) -> DType:
    """The library's element type for its own, its name ("f32", "q4_k"), or numpy's."""
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, str) and (own := _NAMES.get(dtype.lower())):
        return own
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise invalid(f"{dtype!r} is no element type; known: {', '.join(_NAMES)}") from None
    if (own := _OURS.get(wanted.newbyteorder("="))) is None:
        if (to := _WIDER.get(wanted.newbyteorder("=").name)) is not None:
            raise invalid(f"the library has no element type for numpy's {wanted}; convert it with .astype('{to}')")
        raise invalid(f"the library has no element type for numpy's {wanted}; known: {', '.join(_NAMES)}")
    return own


def numpy_dtype(dtype: DType, what: str) -> np.dtype[Any]:
    """numpy's element type for the library's."""
    if (found := _NUMPY.get(dtype)) is not None:
        return found
    if dtype is DType.BF16:
        raise invalid(f"{what} is bf16: arrays of it need the package ml_dtypes (pip install ml_dtypes)")
    raise invalid(f"{what} is {dtype.name.lower()}, which numpy has no element type for")


def as_array(value: object, what: str) -> Array:
    """Any array or tensor in host memory as a numpy array, without a copy where possible."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, what)
    return np.asarray(value)


_HOST = (1, 3)  # kDLCPU, kDLCUDAHost


def _from_dlpack(value: Any, what: str) -> Array:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        if value.dtype == torch.bfloat16 and value.layout == torch.strided:  # numpy's DLPack has no bf16
            bits: Array = np.from_dlpack(value.view(torch.int16))
            return bits.view(numpy_dtype(DType.BF16, what))
    try:
        if (kind := value.__dlpack_device__()[0]) in _HOST:
            return np.from_dlpack(value)
        refused = f"lies on a device (DLPack type {int(kind)}); bring it to the host first"
    except (BufferError, RuntimeError, TypeError, ValueError) as e:
        refused = f"cannot be read through DLPack: {e}"
    try:
        if hasattr(value, "__array__"):  # a JAX array on a GPU or of bf16, for one
            return np.asarray(value)
    except (RuntimeError, TypeError, ValueError) as e:
        refused += f"; {e}"
    raise invalid(f"{what} {refused}")


def writable(value: Any, what: str) -> Array:
    """An array or tensor in host memory as a numpy array to write into."""
    if isinstance(value, np.ndarray):
        return value
    try:
        if value.__dlpack_device__()[0] in _HOST:
            return np.from_dlpack(value)
        refused = "lies on a device, and results come to the host"
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as e:
        refused = f"is no array to write into: {e}"
    raise invalid(f"the array for {what} {refused}")


def checked(value: object, dtype: np.dtype[Any], what: str) -> Array:
    """value as an array of this element type, in any order of bytes and memory.

    An array's element type must be right already, but for the byte order: nothing is
    rounded unseen. Lists and numbers are converted where nothing is lost but precision.
    """
    array = as_array(value, what)
    if array.dtype == dtype or array.dtype.newbyteorder("=") == dtype:
        return array
    if isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "__dlpack__") or array.dtype == object:
        raise invalid(f"{what} has dtype {array.dtype}, want {dtype}; convert it with .astype('{dtype}')")
    exact = array.astype(dtype) if array.dtype.kind in "biuf" else None
    if exact is None or (dtype.kind in "iu" and not np.array_equal(exact, array)):
        raise invalid(f"{what}: {array.dtype} values do not fit into {dtype}")
    return exact


def host_array(value: object, dtype: np.dtype[Any], what: str) -> Array:
    """value as an array of exactly this element type, native and contiguous; errors as in checked()."""
    # Not ascontiguousarray, which makes one dimension of none.
    return np.require(checked(value, dtype, what).astype(dtype, copy=False), requirements="C")


def shape_text(shape: Iterable[object]) -> str:
    """A shape as it stands in messages."""
    return "[" + ", ".join(str(n) for n in shape) + "]"


def check_shape(shape: tuple[int, ...], want: tuple[int, ...], what: str) -> None:
    """Refuses a shape that is not the one wanted."""
    if shape != want:
        raise mismatch(f"{what} has shape {shape_text(shape)}, want {shape_text(want)}")


def pointer(array: Any) -> int:
    """Where a contiguous array's elements are."""
    try:
        return addressof(c_char.from_buffer(array))  # by far the quickest way
    except (TypeError, ValueError):  # read-only, or of a type that has no buffer, such as bf16
        address: int = array.__array_interface__["data"][0]
        return address
