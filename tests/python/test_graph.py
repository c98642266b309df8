"""Graphs read like numpy, and give numpy's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import qtsaccel as qa
from qtsaccel import ops

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 4)).astype(np.float32)
B = RNG.normal(size=(3, 4)).astype(np.float32) + 3
W = RNG.normal(size=(4, 5)).astype(np.float32)


def compute(session, expression, *arrays):
    """The value of an expression over inputs."""
    g = qa.Graph("expression")
    g.output("y", expression(*(g.input(f"x{i}", a.dtype, a.shape) for i, a in enumerate(arrays))))
    with session.plan(g) as plan:
        return plan.run({f"x{i}": a for i, a in enumerate(arrays)})["y"]


@pytest.mark.parametrize(
    "expression",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: -a,
        lambda a, b: a + 1,
        lambda a, b: 2 - a,
        lambda a, b: a * 0.5 + 3,
        lambda a, b: a / 4,
        lambda a, b: 1 / b,
        lambda a, b: a @ W,
        lambda a, b: W.T @ a.T,
        lambda a, b: a + B,
        lambda a, b: B - a,
        lambda a, b: a * np.float32(2),
        lambda a, b: a * b[0],
        lambda a, b: a.reshape(2, -1),
        lambda a, b: a.T,
        lambda a, b: a.transpose(1, 0),
        lambda a, b: a[1:],
        lambda a, b: a[:, 1:3],
        lambda a, b: a[..., 2],
        lambda a, b: a[-1],
        lambda a, b: a[0, 1:],
        lambda a, b: a[::-1, ::2],
        lambda a, b: a[..., -3:-1],
        lambda a, b: a[:, 3:0:-2],
    ],
)
def test_reads_like_numpy(session, expression):
    want = expression(A, B)
    got = compute(session, expression, A, B)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("built", "want"),
    [
        (lambda a: ops.silu(a), A / (1 + np.exp(-A))),
        (lambda a: ops.softmax(a), np.exp(A) / np.exp(A).sum(-1, keepdims=True)),
        (lambda a: ops.softmax(a, axis=0), np.exp(A) / np.exp(A).sum(0)),
        (lambda a: ops.reduce_mean(a, axis=1, keepdims=0), A.mean(1)),
        (lambda a: ops.concat(a, a * 2, axis=1), np.concatenate([A, 2 * A], 1)),
        (lambda a: ops.pad(a, pads=(0, 1, 0, 2), value=9), np.pad(A, ((0, 0), (1, 2)), constant_values=9)),
        (lambda a: ops.linear(a, W.T.copy(), W[0, :5]), A @ W + W[0]),
        (lambda a: ops.clamp(a, min=-0.5, max=0.5), A.clip(-0.5, 0.5)),
        (lambda a: a + ops.arange(a.graph, count=4, start=1, step=2), A + [1, 3, 5, 7]),
        (lambda a: ops.top_k(a, k=2)[0], -np.sort(-A)[:, :2]),
        (lambda a: ops.where(ops.step(a), a, -1 * a), abs(A)),
    ],
)
def test_operators(session, built, want):
    np.testing.assert_allclose(compute(session, built, A), want, rtol=1e-5, atol=1e-5)


def test_several_outputs(session):
    g = qa.Graph("top")
    values, indices = ops.top_k(g.input("x", np.float32, A.shape), k=3)
    g.output("values", values)
    g.output("indices", indices)
    plan = session.plan(g)
    both = plan.run({"x": A})
    order = np.argsort(-A)[:, :3]
    np.testing.assert_array_equal(both["indices"], order)
    np.testing.assert_array_equal(both["values"], np.take_along_axis(A, order, 1))
    assert list(plan.run({"x": A}, outputs=["indices"])) == ["indices"]


def test_dynamic_dimensions(session):
    w = qa.Weights({"w": W})
    g = qa.Graph("dynamic")
    n, m = g.dim("n", 1, 64), g.dim("m", 2, 8)
    x = g.input("x", np.float32, (n, 4))
    g.output("y", x @ g.weight(w, "w"))
    g.output("head", x[:m])
    plan = session.plan(g)
    w.close()
    for rows in (2, 7, 64):
        a = RNG.normal(size=(rows, 4)).astype(np.float32)
        got = plan.run({"x": a}, dims={"m": 2})
        np.testing.assert_allclose(got["y"], a @ W, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(got["head"], a[:2])
    for dims, shape, says in [
        ({}, (3, 4), "dims lacks m"),
        ({"m": 2, "k": 1}, (3, 4), "no dynamic dimension 'k'; known: n, m"),
        ({"m": 2}, (65, 4), '"n" is 65, it ranges from 1 to 64'),
        ({"m": 9}, (9, 4), '"m" is 9'),
        ({"m": 2, "n": 5}, (3, 4), r"\[3, 4\], want \[5, 4\]"),
    ]:
        with pytest.raises(qa.Error, match=says):
            plan.run({"x": np.zeros(shape, np.float32)}, dims=dims)


def test_state(session):
    g = qa.Graph("sum")
    total = g.state("total", np.float32, (2,))
    g.output("now", ops.state_write(total, total + g.input("x", np.float32, (2,))))
    plan = session.plan(g)
    for _ in range(3):
        now = plan.run({"x": np.float32([1, 2])})["now"]
    np.testing.assert_array_equal(now, [3, 6])
    np.testing.assert_array_equal(session.read("total"), [3, 6])
    session.write("total", [10, 20])
    np.testing.assert_array_equal(plan.run({"x": np.float32([1, 2])})["now"], [11, 22])
    session.reset()
    np.testing.assert_array_equal(session.read("total"), [0, 0])
    assert session.states["total"].shape == (2,)
    with pytest.raises(qa.NotFound, match="'gone'; known: total"):
        session.read("gone")
    with pytest.raises(qa.ShapeMismatch):
        session.write("total", [1, 2, 3])


def test_errors_of_the_library():
    g = qa.Graph("bad")
    x = g.input("x", np.float32, (2, 3))
    with pytest.raises(qa.ShapeMismatch, match=r"matmul.*\[2, 3\]"):
        x @ np.ones((4, 5), np.float32)
    with pytest.raises(qa.Error, match="softmax.*axis is 7"):
        ops.softmax(x, axis=7)
    with pytest.raises(qa.NotFound, match="no_such"):
        g.op("no_such", [x])
    with pytest.raises(qa.Error, match="another graph"):
        x + qa.Graph("other").input("x", np.float32, (2, 3))
    with pytest.raises(qa.Error, match="must be a tensor"):
        ops.silu(np.ones(3, np.float32))
    with pytest.raises(qa.Error) as e:
        g.input("x", np.float32, (2, 3))
    assert e.value.status is qa.Status.ALREADY_EXISTS
    for beyond in (5, 2, -3):
        with pytest.raises(qa.Error, match="nothing is left of axis 0"):
            x[beyond]
    with pytest.raises(qa.Error, match="subscript"):
        x["a"]


def test_repr_says_something(backend, session):
    g = qa.Graph("net")
    x = g.input("x", np.float32, (2, 3))
    g.output("y", x + 1)
    assert "f32 [2, 3]" in repr(x) and "net" in repr(x)
    assert repr(g) == "<Graph 'net': (x: f32 [2, 3]) -> (y: f32 [2, 3])>"
    plan = session.plan(g)
    assert repr(plan) == "<Plan of 'net': (x: float32 [2, 3]) -> (y: float32 [2, 3])>"
    assert "cpu" in repr(backend)
    plan.run({"x": A[:2, :3]})
    assert "scale" in str(plan.placement) and plan.placement.json()["graph"] == "net"
    assert plan._repr_html_().startswith("<pre>")
    assert backend.report.json()["requested"] == "cpu"
    plan.close()
    assert "closed" in repr(plan)
