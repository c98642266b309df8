"""Arrays of all kinds in and out: right, or a clear error."""

from __future__ import annotations

import numpy as np
import pytest

import qtsaccel as qa

SHAPE = (6, 4)
VALUES = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


@pytest.fixture
def double(session):
    """A plan that doubles an array."""
    g = qa.Graph("double")
    g.output("y", g.input("x", np.float32, SHAPE) * 2)
    with session.plan(g) as plan:
        yield plan


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def strided(a):
    wide = np.zeros((12, 12), np.float32)
    wide[::2, 1::3] = a
    return wide[::2, 1::3]


class Speaker:
    """Speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnDevice(Speaker):
    def __dlpack_device__(self):
        return (2, 0)


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        np.asfortranarray,
        strided,
        read_only,
        lambda a: a[::-1][::-1],
        lambda a: np.flip(np.flip(a).copy()),
        lambda a: np.broadcast_to(a, (2, *SHAPE))[1],
        lambda a: a.astype(">f4"),
        lambda a: a.T.copy().T,
        lambda a: a.tolist(),
        lambda a: np.frombuffer(a.tobytes(), np.float32).reshape(SHAPE),
        Speaker,
    ],
)
def test_input_forms(double, form):
    np.testing.assert_array_equal(double.run({"x": form(VALUES)})["y"], 2 * VALUES)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (VALUES.astype(np.float64), "dtype float64, want float32"),
        (VALUES.astype(object), "dtype object"),
        (VALUES.astype(np.int32), "dtype int32, want float32"),
        (VALUES.astype("U8"), "want float32"),
        (VALUES[:, :3], r"shape \[6, 3\], want \[6, 4\]"),
        (np.zeros((0, 4), np.float32), r"shape \[0, 4\], want \[6, 4\]"),
        (np.float32(1), r"shape \[\], want \[6, 4\]"),
        ([[object()]], "dtype object"),
        ([["a"]], "do not fit"),
        (OnDevice(VALUES), "lies on a device"),
    ],
)
def test_wrong_input(double, value, says):
    with pytest.raises(qa.Error, match=says) as e:
        double.run({"x": value})
    assert "'x'" in e.value.message
    assert isinstance(e.value, ValueError)
    np.testing.assert_array_equal(double.run({"x": VALUES})["y"], 2 * VALUES)


def test_lists_lose_nothing(session):
    g = qa.Graph("ids")
    g.output("y", qa.ops.cast(g.input("x", np.int32, (3,)), dtype="f32"))
    plan = session.plan(g)
    np.testing.assert_array_equal(plan.run({"x": [1, 2, 3]})["y"], [1, 2, 3])
    for wrong in ([1.5, 2, 3], [2**40, 2, 3]):
        with pytest.raises(qa.Error, match="do not fit into int32"):
            plan.run({"x": wrong})


@pytest.mark.parametrize(
    "form",
    [
        lambda: np.zeros(SHAPE, np.float32),
        lambda: np.zeros(SHAPE, np.float32, order="F"),
        lambda: strided(np.zeros(SHAPE, np.float32)),
        lambda: np.zeros(SHAPE, ">f4"),
    ],
)
def test_output_into(double, form):
    into = form()
    result = double.run({"x": VALUES}, out={"y": into})
    assert result["y"] is into
    np.testing.assert_array_equal(into, 2 * VALUES)


def test_output_into_itself(double):
    a = VALUES.copy()
    double.run({"x": a}, out={"y": a})
    np.testing.assert_array_equal(a, 2 * VALUES)


def test_wrong_output(double):
    for into, says in [
        (read_only(VALUES), "read-only"),
        (np.zeros((4, 6), np.float32), r"\[4, 6\], want \[6, 4\]"),
        (np.zeros(SHAPE, np.float64), "float64, want float32"),
    ]:
        with pytest.raises(qa.Error, match=says):
            double.run({"x": VALUES}, out={"y": into})


def test_a_contiguous_array_is_not_copied(double, monkeypatch):
    """The library reads it where it lies, and writes the result where it will stay."""
    from qtsaccel import _session

    seen = []
    monkeypatch.setattr(_session, "pointer", lambda a: seen.append(a) or a.__array_interface__["data"][0])
    result = double.run({"x": VALUES})["y"]
    assert seen[0] is VALUES and seen[1] is result


def test_result_speaks_dlpack(double):
    y = double.run({"x": VALUES})["y"]
    again = np.from_dlpack(Speaker(y))
    assert np.shares_memory(again, y)


def test_bf16(session):
    bf16 = pytest.importorskip("ml_dtypes").bfloat16
    g = qa.Graph("bf16")
    g.output("y", qa.ops.cast(g.input("x", bf16, (4,)), dtype="f32"))
    a = np.array([1, -2.5, 3e8, 0.1], bf16)
    np.testing.assert_array_equal(session.plan(g).run({"x": a})["y"], a.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float16, np.int16, np.int64, np.int8])
def test_other_dtypes(session, dtype):
    g = qa.Graph("cast")
    g.output("y", qa.ops.cast(g.input("x", dtype, (3, 2)), dtype="f32"))
    a = np.array([[1, -2], [3, 4], [5, -6]], dtype)
    np.testing.assert_array_equal(session.plan(g).run({"x": a})["y"], a.astype(np.float32))


def test_unknown_dtypes():
    g = qa.Graph()
    for dtype in ("f99", np.complex64, object):
        with pytest.raises(qa.Error, match="element type"):
            g.input("x", dtype, (1,))
