"""Gives the wheel the platform that what it carries was built for."""

from __future__ import annotations

import platform
import re
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Names of symbol versions in an ELF file's string table.
GLIBC = re.compile(rb"\0GLIBC_2\.(\d+)(?=[\0.])")
GLIBCXX = re.compile(rb"\0GLIBCXX_3\.4\.(\d+)(?=\0)")

# From which glibc on the platforms of that age have a libstdc++ with GLIBCXX_3.4.x,
# as auditwheel's policies say.
LIBSTDCXX = {29: 34, 30: 35, 33: 39}


def platform_tag(native: Path) -> str:
    """manylinux for the newest glibc and libstdc++ that a file asks for; on a Mac, its own."""
    if sys.platform == "darwin":
        release = platform.mac_ver()[0].split(".")[0]
        return f"macosx_{release}_0_{platform.machine()}"
    files = [f for f in native.rglob("*") if f.is_file() and f.read_bytes()[:4] == b"\x7fELF"]
    if not files:
        raise SystemExit(f"there is nothing to carry in {native}: run `make wheel` at the root")
    images = [f.read_bytes() for f in files]
    newest = max((int(v) for image in images for v in GLIBC.findall(image)), default=17)
    if cxx := max((int(v) for image in images for v in GLIBCXX.findall(image)), default=0):
        newest = max(newest, next(glibc for most, glibc in LIBSTDCXX.items() if cxx <= most))
    return f"manylinux_2_{newest}_{platform.machine()}"


class Hook(BuildHookInterface[Any]):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets the tag; "editable" installs carry nothing."""
        if version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(Path(self.root) / 'qtsaccel' / 'native')}"
