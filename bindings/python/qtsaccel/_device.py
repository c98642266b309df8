"""The devices of this machine."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

from . import _bindings
from ._backend import Backend, backend_options
from ._library import api, check, sized, text_of
from ._report import Report

_KINDS = {
    _bindings.DEVICE_CPU: "cpu",
    _bindings.DEVICE_DISCRETE: "discrete",
    _bindings.DEVICE_INTEGRATED: "integrated",
    _bindings.DEVICE_SOFTWARE: "software",
}


class Device(NamedTuple):
    """A device: a card once, however many APIs it is seen through."""

    apis: tuple[str, ...]  # "cuda:0", "vulkan:1"
    name: str
    kind: str  # "cpu", "discrete", "integrated" or "software"
    usable: bool
    problem: str  # why an API cannot be used for it
    memory_total: int  # bytes; 0 where nobody knows
    memory_free: int
    driver: str
    pci: str
    uuid: str

    def backend(self, *, plugin_dir: str | os.PathLike[str] | None = None, threads: int = 0) -> Backend:
        """A backend on the device, through its first API."""
        name, _, index = self.apis[0].partition(":")
        gpu = self.kind != "cpu"  # the CPU is one, and takes no index
        return Backend(name, plugin_dir=plugin_dir, threads=threads, device=index if gpu and index else None)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def devices(*, plugin_dir: str | os.PathLike[str] | None = None, probe: str | None = None) -> list[Device]:
    """The devices in the order in which "auto" prefers them, those too that cannot be used."""
    count = ctypes.c_size_t()
    options = ctypes.byref(backend_options(plugin_dir=plugin_dir, probe=probe))
    check(api.devices_list(options, None, 0, ctypes.byref(count)))
    while True:
        raw = sized((_bindings.Device * max(count.value, 1))())
        status = api.devices_list(options, raw, len(raw), ctypes.byref(count))
        if not status or count.value <= len(raw):  # none was plugged in in between
            break
    check(status)
    return [
        Device(
            apis=tuple(_text(d.apis).split()),
            name=_text(d.name),
            kind=_KINDS.get(d.kind, "unknown"),
            usable=bool(d.usable),
            problem=_text(d.problem),
            memory_total=d.memory_total,
            memory_free=d.memory_free,
            driver=_text(d.driver),
            pci=_text(d.pci),
            uuid=_text(d.uuid),
        )
        for d in raw[: count.value]
    ]


def device_report(*, plugin_dir: str | os.PathLike[str] | None = None, probe: str | None = None) -> Report:
    """The same as a report, and for each API without a device the reason."""
    options = ctypes.byref(backend_options(plugin_dir=plugin_dir, probe=probe))
    forms = _bindings.FORMAT_TEXT, _bindings.FORMAT_JSON
    return Report(*(text_of(api.devices_report_copy, options, form) for form in forms))
