"""Finding and opening the library, and what an import error says."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

import qtsaccel as qa
from conftest import ROOT, python, two_copies
from qtsaccel import _bindings


def import_error(path: str | Path, **environment: str) -> str:
    """The last line of a failed import with this library."""
    r = python("import qtsaccel", QTSACCEL_LIBRARY=str(path), **environment)
    assert r.returncode == 1, r.stdout + r.stderr
    last = r.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), r.stderr
    assert "make lib" in last  # what to do
    return last


def compile_library(tmp_path: Path, source: str) -> Path:
    (tmp_path / "x.c").write_text(source)
    library = tmp_path / "libother.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "x.c"], check=True)
    return library


def test_nowhere():
    said = import_error("", LD_LIBRARY_PATH="")
    for place in ("native/lib/libqtsaccel", "QTSACCEL_LIBRARY", "LD_LIBRARY_PATH"):
        assert place in said


def test_missing_file(tmp_path):
    assert str(tmp_path / "gone.so") in import_error(tmp_path / "gone.so")


def test_other_architecture(tmp_path):
    image = bytearray(Path(qa.library_path).read_bytes()[:4096])
    image[18] = 243  # RISC-V
    (tmp_path / "foreign.so").write_bytes(image)
    assert str(tmp_path / "foreign.so") in import_error(tmp_path / "foreign.so")


def test_other_version(tmp_path):
    said = import_error(compile_library(tmp_path, "int qtsa_version(void) { return 1; }"))
    assert "libother.so is version 0.0.1" in said
    assert "0.2.0 or newer" in said


def test_newer_major_version(tmp_path):
    assert "version 7.1.2" in import_error(compile_library(tmp_path, "int qtsa_version(void) { return 70102; }"))


def test_other_library(tmp_path):
    said = import_error(compile_library(tmp_path, "int unrelated;"))
    assert "libother.so is no qtsaccel" in said and "qtsa_version" in said


def test_lacking_function(tmp_path):
    source = f"int qtsa_version(void) {{ return {100 * _bindings.VERSION_MINOR}; }}"
    assert "is no qtsaccel of this version" in import_error(compile_library(tmp_path, source))


def test_missing_plugins(tmp_path):
    with pytest.raises(qa.Error) as e:
        qa.Backend("cpu", plugin_dir=tmp_path)
    assert e.value.status is qa.Status.DEVICE_UNAVAILABLE
    assert str(tmp_path) in e.value.message


STRUCTS = [s for s in vars(_bindings).values() if isinstance(s, type) and issubclass(s, ctypes.Structure)][1:]


def c_name(struct: type[ctypes.Structure]) -> str:
    return "qtsa" + "".join("_" + c.lower() if c.isupper() else c for c in struct.__name__)


def test_layout_is_c(tmp_path):
    assert len(STRUCTS) >= 9
    lines = ["#include <stdio.h>", '#include "qtsaccel.h"', "int main(void) {"]
    want = []
    for s in STRUCTS:
        lines.append(f'    printf("%zu\\n", sizeof({c_name(s)}));')
        want.append(ctypes.sizeof(s))
        for field, *_ in s._fields_:
            lines.append(f'    printf("%zu\\n", offsetof({c_name(s)}, {field}));')
            want.append(getattr(s, field).offset)
    (tmp_path / "layout.c").write_text("\n".join([*lines, "}"]))
    program = tmp_path / "layout"
    subprocess.run(["gcc", "-I", ROOT / "include", "-o", program, tmp_path / "layout.c"], check=True)
    assert [int(n) for n in subprocess.check_output([program]).split()] == want


def test_log_lines_arrive():
    lines = []
    qa.set_log_callback(lambda level, text: lines.append((level, text)))
    try:
        qa.Backend("cpu", debug=True).close()
    finally:
        qa.set_log_callback(None)
    n = len(lines)
    qa.Backend("cpu").close()
    assert len(lines) == n
    assert n and all(1 <= level <= 4 and isinstance(text, str) for level, text in lines)


@pytest.mark.parametrize("which", ["same", "older"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_beside_another_ggml(when, which):
    """Another ggml, opened with global symbols, disturbs neither."""
    assert "both are right" in subprocess.check_output(
        [sys.executable, *two_copies(when, which)], text=True, stderr=subprocess.STDOUT
    )
