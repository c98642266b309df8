"""Operator-level calls, against numpy in float64."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import qtsaccel as qa
from conftest import python
from qtsaccel import ops

RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def near(got, want):
    assert got.dtype == np.float32 and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5 * max(1, abs(want).max()))


ACTIVATIONS = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_matmul(backend, activation):
    x, w, b = floats(5, 24), floats(7, 24), floats(7)
    with backend.matrix(w) as m:
        y = backend.matmul(x, qa.Product(m, b, activation))
    near(y, ACTIVATIONS[activation](x.astype(float) @ w.T.astype(float) + b))


def test_matmul_of_several_weights(backend):
    x, v, w = floats(2, 3, 24), floats(4, 24), floats(6, 24)
    a, b = backend.matmul(np.asfortranarray(x), [backend.matrix(v), qa.Product(backend.matrix(w))])
    near(a, x.astype(float) @ v.T.astype(float))
    near(b, x.astype(float) @ w.T.astype(float))
    (one,) = backend.matmul(x, [backend.matrix(v)])
    np.testing.assert_array_equal(one, a)
    assert backend.matmul(x[0, 0], backend.matrix(v)).shape == (4,)
    assert backend.matmul(x[:, :0], backend.matrix(v)).shape == (2, 0, 4)


def test_matrices(backend):
    w = floats(4, 32)
    for dtype, own, size in ((np.float16, qa.DType.F16, 256), (np.float32, qa.DType.F32, 512)):
        kept = w.astype(dtype)
        m = backend.matrix(kept)
        assert (m.dtype, m.shape, m.nbytes) == (own, (4, 32), size)
        near(backend.matmul(np.eye(32, dtype=np.float32), m), kept.T.astype(float))
    blocks = b"".join(np.float16(0.5).tobytes() + np.arange(32, dtype=np.int8).tobytes() for _ in range(4))
    m = backend.matrix(blocks, dtype="q8_0", shape=(4, 32))
    assert m.nbytes == len(blocks) and "q8_0 [4, 32]" in repr(m)
    got = backend.matmul(np.ones((1, 32), np.float32), m)
    np.testing.assert_allclose(got, np.full((1, 4), 0.5 * np.arange(32).sum()), rtol=1e-2)

    levels = RNG.integers(-127, 128, (4, 32), np.int8)
    m = backend.matrix(qa.SplitMatrix(levels, np.float32([0.5, 1, 2, 0.25])))
    assert m.split is not None and m.split.exact and (m.dtype, m.shape) == (qa.DType.Q8_0, (4, 32))
    want = (levels * [[0.5], [1], [2], [0.25]]).T.astype(float)
    np.testing.assert_allclose(backend.matmul(np.eye(32, dtype=np.float32), m), want, rtol=2e-2)
    assert backend.matrix(qa.SplitMatrix(levels, np.ones(4, np.float32)), dtype="f16").nbytes == 256

    weights = qa.Weights({"w": w})
    m = backend.matrix(weights, "w")
    weights.close()
    near(backend.matmul(w, m), w.astype(float) @ w.T.astype(float))
    m.close()
    with pytest.raises(qa.Error, match="INVALID_HANDLE.*the Matrix is closed"):
        backend.matmul(w, m)
    assert "closed" in repr(m)


def padded_windows(x, k, stride):
    """Windows of an image in double: [oh, ow, k, k, c]."""
    p = k // 2
    wide = np.pad(x, ((p, p), (p, p), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (k, k), axis=(0, 1))
    return windows.transpose(0, 1, 3, 4, 2)[::stride, ::stride]


@pytest.mark.parametrize(("k", "stride"), [(1, 1), (3, 1), (3, 2), (2, 1)])
@pytest.mark.parametrize("kind", ["none", "group", "layer"])
def test_conv2d(backend, k, stride, kind):
    x, w, b = floats(9, 7, 8) + 2, floats(5, k, k, 8), floats(5)
    gamma, beta = floats(8), floats(8)
    loaded = x.astype(float)
    norm = None
    if kind != "none":
        norm = qa.Norm(kind, groups=4, eps=1e-5, gamma=gamma, beta=beta, silu=True)
        split = loaded.reshape(63, 4, 2) if kind == "group" else loaded.reshape(63, 1, 8)
        axes = (0, 2) if kind == "group" else 2
        mean, variance = split.mean(axes, keepdims=True), split.var(axes, keepdims=True)
        loaded = ((split - mean) / np.sqrt(variance + 1e-5)).reshape(9, 7, 8) * gamma + beta
        loaded = loaded / (1 + np.exp(-loaded))
    want = np.einsum("ijklc,oklc->ijo", padded_windows(loaded, k, stride), w.astype(float)) + b
    job = qa.Product(backend.matrix(w), b, "relu")
    near(backend.conv2d(x, job, stride=stride, norm=norm), np.maximum(want, 0))
    flat = qa.Product(backend.matrix(w.reshape(5, -1)), b)
    near(backend.conv2d(x, flat, k=k, stride=stride, norm=norm), want)


@pytest.mark.parametrize(("causal", "window", "scale"), [(False, 0, 0), (True, 0, 0), (True, 3, 0.25)])
def test_attention(backend, causal, window, scale):
    q, k, v = floats(4, 6, 16), floats(9, 2, 16), floats(9, 2, 16)
    logits = np.einsum("qhd,khd->hqk", q.astype(float), k.repeat(3, 1)) * (scale or 0.25)
    behind = np.arange(4)[:, None] + 5 - np.arange(9)
    if causal:
        logits[:, (behind < 0) | (bool(window) & (behind >= window))] = -np.inf
    p = np.exp(logits - logits.max(-1, keepdims=True))
    want = np.einsum("hqk,khd->qhd", p / p.sum(-1, keepdims=True), v.repeat(3, 1))
    near(backend.attention(q, k, v, causal=causal, window=window, scale=scale), want)


def test_any_operator(backend):
    x, w, b = floats(3, 8), floats(8), floats(8)
    e = np.exp(x.astype(float))
    near(backend.run(ops.softmax, x, axis=0), e / e.sum(0))
    near(backend.run(ops.add, x.T, [[1.0], *[[2.0]] * 7]), x.T + np.array([[1.0], *[[2.0]] * 7]))
    x64 = x.astype(float)
    normed = (x64 - x64.mean(-1, keepdims=True)) / np.sqrt(x64.var(-1, keepdims=True) + 1e-5)
    near(backend.run(ops.layer_norm, x, w, bias=b), normed * w + b)
    values, indices = backend.run(ops.top_k, x, k=2)
    np.testing.assert_array_equal(indices, np.argsort(-x)[:, :2])
    np.testing.assert_array_equal(values, -np.sort(-x)[:, :2])
    table = floats(10, 8)
    got = backend.run(ops.embedding, backend.matrix(table), np.array([7, 0], np.int32))
    np.testing.assert_array_equal(got, table[[7, 0]])
    np.testing.assert_array_equal(backend.run(ops.arange, count=3, start=1.0), [1, 2, 3])
    np.testing.assert_array_equal(backend.run(ops.cast, np.array([1, 2], np.int32), dtype="f32"), [1, 2])


def test_errors_name_what_is_wrong(backend):
    x, m = floats(2, 8), backend.matrix(floats(3, 8))
    other = qa.Backend("cpu", threads=1)
    for call, says in [
        (lambda: backend.matmul(floats(2, 7), m), "SHAPE_MISMATCH.*product 0"),
        (lambda: backend.matmul(x.astype(float), m), "x has dtype float64"),
        (lambda: backend.matmul(x, []), "products"),
        (lambda: backend.matmul(x, qa.Product(m, floats(4))), r"bias of product 0 has shape \[4\], want \[3\]"),
        (lambda: backend.matmul(x, qa.Product(m, None, "swish")), "'swish'; known: none, relu"),
        (lambda: other.matmul(x, m), "another backend"),
        (lambda: backend.matrix(np.ones((2, 2), np.int32)), "i32"),
        (lambda: backend.matrix(b"12"), "no element type"),
        (lambda: backend.matrix(floats(1, 1, 1, 1, 1)), "5 dimensions"),
        (lambda: backend.matrix(qa.Weights(), "w"), "'?w"),
        (lambda: backend.conv2d(x, m), r"\[h, w, c_in\]"),
        (lambda: backend.conv2d(floats(2, 2, 8), m), "give k"),
        (lambda: backend.conv2d(floats(2, 2, 8), m, k=3), "SHAPE_MISMATCH"),
        (lambda: backend.conv2d(floats(2, 2, 8), m, k=1, norm=qa.Norm("batch")), "known: none, group, layer"),
        (lambda: backend.attention(x, x, x), "q has shape"),
        (lambda: backend.attention(floats(2, 3, 4), floats(2, 2, 4), floats(2, 2, 4)), "SHAPE_MISMATCH"),
        (lambda: backend.run(ops.softmax, x, axis=5), "axis is 5"),
        (lambda: backend.run(ops.add, x, floats(3, 3)), "add"),
        (lambda: backend.run(lambda a: ops.silu(a) + 1, x), "adds 2 operators"),
        (lambda: backend.run(ops.state_write, x, x), "state"),
        (lambda: backend.run(ops.embedding, x, np.array([2], np.int32)), "2"),
        (lambda: backend.wants("abacus", 1), "abacus"),
        (lambda: backend.calibrate("often"), "known: auto, force, off"),
        (lambda: backend.set_threshold("matmul", qa.Threshold(-1, 0)), "-1"),
    ]:
        with pytest.raises(qa.Error, match=says):
            call()
    near(backend.matmul(x, m), backend.matmul(x, [m])[0].astype(float))


def test_what_is_worthwhile(backend):
    backend.calibrate("off")
    assert backend.wants("matmul", 1, 8, 8) is True  # always on a CPU
    backend.set_threshold("matmul", qa.Threshold(1000.0, 2.5))
    assert backend.thresholds["matmul"] == qa.Threshold(1000.0, 2.5)
    backend.reset_stats()
    x, m = floats(2, 8), backend.matrix(floats(3, 8))
    backend.matmul(x, m, only_if_worthwhile=True, on_cpu_if_declined=True)
    assert "matmul" in str(backend.stats)
    (told,) = backend.stats.json()["operators"]
    assert (told["op"], told["calls"], told["declined"]) == ("matmul", 1, 0)
    backend.reset_stats()
    assert not backend.stats.json()["operators"]


def test_declined():
    """A software device declines a small product, and the CPU beside it computes that."""
    code = """
