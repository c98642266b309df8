"""Quantised matrices as other systems keep them: levels and scales apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import _bindings
from ._arrays import Array, as_array, check_shape, dtype_of, pointer, shape_text
from ._bindings import DType
from ._errors import chosen, invalid, mismatch
from ._library import sized

_NIBBLES = {
    "low_first": _bindings.NIBBLES_LOW_FIRST,
    "high_first": _bindings.NIBBLES_HIGH_FIRST,
    "halves": _bindings.NIBBLES_HALVES,
}


class SplitReport(NamedTuple):
    """What became of a split matrix."""

    dtype: DType  # the type that it is stored as
    exact: bool  # every value is the f32 nearest to the matrix's own
    bytes: int
    max_absolute_error: float
    max_relative_error: float

    @classmethod
    def of(cls, raw: _bindings.SplitReport) -> SplitReport:
        """The C API's struct as Python has it."""
        return cls(DType(raw.dtype), bool(raw.exact), raw.bytes, raw.max_absolute_error, raw.max_relative_error)


@dataclass(frozen=True, eq=False)
class SplitMatrix:
    """A matrix [n_out, n_in] of scale * (level - zero) + offset.

    levels are int8 or uint8 [n_out, n_in]; with 4 bits bytes [n_out, n_in / 2], with the
    even level in the low half ("low_first"), in the high one ("high_first"), or as in GGUF
    ("halves"). scales, f32, f16 or bf16, are [n_out, n_in / block] or [n_out], and so are
    offsets. int8 with a scale per 32 weights is SplitMatrix(levels, scales); MLX's affine
    4 bits are SplitMatrix(levels, scales, biases, bits=4).
    """

    levels: object
    scales: object
    offsets: object = None
    bits: int = 8
    zero: int = 0
    nibbles: str = "low_first"
    signed: bool | None = None  # None: as the levels' type is

    def as_c(self) -> tuple[_bindings.SplitMatrix, list[Array]]:
        """The struct of the C API, and the arrays that must be held while it is used."""
        levels = _forward(self.levels, "levels")
        if levels.dtype.kind not in "iu" or levels.itemsize != 1 or levels.ndim != 2:
            raise invalid(f"levels are {levels.dtype} {shape_text(levels.shape)}, want [n_out, n_in] of one byte each")
        n_out, n_in = levels.shape[0], levels.shape[1] * (2 if self.bits == 4 else 1)
        scales = _forward(self.scales, "scales")
        scales = scales[:, None] if scales.ndim == 1 else scales
        if scales.ndim != 2 or scales.shape[0] != n_out or not scales.shape[1] or n_in % scales.shape[1]:
            raise mismatch(f"scales have shape {shape_text(scales.shape)}, want [{n_out}, {n_in} / block]")
        held = [levels, scales]
        c = sized(_bindings.SplitMatrix())
        c.n_out, c.n_in, c.block, c.bits = n_out, n_in, n_in // scales.shape[1], self.bits
        c.is_signed = levels.dtype.kind == "i" if self.signed is None else self.signed
        c.zero, c.nibbles, c.scale_dtype = self.zero, chosen(_NIBBLES, self.nibbles, "nibbles"), dtype_of(scales.dtype)
        c.levels, (c.level_row, c.level_byte) = pointer(levels), levels.strides
        if self.offsets is not None:
            offsets = as_array(self.offsets, "offsets")
            offsets = offsets[:, None] if offsets.ndim == 1 else offsets
            check_shape(offsets.shape, scales.shape, "offsets")
            # They lie as the scales do.
            scales, offsets = (np.ascontiguousarray(a, scales.dtype) for a in (scales, offsets))
            c.offsets = pointer(offsets)
            held += [scales, offsets]
        c.scales, (c.scale_row, c.scale_column) = pointer(scales), scales.strides
        return c, held


def _forward(value: object, what: str) -> Array:
    """An array in native byte order whose elements lie one after the other in memory, however far apart."""
    array = as_array(value, what)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return array if all(s > 0 for s in array.strides) else np.ascontiguousarray(array)
