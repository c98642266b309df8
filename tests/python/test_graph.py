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


def test_dimensions_are_expressions(session):
    g = qa.Graph("expressions")
    n, m = g.dim("n", 2, 8), g.dim("m", 1, 4)
    for made, text in [
        (n, "n"),
        (n + 1, "n + 1"),
        (1 + n * 2, "2*n + 1"),
        (10 - n, "10 - n"),
        (m - n + 1, "m - n + 1"),
        (-n + np.int64(10), "10 - n"),
        (n * m, "n*m"),
        (n // 2, "n/2"),
        ((n + 1) // m, "(n + 1)/m"),
        (6 // n, "6/n"),
    ]:
        assert str(made) == repr(made) == text
    assert n + 1 == 1 + n and hash(n + 1) == hash(1 + n) and n + 1 != n + 2 and n != m and 2 * n // 2 == n
    assert n != qa.Graph("other").dim("n", 2, 8)
    assert (n.name, n.min, n.max) == ("n", 2, 8) and (n + 1).name is None

    x = g.input("x", np.float32, (2 * n + 1, m))
    assert x.shape == (2 * n + 1, m) and str(x.shape) == "(2*n + 1, m)" and "[2*n + 1, m]" in repr(x)
    assert x.info.shape == (-1, -1) and x.info.bytes == 17 * 4 * 4 and x.ndim == 2
    g.output("part", x[n // 2 : n])
    g.output("row", x[n - 1])
    g.output("flat", x[n // 2 : n].reshape(n // 2 * m))
    g.output("count", ops.arange(g, count=n * m))
    g.output("more", ops.expand(g.input("one", np.float32, (1, x.shape[1])), shape=(n + 3, m)))
    g.input("n", np.float32, (n,))
    plan = session.plan(g)
    for values in ({"n": 4, "m": 2}, {"n": 8, "m": 1}, {"n": 2, "m": 4}):
        k, a = values["n"], RNG.normal(size=(2 * values["n"] + 1, values["m"])).astype(np.float32)
        one = RNG.normal(size=(1, values["m"])).astype(np.float32)
        got = plan.run({"x": a, "one": one, "n": np.zeros(k, np.float32)})  # tells both
        np.testing.assert_array_equal(got["part"], a[k // 2 : k])
        np.testing.assert_array_equal(got["row"], a[k - 1])
        np.testing.assert_array_equal(got["flat"], a[k // 2 : k].reshape(-1))
        np.testing.assert_array_equal(got["count"], np.arange(k * values["m"], dtype=np.float32))
        np.testing.assert_array_equal(got["more"], np.broadcast_to(one, (k + 3, values["m"])))
    with pytest.raises(qa.InvalidArgument, match='"n/2" is 3/2'):
        plan.prepare({"n": 3, "m": 1})
    with pytest.raises(qa.ShapeMismatch, match=r"\[8, 2\], want \[9, 2\]"):
        plan.run({"x": np.zeros((8, 2), np.float32), "one": np.zeros((1, 2), np.float32)}, dims={"n": 4})
    with pytest.raises(qa.InvalidArgument, match="2.5 is no size"):
        plan.prepare({"n": 2.5, "m": 1})


def test_sizes_that_are_the_same_at_both_ends(session):
    g = qa.Graph("between")
    n, m = g.dim("n", 1, 8), g.dim("m", 1, 8)
    x = g.input("x", np.float32, (m - n + 8, 2))
    y = x * 2
    assert y.shape == (-1, 2)
    g.output("y", y)
    a = RNG.normal(size=(13, 2)).astype(np.float32)
    np.testing.assert_array_equal(session.plan(g).run({"x": a}, dims={"n": 3, "m": 8})["y"], a * 2)


def test_what_is_no_size():
    g, other = qa.Graph("g"), qa.Graph("other")
    n, k = g.dim("n", 1, 8), other.dim("k", 1, 8)
    x = g.input("x", np.float32, (n, 4))
    for made, says in [
        (lambda: g.input("z", np.float32, (-n, 4)), '"-n" is -1'),
        (lambda: g.input("z", np.float32, (n - 1, 4)), '"n - 1" is 0'),
        (lambda: g.input("z", np.float32, (2.5, 4)), "2.5 is no size"),
        (lambda: g.input("z", np.float32, (np.float32(2), 4)), "no size"),
        (lambda: g.input("z", np.float32, ("2", 4)), "'2' is no size"),
        (lambda: g.input("z", np.float32, (2**64, 4)), "64 bits"),
        (lambda: g.input("z", np.float32, (n.number + 1, 4)), "computed from a dimension's number"),
        (lambda: other.input("z", np.float32, (n, 4)), "of another graph"),
        (lambda: other.state("z", np.float32, (n, 4)), "of another graph"),
        (lambda: n + k, "of another graph"),
        (lambda: x.reshape(k, -1), "of another graph"),
        (lambda: x.reshape(2.0, -1), "2.0 is no size"),
        (lambda: x[: n - 4], '"n - 4" is -3'),
        (lambda: n // 0, "division by 0"),
        (lambda: ops.arange(g, count=3.0), "3.0 is no size"),
        (lambda: g.dim("z", 1, 2.5), "2.5 is no size"),
        (lambda: g.state("z", np.float32, (n, 4)), "a state's shape is fixed"),
    ]:
        with pytest.raises(qa.InvalidArgument, match=says):
            made()
    for made, says in [
        (lambda: n / 2, "n // 2, not /"),
        (lambda: 2 / n, "not /"),
        (lambda: n + 0.5, "unsupported operand"),
        (lambda: int(n), "the dimension n has a value in a run only"),
        (lambda: range(n), "the dimension n has a value"),
        (lambda: np.zeros((n + 1, 2)), r"the dimension n \+ 1 has a value"),
        (lambda: float(n), "has a value in a run only"),
        (lambda: ops.arange(g, count=3, start=n), "has a value in a run only"),
    ]:
        with pytest.raises(TypeError, match=says):
            made()
    expression = n + 1
    g.output("reversed", x[:, -1 : -(2**63) : -1])
    g.close()
    with pytest.raises(qa.Error, match="INVALID_HANDLE"):
        n + 1
    assert "closed" in str(expression)


def test_objects_of_others_and_closed_ones(backend):
    g, other = qa.Graph("g"), qa.Graph("other")
    x, y = g.input("x", np.float32, (2,)), other.input("y", np.float32, (2,))
    for made in (lambda: x + y, lambda: y * x, lambda: g.output("z", y), lambda: g.op("relu", [y]), lambda: g.info(y)):
        with pytest.raises(qa.InvalidArgument, match="of another graph"):
            made()
    # The library tells them apart by itself, too.
    with pytest.raises(qa.InvalidArgument, match="a tensor of another graph"):
        qa._library.check(qa._library.api.graph_output(g._value, b"z", y.index))
    g.output("y", x + x)
    with qa.Backend("reference") as second:
        weight = second.matrix(np.ones((1, 2), np.float32))
        with pytest.raises(qa.InvalidArgument, match="backend"):
            backend.matmul(np.ones((1, 2), np.float32), weight)
    session = backend.session()
    plan = session.plan(g)
    weights = qa.Weights({"w": np.ones(2, np.float32)})
    for closing, calls in [
        (weights, [lambda: g.weight(weights, "w"), lambda: weights.info("w"), lambda: len(weights)]),
        (weight, [lambda: backend.matmul(np.ones((1, 2), np.float32), weight), lambda: weight.nbytes]),
        (
            g,
            [
                lambda: x + 1,
                lambda: x.info,
                lambda: g.dim("n", 1, 2),
                lambda: g.input("z", np.float32, (1,)),
                lambda: g.constant(1.0),
                lambda: g.output("z", x),
                lambda: session.plan(g),
                lambda: ops.arange(g, count=2),
            ],
        ),
        (session, [lambda: session.reset(), lambda: session.plan(other), lambda: session.cancel()]),
        (plan, [lambda: plan.run({"x": np.ones(2, np.float32)}), lambda: plan.prepare(), lambda: plan.placement]),
    ]:
        closing.close()
        closing.close()
        assert "closed" in repr(closing)
        for call in calls:
            with pytest.raises(qa.Error, match="INVALID_HANDLE"):
                call()


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


def test_attributes_by_keyword(session):
    rows = A.astype(np.float64)
    want = np.exp(rows) / np.exp(rows).sum(0)
    y = compute(session, lambda x: x.graph.op("softmax", [x], axis=0)[0], A)
    np.testing.assert_allclose(y, want, rtol=1e-5)
    # 2 for a real number, an axis that is left out, an array as an input, two outputs.
    y = compute(session, lambda x: x.graph.op("scale", [x], scale=2, bias=None)[0], A)
    np.testing.assert_array_equal(y, A * 2)
    np.testing.assert_array_equal(compute(session, lambda x: x.graph.op("add", [x, B])[0], A), A + B)
    y = compute(session, lambda x: x.graph.op("top_k", [x], k=1)[1], A)
    np.testing.assert_array_equal(y[:, 0], A.argmax(1))
    g = qa.Graph("wrong")
    x = g.input("x", np.float32, (2, 3))
    with pytest.raises(qa.NotFound, match="axes"):
        g.op("softmax", [x], axes=1)
    with pytest.raises(qa.NotFound, match="softmacks"):
        g.op("softmacks", [x], axis=1)


def test_shapes_as_numpy_takes_them(session):
    for expression in (
        lambda a: a.reshape((2, 6)).transpose((1, 0)),
        lambda a: a.reshape([2, -1]).transpose(1, 0),
        lambda a: a.reshape(np.array([2, 6])).T,
    ):
        np.testing.assert_array_equal(compute(session, expression, A), A.reshape(2, 6).T)


def test_powers_and_magnitudes(session):
    np.testing.assert_allclose(compute(session, lambda a: a**2, A), A**2, rtol=1e-6)
    np.testing.assert_allclose(compute(session, lambda a: abs(a) ** 0.5, A), np.sqrt(np.abs(A)), rtol=1e-6)
    with pytest.raises(qa.Unsupported, match=r"\*\* 3"):
        qa.Graph("g").input("x", np.float32, (2,)) ** 3


def test_what_is_not_known_while_a_graph_is_built():
    x = qa.Graph("g").input("x", np.float32, (2,))
    for use in (lambda: bool(x), lambda: x == 1, lambda: x != x, lambda: x < 1, lambda: list(x), lambda: 1 in x):
        with pytest.raises(TypeError):
            use()
    assert {x: 1}[x] == 1


def test_numbers_of_other_types_name_the_remedy():
    x = qa.Graph("g").input("x", np.float32, (64,))
    with pytest.raises(qa.InvalidArgument, match=r"float64; convert it with \.astype\('float32'\)"):
        x + np.ones(64)
    with pytest.raises(qa.InvalidArgument, match=r"uint8; convert it with \.astype\('int16'\)"):
        qa.Graph("g").input("x", np.uint8, (64,))


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
