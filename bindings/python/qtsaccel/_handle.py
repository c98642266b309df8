"""What all objects of the library have in common."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ._bindings import Status
from ._errors import from_status
from ._library import check

Self = TypeVar("Self", bound="Handle")

# What was let go of in a callback of the library, where nothing can be given back: it is
# when the next object is made.
_waiting: list[tuple[Callable[..., int], int]] = []


class Handle:
    """Owns a handle of the C API: close() or the end of a with block gives it back.

    Objects that use one another keep each other alive in the library, so they may
    be closed in any order. A closed one raises INVALID_HANDLE.
    """

    _release: ClassVar[Callable[..., int]]
    _value: int  # there while the object is open
    _owned: bool = True

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> int:
            if name != "_value":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise from_status(Status.INVALID_HANDLE, f"the {type(self).__name__} is closed")

    def _make(self, create: Callable[..., int], *args: Any) -> None:
        for _ in range(len(_waiting)):
            release, value = _waiting.pop()
            if release(value) == Status.INVALID_STATE:
                _waiting.append((release, value))
        made = ctypes.c_void_p()
        check(create(*args, ctypes.byref(made)))
        self._value = made.value or 0

    @classmethod
    def _borrowed(cls: type[Self], value: int) -> Self:
        """For a handle that is the library's own."""
        self = cls.__new__(cls)
        self._value, self._owned = value, False
        return self

    @property
    def closed(self) -> bool:
        """Whether it was given back."""
        return "_value" not in self.__dict__

    def close(self) -> None:
        """Gives the object back; closing twice is fine."""
        value = self.__dict__.pop("_value", 0)
        if value and self._owned:
            status = type(self)._release(value)
            if status == Status.INVALID_STATE:  # in a callback; it is still there
                self._value = value
            check(status)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        value = self.__dict__.pop("_value", 0)
        if value and self._owned:  # nobody could be told of a failure
            release = type(self)._release
            if release(value) == Status.INVALID_STATE:
                _waiting.append((release, value))