import numpy as np, qtsaccel as qa, sys
try:
    b = qa.Backend("vulkan")
except qa.Error as e:
    sys.exit(print("none:", e))
b.set_threshold("matmul", qa.Threshold(1e9, 0))
m = b.matrix(np.float32([[1, 2], [3, 4]]))
try:
    b.matmul(np.float32([1, 10]), m, only_if_worthwhile=True)
except qa.NotWorthwhile as e:
    print(e)
print(b.matmul(np.float32([1, 10]), m, only_if_worthwhile=True, on_cpu_if_declined=True).tolist())
"""
    r = python(code, GGML_VK_VISIBLE_DEVICES="0", QTSACCEL_CALIBRATE="off", limit=120)
    assert r.returncode == 0, r.stderr
    if r.stdout.startswith("none:"):
        pytest.skip(f"there is no Vulkan device: {r.stdout}")
    assert r.stdout.splitlines() == ["NOT_WORTHWHILE: the call is not worth the device's while", "[21.0, 43.0]"]


def test_default_backend():
    r = python("""
import numpy as np, qtsaccel as qa
try:
    qa.active()
except qa.NotFound as e:
    print(e.status.name)
b = qa.Backend("cpu", threads=1)
qa.install(b)
qa.install(b)
b.close()
again = qa.active()
print(again.matmul(np.float32([[1, 2]]), again.matrix(np.float32([[3, 4]]))).tolist())
again.close()
print(qa.active().name.split()[0])
try:
    qa.install(qa.Backend("reference"))
except qa.Error as e:
    print(e.status.name)
""")
    assert r.stdout.split("\n")[:4] == ["NOT_FOUND", "[[11.0]]", "cpu", "ALREADY_EXISTS"], r.stdout + r.stderr
    r = python("import qtsaccel as qa; qa.install(None); print(qa.active())")
    assert r.stdout == "None\n", r.stderr


def test_threads_share_matrices(backend):
    w = floats(16, 16)
    m, wrong = backend.matrix(w), []

    def work():
        for _ in range(100):
            x = np.random.default_rng().normal(size=(3, 16)).astype(np.float32)
            if not np.allclose(backend.matmul(x, m), x @ w.T, rtol=1e-4, atol=1e-4):
                wrong.append(x)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
