"""Metadata of a file of weights."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _bindings
from ._library import api, check, text_of

if TYPE_CHECKING:
    from ._weights import Weights

# A number, a boolean, a text, or a list of them; a list of lists, where a file has that.
MetadataValue = int | float | bool | str | list[Any]


class Metadata(Mapping[str, MetadataValue]):
    """What a file says about its weights, by key and in the file's order. Values of safetensors are texts.

    Bytes of a text that are no UTF-8 become U+FFFD.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def _info(self, key: str) -> _bindings.MetadataInfo:
        info = _bindings.MetadataInfo()
        check(api.weights_metadata_info(self._weights._value, key.encode(), ctypes.byref(info)))
        return info

    def text(self, key: str) -> str:
        """A value as text: a number in decimal, a boolean as "true" or "false", a list as JSON."""
        return text_of(api.weights_metadata_copy, self._weights._value, key.encode(), _bindings.WHOLE)

    def _list(self, kind: int, key: str, element: Any, count: int) -> list[Any]:
        values, n = (element * max(count, 1))(), ctypes.c_size_t()
        check(api.weights_metadata_get(self._weights._value, key.encode(), kind, values, count, ctypes.byref(n)))
        return list(values[: n.value])

    def __getitem__(self, key: str) -> MetadataValue:
        if key not in self:
            raise KeyError(key)
        info = self._info(key)
        if info.type == _bindings.METADATA_STRING and not info.is_array:
            return self.text(key)
        # Texts and lists as JSON, and whole numbers that may be beyond an int64.
        if info.type in (_bindings.METADATA_STRING, _bindings.METADATA_ARRAY) or info.stored == b"u64":
            value: MetadataValue = json.loads(self.text(key))
            return value
        if info.type == _bindings.METADATA_FLOAT:
            values = self._list(info.type, key, ctypes.c_double, info.count)
        elif info.type == _bindings.METADATA_BOOL:
            values = [bool(v) for v in self._list(info.type, key, ctypes.c_int32, info.count)]
        else:
            values = self._list(_bindings.METADATA_INT, key, ctypes.c_int64, info.count)
        return values if info.is_array else values[0]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        info = _bindings.MetadataInfo()
        status = api.weights_metadata_info(self._weights._value, key.encode(), ctypes.byref(info))
        if status == _bindings.Status.NOT_FOUND:
            return False
        check(status)
        return True

    def __len__(self) -> int:
        tensors, keys = ctypes.c_size_t(), ctypes.c_size_t()
        check(api.weights_count(self._weights._value, ctypes.byref(tensors), ctypes.byref(keys)))
        return keys.value

    def __iter__(self) -> Iterator[str]:
        for i in range(len(self)):
            yield text_of(api.weights_name_copy, self._weights._value, _bindings.NAME_METADATA, i)

    def __repr__(self) -> str:
        return f"<Metadata of {self._weights!r}: {len(self)} keys>"
