"""What the tests of the Python package share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def backend():
    """The CPU, with one thread: the tests measure no speed."""
    import qtsaccel as qa

    with qa.Backend("cpu", threads=1) as b:
        yield b


@pytest.fixture
def session(backend):
    """A stream of its own for each test."""
    with backend.session() as s:
        yield s


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real models and expected outputs."""
    folder = os.environ.get("QTSACCEL_SHARED_DATA")
    if not folder:
        pytest.skip("QTSACCEL_SHARED_DATA does not say where the test data is")
    return Path(folder)


def python(code: str, *, limit: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a new interpreter."""
    env = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit, env=env)


def two_copies(when: str, which: str) -> list[Path]:
    """The program two_copies.py with its arguments, for one of the other copies of ggml."""
    folder = ROOT / "dist" / "other-ggml" / which
    if not folder.exists():
        pytest.skip(f"there is no {folder}: make test-data")
    return [
        ROOT / "tests" / "python" / "two_copies.py",
        Path(when),
        *(folder / f"libggml-{part}.so" for part in ("base", "cpu-x64")),
    ]
