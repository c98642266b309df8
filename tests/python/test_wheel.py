"""The wheel that `make wheel` built, in an empty environment and any folder."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy
import pytest

from conftest import ROOT, two_copies

NATIVE = "lib/python3*/site-packages/qtsaccel/native"


@pytest.fixture(scope="module")
def wheel() -> Path:
    found = list((ROOT / "dist" / "wheel").glob("qtsaccel-*.whl"))
    if not found:
        pytest.skip("there is no wheel in dist/wheel: make wheel")
    return found[0]


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel, and of this one numpy only."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "-q"]
    site = next(Path(p) for p in sys.path if p.endswith("site-packages"))
    packages = next((folder / "lib").glob("python3*")) / "site-packages"
    for part in ("numpy", "numpy.libs", f"numpy-{numpy.__version__}.dist-info"):
        if (site / part).exists():
            (packages / part).symlink_to(site / part)
    subprocess.run([*pip, "install", "--no-index", str(wheel)], check=True)
    return folder


def clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "QTSACCEL_"))}


CODE = """
import numpy as np, qtsaccel as qa, sys
g = qa.Graph(); g.output("y", g.input("x", "f32", (2, 3)) @ np.ones((3, 1), np.float32))
y = qa.Backend("cpu").session().plan(g).run({"x": np.ones((2, 3), np.float32)})["y"]
assert y.tolist() == [[3], [3]], y
print(qa.library_path)
"""


def test_works_from_any_folder(environment, tmp_path):
    said = subprocess.check_output([environment / "bin" / "python", "-c", CODE], cwd=tmp_path, env=clean(), text=True)
    assert said.strip() == str(next(environment.glob(f"{NATIVE}/lib/libqtsaccel.so.0")))


def test_carries_the_tool(environment, tmp_path):
    said = subprocess.check_output([environment / "bin" / "qtsaccel", "version"], cwd=tmp_path, env=clean(), text=True)
    assert "ggml" in said


@pytest.mark.parametrize("when", ["before", "after"])
def test_beside_another_ggml(environment, when, tmp_path):
    """Another package's ggml in the process disturbs neither."""
    command = [environment / "bin" / "python", *two_copies(when, "older")]
    assert "both are right" in subprocess.check_output(command, cwd=tmp_path, env=clean(), text=True)


def test_lost_plugins(environment, tmp_path):
    plugins = next(environment.glob(f"{NATIVE}/lib/qtsaccel"))
    plugins.rename(tmp_path / "away")
    try:
        r = subprocess.run([environment / "bin" / "python", "-c", CODE], env=clean(), capture_output=True, text=True)
    finally:
        (tmp_path / "away").rename(plugins)
    assert r.returncode == 1
    assert "ImportError" in r.stderr and str(plugins) in r.stderr and "reinstall" in r.stderr


def test_tag_is_true(wheel):
    """It is the one that auditwheel finds the symbols in the files to allow.

    (As a whole auditwheel calls the wheel "linux": the Vulkan plugin needs libvulkan,
    which is not in its list. Where that is missing the plugin is not loaded.)
    """
    said = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    tag = wheel.stem.split("-")[-1]
    assert f'This constrains the platform tag to "{tag}".' in " ".join(said.stdout.split())
    with zipfile.ZipFile(wheel) as z:
        text = z.read(next(n for n in z.namelist() if n.endswith("/WHEEL"))).decode()
    assert f"Tag: py3-none-{tag}" in text and "Root-Is-Purelib: false" in text


def test_licences_are_there(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = [Path(n).name for n in z.namelist() if "/licenses/" in n]
    assert sorted(names) == ["LICENSE", "LICENSE.ggml"]
