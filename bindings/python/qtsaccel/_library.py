"""Finds and opens the library, and turns its statuses into exceptions."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from . import _bindings
from ._bindings import Api, LogCallback, Status
from ._errors import from_status

_MAC = sys.platform == "darwin"
_FILE = "libqtsaccel.0.dylib" if _MAC else "libqtsaccel.so.0"
_WANTED = _bindings.VERSION_MAJOR * 10000 + _bindings.VERSION_MINOR * 100 + _bindings.VERSION_PATCH

# What a wheel carries: lib/, lib/qtsaccel/ with the plugins, bin/.
NATIVE = Path(__file__).resolve().parent / "native"

_ADVICE = (
    "Install a wheel for this machine (pip install --force-reinstall qtsaccel), or set "
    f"QTSACCEL_LIBRARY to the full path of a {_FILE} from `make lib`."
)


def _version(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _find() -> tuple[str | None, list[str]]:
    """The library's file, and where it was looked for in vain."""
    looked: list[str] = []
    beside = NATIVE / "lib" / _FILE
    if beside.exists():
        return str(beside), looked
    looked.append(str(beside))
    if named := os.environ.get("QTSACCEL_LIBRARY", "").strip():
        return named, looked
    looked.append("the variable QTSACCEL_LIBRARY (not set)")
    if found := ctypes.util.find_library("qtsaccel"):
        return found, looked
    looked.append("the loader's folders (LD_LIBRARY_PATH, ldconfig)")
    return None, looked


def _open() -> tuple[Api, str]:
    path, looked = _find()
    if path is None:
        raise ImportError(f"{_FILE} is nowhere. Looked for: {'; '.join(looked)}. {_ADVICE}")
    try:
        library = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"{path} cannot be loaded: {e}. {_ADVICE}", path=path) from e
    try:
        number = library.qtsa_version()
        if not _compatible(number):
            raise ImportError(
                f"{path} is version {_version(number)}; this package needs {_version(_WANTED)} or newer "
                f"of {_bindings.VERSION_MAJOR}.x. {_ADVICE}",
                path=path,
            )
        api = Api(library)
    except AttributeError as e:
        raise ImportError(f"{path} is no qtsaccel of this version: {e}. {_ADVICE}", path=path) from e
    plugins = NATIVE / "lib" / "qtsaccel"
    if path.startswith(str(NATIVE)) and not plugins.is_dir() and not os.environ.get("QTSACCEL_PLUGIN_DIR"):
        raise ImportError(f"{plugins}, the folder with the backend plugins, is missing. {_ADVICE}", path=path)
    return api, path


def _compatible(number: int) -> bool:
    return number // 10000 == _bindings.VERSION_MAJOR and number >= _WANTED


api, path = _open()


def check(status: int) -> None:
    """Raises what the calling thread's last call failed with."""
    if status == Status.NOT_WORTHWHILE:  # declining has no words
        raise from_status(Status.NOT_WORTHWHILE, "the call is not worth the device's while")
    if status:
        raise from_status(Status(status), api.last_error().decode("utf-8", "replace"))


Sized = TypeVar("Sized")


def sized(made: Sized) -> Sized:
    """A struct that says its own size or, of an array of such, the first one says it."""
    first: Any = made[0] if isinstance(made, ctypes.Array) else made
    first.struct_size = ctypes.sizeof(first)
    return made


def text_of(copy: Callable[..., int], *args: Any) -> str:
    """The text that a _copy function gives."""
    size = ctypes.c_size_t()
    check(copy(*args, None, 0, ctypes.byref(size)))
    while True:
        buffer = ctypes.create_string_buffer(size.value)
        had = size.value
        status = copy(*args, buffer, had, ctypes.byref(size))
        if status and size.value > had:  # it grew in between
            continue
        check(status)
        return buffer.value.decode("utf-8", "replace")


def version() -> str:
    """The version of the library that is loaded."""
    return _version(api.version())


_log = LogCallback()


def set_log_callback(callback: Callable[[int, str], None] | None) -> None:
    """Sends the library's log lines to callback(level, text), from any thread; None: nowhere.

    Levels are LOG_DEBUG (1) to LOG_ERROR (4). Calls of the library within it raise InvalidState.
    """
    global _log

    def line(level: int, text: bytes, _: object) -> None:
        assert callback is not None
        callback(level, text.decode("utf-8", "replace"))

    new = LogCallback() if callback is None else LogCallback(line)
    check(api.set_log_callback(new, None))
    _log = new
