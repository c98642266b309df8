"""vad: says where in a recording somebody speaks, with Silero VAD on any backend.

python vad.py --model silero_vad_16k.safetensors talk.wav
"""

import argparse
import wave
from collections.abc import Iterable, Iterator

import numpy as np

import qtsaccel as qa
from qtsaccel import ops

RATE, CONTEXT, FRESH, BINS, HIDDEN = 16000, 64, 512, 129, 128


def build(w: qa.Weights) -> qa.Graph:
    g = qa.Graph("vad")
    x = g.input("samples", np.float32, (1, 1, CONTEXT + FRESH))
    # The magnitudes of the short-time Fourier transform, whose matrix is a convolution's weight.
    x = ops.pad(x, pads=(0, 0, 0, 0, 0, 64), mode="reflect")
    x = ops.conv1d(x, g.weight(w, "stft_conv.weight"), stride=128)
    x = ops.sqrt(ops.square(x[:, :BINS]) + ops.square(x[:, BINS:]))
    for layer, stride in enumerate((1, 2, 2, 1), 1):
        weight, bias = (g.weight(w, f"conv{layer}.{part}") for part in ("weight", "bias"))
        x = ops.relu(ops.conv1d(x, weight, bias, stride=stride, padding=1))
    h, c = (g.state(name, np.float32, (1, HIDDEN)) for name in "hc")  # they go on to the next window
    gates = (g.weight(w, f"lstm_cell.{part}") for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    y, c_next = ops.lstm_cell(x.reshape(1, HIDDEN), h, c, *gates)
    ops.state_write(h, y)
    ops.state_write(c, c_next)
    x = ops.relu(y).reshape(1, HIDDEN, 1)
    x = ops.conv1d(x, g.weight(w, "final_conv.weight"), g.weight(w, "final_conv.bias"))
    g.output("probability", ops.sigmoid(x))
    return g


def read(path: str) -> np.ndarray:
    """The recording's samples from -1 to 1, channels averaged."""
    with wave.open(path) as f:
        if f.getframerate() != RATE or f.getsampwidth() != 2:
            raise SystemExit(f"{path}: the model listens to 16-bit samples at {RATE} Hz")
        frames = np.frombuffer(f.readframes(f.getnframes()), "<i2").reshape(-1, f.getnchannels())
    return (frames.astype(np.float32) / 32768).mean(axis=1, dtype=np.float32)


def probabilities(plan: qa.Plan, samples: np.ndarray) -> Iterator[float]:
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples, np.zeros(-len(samples) % FRESH, np.float32)])
    for at in range(0, len(padded) - CONTEXT, FRESH):
        window = padded[at : at + CONTEXT + FRESH].reshape(1, 1, -1)
        yield float(plan.run({"samples": window}, threads=1)["probability"][0, 0, 0])


def stretches(found: Iterable[float], samples: int, threshold: float = 0.5) -> Iterator[tuple[int, int]]:
    start = pause = -1  # Silero's own tools join probabilities so
    for at, p in zip(range(0, samples, FRESH), found):
        if p >= threshold:
            pause, start = -1, at if start < 0 else start
        elif start >= 0 and p < threshold - 0.15:
            pause = at if pause < 0 else pause
            if at - pause >= RATE // 10:
                if pause - start > RATE // 4:
                    yield start, pause
                start = pause = -1
    if start >= 0 and samples - start > RATE // 4:
        yield start, samples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="silero_vad_16k.safetensors")
    parser.add_argument("--backend")
    parser.add_argument("recording")
    o = parser.parse_args()
    sound = read(o.recording)
    plan = qa.Backend(o.backend).session().plan(build(qa.Weights.open(o.model)))
    for start, end in stretches(probabilities(plan, sound), len(sound)):
        print(f"{start / RATE:.3f} - {end / RATE:.3f}")
