"""Reports of the library."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Any

from . import _bindings
from ._library import text_of


class Report:
    """A report of the library: str() is its text, json() the same as data."""

    def __init__(self, text: str, data: str) -> None:
        self._text, self._data = text, data

    @classmethod
    def of(cls, copy: Callable[..., int], handle: int) -> Report:
        """What a _copy function tells of an object."""
        return cls(text_of(copy, handle, _bindings.FORMAT_TEXT), text_of(copy, handle, _bindings.FORMAT_JSON))

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def json(self) -> dict[str, Any]:
        """The report as data."""
        found: dict[str, Any] = json.loads(self._data)
        return found

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"
