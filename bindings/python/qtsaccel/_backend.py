"""Backends, and the process's default one."""

from __future__ import annotations

import ctypes
import html
import os
from typing import TYPE_CHECKING

from . import _bindings
from ._calls import OperatorCalls
from ._library import api, check, sized, text_of
from ._report import Report

if TYPE_CHECKING:
    from ._session import Session


def backend_options(
    backend: str | None = None,
    plugin_dir: str | os.PathLike[str] | None = None,
    threads: int = 0,
    fallback: str | None = None,
    device: str | None = None,
    probe: str | None = None,
    debug: bool = False,
    repack: bool = True,
    weights_budget: int = 0,
) -> _bindings.BackendOptions:
    """The options as the C API takes them."""
    options = sized(_bindings.BackendOptions())
    options.threads = threads
    options.debug = int(debug)
    options.repack = _bindings.REPACK_AUTO if repack else _bindings.REPACK_NEVER
    options.weights_budget_bytes = weights_budget
    options.plugin_dir = None if plugin_dir is None else os.fsencode(plugin_dir)
    for name, text in (("backend", backend), ("fallback", fallback), ("device", device), ("probe", probe)):
        setattr(options, name, None if text is None else text.encode())
    return options


class Backend(OperatorCalls):
    """A chosen device with its threads and its memory.

    backend is "auto", "cpu", "cuda", "vulkan", "metal" or "reference"; None asks the
    environment (QTSACCEL_BACKEND), then takes "auto". plugin_dir is the folder with the
    backend plugins, and threads the CPU threads of a run (0: what the process may use).
    fallback is what "auto" tries ("cuda, cpu"), device a GPU's index, PCI id or UUID, and
    probe says how GPUs are proven: "require", "auto" or "off". debug tells through the log,
    or on stderr where no callback is set, what is chosen, where it runs, and how long.
    With repack, a CPU keeps a second copy of quantised weights that products read,
    rearranged for the processor, where that makes them quicker. weights_budget is how many
    bytes of the device weights may take (0: what it has); beyond it is OutOfMemory.

    It runs graphs in sessions, and single operators by matmul(), conv2d(), attention() and
    run().
    """

    _release = api.backend_free

    def __init__(
        self,
        backend: str | None = None,
        *,
        plugin_dir: str | os.PathLike[str] | None = None,
        threads: int = 0,
        fallback: str | None = None,
        device: str | None = None,
        probe: str | None = None,
        debug: bool = False,
        repack: bool = True,
        weights_budget: int = 0,
    ) -> None:
        options = backend_options(backend, plugin_dir, threads, fallback, device, probe, debug, repack, weights_budget)
        self._make(api.backend_create, ctypes.byref(options))

    @property
    def name(self) -> str:
        """What computes, and the device's own name: "cpu (AMD EPYC)"."""
        return text_of(api.backend_report_copy, self._value, _bindings.FORMAT_TEXT).split("\n", 1)[0]

    @property
    def report(self) -> Report:
        """How the backend was chosen and what it is."""
        return Report.of(api.backend_report_copy, self._value)

    def session(self) -> Session:
        """A new stream of work on the backend."""
        from ._session import Session

        return Session(self)

    def __repr__(self) -> str:
        return "<Backend, closed>" if self.closed else f"<Backend {self.name}>"

    def _repr_html_(self) -> str:
        return html.escape(repr(self)) if self.closed else self.report._repr_html_()


def install(backend: Backend | None) -> None:
    """Settles which backend the parts of a process use that do not know each other; None: none.

    It is decided once: the same again is fine, another raises ALREADY_EXISTS. The library
    keeps the backend from then on.
    """
    check(api.backend_install(None if backend is None else backend._value))


def active() -> Backend | None:
    """The backend that was settled on, None if it is none; NotFound if nothing is settled."""
    handle = ctypes.c_void_p()
    check(api.backend_get_active(ctypes.byref(handle)))
    return None if handle.value is None else Backend._borrowed(handle.value)
