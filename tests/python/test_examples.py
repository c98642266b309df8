"""The examples do what the C programs do."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples" / "python"
BIN = ROOT / "dist" / "bin"


def output(*command: object) -> str:
    r = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=300)
    assert r.returncode == 0, r.stderr
    return r.stdout


def both(name: str, *args: object) -> tuple[str, str]:
    """What the example in Python and the program in C print."""
    return output(sys.executable, EXAMPLES / f"{name}.py", *args), output(BIN / name, *args)


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("prompt", ["", "Once upon a time", "Zoë saw a 🐉"])
def test_story(data, backend, prompt):
    args = ["--backend", backend, "--model", data / "stories260k" / "stories260K_f32.gguf"]
    ours, theirs = both("story", *args, "--tokens", 40, prompt)
    assert ours == theirs and len(ours) > 50


def test_vad(data):
    silero = data / "silero-vad"
    model = silero / "silero_vad_v6.2_16k_from_onnx.safetensors"
    ours, theirs = both("vad", "--backend", "cpu", "--model", model, silero / "jfk.wav")
    assert ours == theirs and len(ours.splitlines()) == 4


def test_upscale(tmp_path):
    Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pictures = []
    for name, program in [("py", [sys.executable, EXAMPLES / "upscale.py"]), ("c", [BIN / "upscale"])]:
        to = tmp_path / f"{name}.png"
        sample = ROOT / "examples" / "data" / "sample.png"
        output(*program, "--backend", "cpu", "--model", ROOT / "dist" / "esrgan" / "x2", sample, to)
        pictures.append(np.asarray(Image.open(to).convert("RGB"), int))
    assert pictures[0].shape == (240, 320, 3)
    assert abs(pictures[0] - pictures[1]).max() <= 1


@pytest.mark.parametrize("name", ["story", "vad", "upscale"])
def test_short(name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 80
