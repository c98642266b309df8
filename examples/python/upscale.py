"""upscale: makes a picture twice as large with ESRGAN-slim, on any backend. Needs Pillow.

python upscale.py --model dist/esrgan/x2 photo.png larger.png
"""

import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image

import qtsaccel as qa
from qtsaccel import ops

FACTOR, REACH, TILE = 2, 10, 128  # REACH: how far a pixel can matter in the result


def open_weights(folder: Path) -> qa.Weights:
    """A model of TensorFlow.js, whose kernels are [height, width, in, out]."""
    arrays = {}
    for group in json.loads((folder / "model.json").read_text())["weightsManifest"]:
        data, at = b"".join((folder / p).read_bytes() for p in group["paths"]), 0
        for entry in group["weights"]:
            array = np.frombuffer(data, "<f4", int(np.prod(entry["shape"])), at).reshape(entry["shape"])
            arrays[entry["name"]] = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
            at += array.nbytes
    return qa.Weights(arrays)


def build(w: qa.Weights, height: int, width: int) -> qa.Graph:
    def conv(x: qa.Tensor, layer: str, kernel: int) -> qa.Tensor:
        return ops.conv2d(x, g.weight(w, f"{layer}/kernel"), g.weight(w, f"{layer}/bias"), padding=kernel // 2)

    def residual_dense(x: qa.Tensor, grow: str, mix: str) -> qa.Tensor:
        return conv(ops.concat(x, ops.relu(conv(x, grow, 3)), axis=1), mix, 1) + x

    g = qa.Graph("upscale")
    shallow = conv(g.input("picture", np.float32, (1, 3, height, width)), "F_m1", 3)
    first = residual_dense(conv(shallow, "F_0", 3), "F_1_1", "LFF_1")
    second = residual_dense(first, "F_2_1", "LFF_2")
    x = conv(conv(ops.concat(first, second, axis=1), "GFF_1", 1), "GFF_2", 3) + shallow
    x = ops.relu(conv(ops.relu(conv(x, "UPN1", 5)), "UPN2", 3))
    g.output("larger", conv(ops.upsample(conv(x, "UPN3", 3), scale=FACTOR), "SR", 3))
    return g


def stretches(side: int, size: int) -> list[tuple[int, int, int]]:
    """Where a side's windows begin, and the stretch of it that each makes."""
    found = [(0, 0, 0)]
    while (begin := found[-1][2]) < side:
        window = max(0, min(begin - REACH, side - size))
        found.append((window, begin, side if window + size == side else window + size - REACH))
    return found[1:]


def upscale(session: qa.Session, weights: qa.Weights, picture: np.ndarray) -> np.ndarray:
    """[3, height, width] to the same twice as large, window by window."""
    height, width = np.minimum(picture.shape[1:], TILE).tolist()
    plan = session.plan(build(weights, height, width))
    result = np.empty((3, FACTOR * picture.shape[1], FACTOR * picture.shape[2]), np.float32)
    for v, *rows in stretches(picture.shape[1], height):
        for h, *columns in stretches(picture.shape[2], width):
            part = plan.run({"picture": picture[None, :, v : v + height, h : h + width]})["larger"][0]
            top, bottom, left, right = (FACTOR * n for n in rows + columns)
            part = part[:, top - FACTOR * v : bottom - FACTOR * v, left - FACTOR * h : right - FACTOR * h]
            result[:, top:bottom, left:right] = part
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, default=Path("dist/esrgan/x2"))
    parser.add_argument("--backend")
    parser.add_argument("input")
    parser.add_argument("output")
    o = parser.parse_args()
    colours = np.asarray(Image.open(o.input).convert("RGB"), np.float32).transpose(2, 0, 1)
    larger = upscale(qa.Backend(o.backend).session(), open_weights(o.model), colours)
    Image.fromarray((larger.clip(0, 255) + 0.5).astype(np.uint8).transpose(1, 2, 0)).save(o.output)
