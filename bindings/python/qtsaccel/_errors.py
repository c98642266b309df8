"""Exceptions: one for all, and one for each status that Python has a word for."""

from __future__ import annotations

from collections.abc import Mapping

from ._bindings import Status


class Error(Exception):
    """What a call failed with."""

    status: Status
    message: str

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return f"{self.status.name}: {self.message}"


class InvalidArgument(Error, ValueError):
    """A value that is never allowed."""


class ShapeMismatch(Error, ValueError):
    """Shapes or sizes that do not fit together."""


class NotFound(Error, LookupError):
    """No operator, attribute, tensor or state of that name."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory."""


class Unsupported(Error, NotImplementedError):
    """Right, but this backend or version cannot."""


class NotWorthwhile(Error):
    """An operator call that the device declines; nothing was computed."""


class FileError(Error, OSError):
    """A file that could not be read or written."""


class MissingFile(FileError, FileNotFoundError):
    """A file that is not there."""


class NotPermitted(FileError, PermissionError):
    """A file that this process may not read or write."""


class Corrupt(Error, ValueError):
    """A file whose content is not what its format says."""


class Cancelled(Error):
    """A run or an upload that was cancelled."""


class Timeout(Error, TimeoutError):
    """A device that did not answer in time."""


class DeviceUnavailable(Error, RuntimeError):
    """No device that the request allows can be used."""


class DeviceLost(Error, RuntimeError):
    """A device that failed, and is lost to its backend."""


class Forked(Error, RuntimeError):
    """A call in a forked child of the process that loaded the library."""


_CLASSES: dict[Status, type[Error]] = {
    Status.INVALID_ARGUMENT: InvalidArgument,
    Status.SHAPE_MISMATCH: ShapeMismatch,
    Status.NOT_FOUND: NotFound,
    Status.OUT_OF_MEMORY: OutOfMemory,
    Status.UNSUPPORTED: Unsupported,
    Status.NOT_WORTHWHILE: NotWorthwhile,
    Status.IO: FileError,
    Status.CORRUPT: Corrupt,
    Status.CANCELLED: Cancelled,
    Status.TIMEOUT: Timeout,
    Status.DEVICE_UNAVAILABLE: DeviceUnavailable,
    Status.DEVICE_LOST: DeviceLost,
    Status.FORKED: Forked,
}

# The system's own words, with which the message of an IO status ends.
_FILES: dict[str, type[FileError]] = {
    "no such file or directory": MissingFile,
    "permission denied": NotPermitted,
}


def from_status(status: Status, message: str) -> Error:
    """The exception for a status."""
    made = _CLASSES.get(status, Error)
    if status is Status.IO:
        made = next((kind for words, kind in _FILES.items() if message.endswith(words)), made)
    return made(status, message)


def invalid(message: str) -> Error:
    """For an argument that this package refuses itself."""
    return from_status(Status.INVALID_ARGUMENT, message)


def mismatch(message: str) -> Error:
    """For a shape that this package refuses itself."""
    return from_status(Status.SHAPE_MISMATCH, message)


def chosen(known: Mapping[str, int], name: str, what: str) -> int:
    """The value that a name stands for."""
    if name not in known:
        raise invalid(f"{what} is {name!r}; known: {', '.join(known)}")
    return known[name]
