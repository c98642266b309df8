"""Compositions as an application makes them, held to numpy in float64: operators on views, axes of length 1,
plans that share a session, lengths that change. Each operator alone is held to its reference elsewhere; here it
is what they are together."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import pytest

import qtsaccel as qa
from qtsaccel import ops

DEVICES = ["cpu", "reference"] + (["vulkan"] if os.environ.get("QTSACCEL_TEST_VULKAN") == "1" else [])

# Of values of a few units. Vulkan would take the factors of products as f16.
TOLERANCE = 2e-4
os.environ.setdefault("GGML_VK_DISABLE_F16", "1")


@pytest.fixture(scope="module", params=DEVICES)
def device(request):
    name = request.param
    with qa.Backend(name, threads=2, **({"device": "0"} if name == "vulkan" else {})) as b:
        yield b


def erf(x: np.ndarray) -> np.ndarray:
    from math import erf as one

    return np.vectorize(one, otypes=[np.float64])(x)


def softmax(x: np.ndarray, axis: int) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


# Each: of the library, of numpy. They keep the shape.
UNARY: dict[str, tuple[Callable, Callable]] = {
    "relu": (ops.relu, lambda a: np.maximum(a, 0)),
    "leaky_relu": (ops.leaky_relu, lambda a: np.where(a > 0, a, 0.01 * a)),
    "clamp": (lambda t: ops.clamp(t, min=-0.75, max=1.25), lambda a: np.clip(a, -0.75, 1.25)),
    "abs": (ops.abs, np.abs),
    "neg": (ops.neg, np.negative),
    "square": (ops.square, np.square),
    "tanh": (ops.tanh, np.tanh),
    "sigmoid": (ops.sigmoid, lambda a: 1 / (1 + np.exp(-a))),
    "silu": (ops.silu, lambda a: a / (1 + np.exp(-a))),
    "gelu": (ops.gelu, lambda a: a * 0.5 * (1 + erf(a / np.sqrt(2)))),
    "exp": (ops.exp, np.exp),
    "sin": (ops.sin, np.sin),
    "cos": (ops.cos, np.cos),
    "scale": (lambda t: ops.scale(t, scale=-1.5, bias=0.25), lambda a: -1.5 * a + 0.25),
    "double": (lambda t: t * 2, lambda a: a * 2),
    "sum with itself": (lambda t: t + t, lambda a: a + a),
}


def views(shape: tuple[int, ...]) -> list[tuple[str, Callable, Callable]]:
    """Views of a tensor of rank 3, the same of the library and of numpy."""
    a, b, c = shape
    return [
        ("whole", lambda t: t, lambda v: v),
        ("one of the middle", lambda t: t[:, :1], lambda v: v[:, :1]),
        ("one of the first", lambda t: t[:1], lambda v: v[:1]),
        ("one of the last", lambda t: t[:, :, :1], lambda v: v[:, :, :1]),
        ("rest of the middle", lambda t: t[:, 1:], lambda v: v[:, 1:]),
        ("rest of the last", lambda t: t[:, :, 1:], lambda v: v[:, :, 1:]),
        ("every other", lambda t: t[:, :, ::2], lambda v: v[:, :, ::2]),
        ("last two", lambda t: t[:, -2:, 1:-1], lambda v: v[:, -2:, 1:-1]),
        ("transposed", lambda t: ops.transpose(t, axes=(2, 0, 1)), lambda v: v.transpose(2, 0, 1)),
        (
            "transposed and cut",
            lambda t: ops.transpose(t, axes=(1, 0, 2))[:1],
            lambda v: v.transpose(1, 0, 2)[:1],
        ),
        ("reshaped", lambda t: ops.reshape(t, shape=(b, a, c)), lambda v: v.reshape(b, a, c)),
        ("cut twice", lambda t: t[:, 1:][:, :1], lambda v: v[:, 1:][:, :1]),
    ]


def compare(got: np.ndarray, want: np.ndarray, what: object = "") -> None:
    assert got.shape == want.shape, what
    largest = max(1.0, float(np.abs(want).max(initial=0)))
    error = np.abs(got.astype(np.float64) - want)
    assert not np.isnan(error).any() and error.max(initial=0) <= TOLERANCE * largest, (what, float(error.max()))


def values(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(5, 7, 4), (1, 6, 33), (3, 1, 8), (40, 6, 64), (1, 1, 5)])
@pytest.mark.parametrize("then", ["double", "sum with itself", "clamp"])
def test_operators_on_views(device, shape, then):
    """Element by element on a view, and again on what comes out: axes of length 1 have no stride of their own."""
    x = values(1, shape)
    g = qa.Graph("views")
    t = g.input("x", np.float32, shape)
    want = {}
    for name, ours, theirs in views(shape):
        v = theirs(x.astype(np.float64))
        if 0 in v.shape:
            continue
        for op, (f, of_numpy) in UNARY.items():
            key = f"{name}: {op}, {then}"
            g.output(key, UNARY[then][0](f(ours(t))))
            want[key] = UNARY[then][1](of_numpy(v))
    with device.session() as s, s.plan(g) as p:
        for _ in range(2):
            got = p.run({"x": x})
            for key, w in want.items():
                compare(got[key], w, key)


@pytest.mark.parametrize("shape", [(1, 7, 4), (1, 8, 16), (3, 1, 8), (2, 6, 1), (4, 4, 4)])
def test_concat_of_views(device, shape):
    x = values(2, shape)
    g = qa.Graph("concat")
    t = g.input("x", np.float32, shape)
    want = {}
    for name, ours, theirs in views(shape):
        v = theirs(x.astype(np.float64))
        if 0 in v.shape:
            continue
        for axis in range(3):
            for n in (2, 3):
                key = f"{n} times {name} along {axis}"
                g.output(key, ops.concat(*[ours(t)] * n, axis=axis))
                want[key] = np.concatenate([v] * n, axis=axis)
        key = f"{name}, and computed on"
        g.output(key, ops.concat(ours(t), ops.neg(ours(t)), ours(t) * 2, axis=0))
        want[key] = np.concatenate([v, -v, v * 2], axis=0)
    with device.session() as s, s.plan(g) as p:
        got = p.run({"x": x})
        for key, w in want.items():
            compare(got[key], w, key)


@pytest.mark.parametrize("width", [6, 96, 192])
@pytest.mark.parametrize("lengths", [(1, 1, 3, 1), (8, 1, 2), (2, 7, 1, 7, 5)])
def test_concat_of_a_length_that_changes(device, width, lengths):
    d = width // 3
    g = qa.Graph("qkv")
    n = g.dim("n", 1, 8)
    x = g.input("x", np.float32, (n, width))
    g.output("rows", ops.concat(x[:, d : 2 * d], x[:, 2 * d :], axis=0))
    g.output("columns", ops.concat(x[:, 2 * d :], x[:, :d], axis=1))
    with device.session() as s, s.plan(g) as p:
        for k in lengths:
            a = values(k, (k, width))
            got = p.run({"x": a})
            compare(got["rows"], np.concatenate([a[:, d : 2 * d], a[:, 2 * d :]]), k)
            compare(got["columns"], np.concatenate([a[:, 2 * d :], a[:, :d]], axis=1), k)


# Graphs of a vector, of the library and of numpy: of equal sizes and numbers of nodes, and of other shapes.
def chain(t):
    s = ops.sigmoid(ops.tanh(ops.neg(t)))
    return s + s


def chain_of(a):
    return 2 / (1 + np.exp(-np.tanh(-a)))


def diamond(t):
    u = ops.tanh(t)
    return u + ops.exp(ops.sigmoid(u))


def diamond_of(a):
    u = np.tanh(a)
    return u + np.exp(1 / (1 + np.exp(-u)))


def late(t):
    u, v = ops.neg(t), ops.sin(t)
    return ops.cos(u) * v + u


def late_of(a):
    return np.cos(-a) * np.sin(a) - a


def norm(t):
    return ops.softmax(t, axis=0) * t


def norm_of(a):
    return softmax(a, 0) * a


GRAPHS = [(chain, chain_of), (diamond, diamond_of), (late, late_of), (norm, norm_of)]


@pytest.mark.parametrize("seed", range(6))
def test_plans_that_share_a_session(device, seed):
    """Each gives what it gives alone, in whatever order they are made and run."""
    random = np.random.default_rng(seed)
    sizes = (4096, 4096, 16, 1000)
    with device.session() as s:
        plans = []
        for i in random.permutation(len(GRAPHS) * 2):
            f, of_numpy = GRAPHS[i % len(GRAPHS)]
            n = sizes[int(random.integers(len(sizes)))]
            g = qa.Graph(f.__name__)
            g.output("y", f(g.input("x", np.float32, (n,))))
            plans.append((s.plan(g), of_numpy, n))
            for j in random.integers(len(plans), size=4):
                p, want, m = plans[int(j)]
                x = values(int(random.integers(1 << 30)), (m,))
                compare(p.run({"x": x})["y"], want(x.astype(np.float64)), want.__name__)


def test_constants_stay_when_another_plan_runs(device):
    c = np.linspace(-2, 2, 16, dtype=np.float32).reshape(16, 1)
    d = np.ones((1, 2, 15, 1), np.float32)
    a = qa.Graph("a")
    k = a.constant(c)
    a.output("u", ops.clamp(k, min=-1.1, max=1.2))
    a.output("v", ops.abs(ops.clamp(k, min=-1.7, max=-0.3)))
    b = qa.Graph("b")
    k = b.constant(d)
    b.output("p", ops.upsample(k, scale=(3, 2)))
    b.output("q", ops.exp(ops.cos(k)))
    with device.session() as s, s.plan(a) as first, s.plan(b) as second:
        for _ in range(3):
            got = first.run()
            compare(got["u"], np.clip(c.astype(np.float64), -1.1, 1.2))
            compare(got["v"], np.abs(np.clip(c.astype(np.float64), -1.7, -0.3)))
            got = second.run()
            compare(got["p"], np.ones((1, 2, 45, 2)))
            compare(got["q"], np.exp(np.cos(d.astype(np.float64))))


CUMSUMS = {
    "1, 2": (lambda t: ops.cumsum(ops.cumsum(t, axis=1), axis=2), lambda a: a.cumsum(1).cumsum(2)),
    "2, 1": (lambda t: ops.cumsum(ops.cumsum(t, axis=2), axis=1), lambda a: a.cumsum(2).cumsum(1)),
    "0, 1 of two axes": (lambda t: ops.cumsum(ops.cumsum(t[0], axis=0), axis=1), lambda a: a[0].cumsum(0).cumsum(1)),
    "1": (lambda t: ops.cumsum(t, axis=1), lambda a: a.cumsum(1)),
    "2": (lambda t: ops.cumsum(t, axis=2), lambda a: a.cumsum(2)),
    "2, relu, 2": (
        lambda t: ops.cumsum(ops.relu(ops.cumsum(t, axis=2)), axis=2),
        lambda a: np.maximum(a.cumsum(2), 0).cumsum(2),
    ),
}


@pytest.mark.parametrize("how", CUMSUMS)
@pytest.mark.parametrize("lengths", [(20, 2), (20, 19), (20, 8, 7), (9, 8), (2, 20), (1, 64, 1)])
def test_cumsum_of_lengths_that_change(device, how, lengths):
    ours, theirs = CUMSUMS[how]
    g = qa.Graph("dynamic")
    n = g.dim("n", 1, 64)
    g.output("y", ours(g.input("x", np.float32, (3, 8, n))))
    with device.session() as s, s.plan(g) as p:
        for k in lengths:
            x = values(k, (3, 8, k))
            compare(p.run({"x": x})["y"], theirs(x.astype(np.float64)), ("dynamic", k))
    with device.session() as s:
        for k in lengths:
            g = qa.Graph("fixed")
            g.output("y", ours(g.input("x", np.float32, (3, 8, k))))
            x = values(k, (3, 8, k))
            compare(s.plan(g).run({"x": x})["y"], theirs(x.astype(np.float64)), ("plans", k))


def test_prefill_and_steps_share_a_cache(device):
    """What every engine does: many positions at once, then one after the other, on one session, in two plans."""
    heads, d, longest = 2, 8, 24
    random = np.random.default_rng(7)
    x = random.uniform(-1, 1, (longest, heads * d)).astype(np.float32)
    weights = [random.uniform(-0.5, 0.5, (heads * d, heads * d)).astype(np.float32) for _ in range(3)]

    def graph(t: int) -> qa.Graph:
        g = qa.Graph(f"{t} positions")
        h = g.input("x", np.float32, (t, heads * d))
        at = g.input("at", np.int32, (t,))
        q, k, v = (ops.linear(h, g.constant(w)) for w in weights)
        kept = []
        for name, value in (("k", k), ("v", v)):
            state = g.state(name, np.float32, (longest, heads, d))
            kept.append(ops.state_write(state, ops.reshape(value, shape=(t, heads, d)), at))
        g.output("y", ops.attention(ops.reshape(q, shape=(t, heads, d)), *kept, positions=at))
        return g

    a = x.astype(np.float64)
    q, k, v = ((a @ w.astype(np.float64).T).reshape(longest, heads, d) for w in weights)
    want = np.zeros((longest, heads, d))
    for i in range(longest):
        for h in range(heads):
            p = softmax(k[: i + 1, h] @ q[i, h] / np.sqrt(d), 0)
            want[i, h] = p @ v[: i + 1, h]

    with device.session() as s:
        prefill, step, more = s.plan(graph(5)), s.plan(graph(1)), s.plan(graph(3))
        done = 0
        for plan, t in [(prefill, 5), (step, 1), (step, 1), (more, 3), (step, 1), (prefill, 5), (step, 1)]:
            y = plan.run({"x": x[done : done + t], "at": np.arange(done, done + t, dtype=np.int32)})["y"]
            compare(y.reshape(t, heads, d), want[done : done + t], done)
            done += t


def random_graph(seed: int, g: qa.Graph, t, a: np.ndarray):
    """Operators as they come on views as they come; every result that is small stays among the operands."""
    random = np.random.default_rng(seed)
    operands = [(t, a.astype(np.float64))]
    for _ in range(int(random.integers(4, 14))):
        t, a = operands[int(random.integers(len(operands)))]
        how = int(random.integers(6))
        if how < 2:
            f, of_numpy = list(UNARY.values())[int(random.integers(len(UNARY)))]
            t, a = f(t), of_numpy(a)
        elif how == 2 and a.ndim > 0:
            axis = int(random.integers(a.ndim))
            start = int(random.integers(a.shape[axis]))
            stop = int(random.integers(start, a.shape[axis])) + 1
            cut = (slice(None),) * axis + (slice(start, stop),)
            t, a = t[cut], a[cut]
        elif how == 3:
            axes = tuple(int(i) for i in random.permutation(a.ndim))
            t, a = ops.transpose(t, axes=axes), a.transpose(axes)
        elif how == 4:
            axis = int(random.integers(a.ndim))
            u, b = t * 2, a * 2
            t, a = ops.concat(t, u, axis=axis), np.concatenate([a, b], axis=axis)
        else:
            axis = int(random.integers(a.ndim))
            t, a = ops.softmax(t, axis=axis), softmax(a, axis)
        if a.size > 20000 or np.abs(a).max() > 1e3:
            continue
        operands.append((t, a))
    return operands[-1]


@pytest.mark.parametrize("seed", range(40))
def test_operators_as_they_come(device, seed):
    random = np.random.default_rng(1000 + seed)
    shape = tuple(int(n) for n in random.choice([1, 1, 2, 3, 4, 7, 16, 33], size=3))
    with device.session() as s:
        plans = []
        for i in range(3):
            x = values(seed * 10 + i, shape)
            g = qa.Graph("as they come")
            y, want = random_graph(seed * 10 + i, g, g.input("x", np.float32, shape), x)
            g.output("y", y)
            plans.append((s.plan(g), x, want))
        for i in (0, 1, 2, 1, 0):
            p, x, want = plans[i]
            compare(p.run({"x": x})["y"], want, i)
