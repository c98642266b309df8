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


def platform_tag(native: Path) -> str:
    """manylinux for the newest glibc that a library or program asks for; on a Mac, its own."""
    if sys.platform == "darwin":
        release = platform.mac_ver()[0].split(".")[0]
        return f"macosx_{release}_0_{platform.machine()}"
    files = [f for f in native.rglob("*") if f.is_file() and f.read_bytes()[:4] == b"\x7fELF"]
    if not files:
        raise SystemExit(f"there is nothing to carry in {native}: run `make wheel` at the root")
    newest = max((int(v) for f in files for v in GLIBC.findall(f.read_bytes())), default=17)
    return f"manylinux_2_{newest}_{platform.machine()}"


class Hook(BuildHookInterface[Any]):
    """Called by hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Sets the tag; "editable" installs carry nothing."""
        if version == "editable":
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(Path(self.root) / 'qtsaccel' / 'native')}"
