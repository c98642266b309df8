"""Tensors of PyTorch and JAX in and out, on the host and, where there is one, on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import qtsaccel as qa

SHAPE = (6, 4)
VALUES = np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)


@pytest.fixture
def double(session):
    """A plan that doubles an array."""
    g = qa.Graph("double")
    g.output("y", g.input("x", np.float32, SHAPE) * 2)
    with session.plan(g) as plan:
        yield plan


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def jax():
    return pytest.importorskip("jax", reason="JAX is not installed")


@pytest.fixture(scope="module")
def cuda(torch):
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device")
    return torch.device("cuda")


@pytest.fixture(scope="module")
def jax_gpu(jax):
    try:
        return jax.devices("gpu")[0]
    except RuntimeError as e:
        pytest.skip(f"JAX finds no GPU: {e}")


def bf16_plan(session):
    g = qa.Graph("bf16")
    g.output("y", qa.ops.cast(g.input("x", "bf16", (4,)), dtype="f32"))
    return session.plan(g)


@pytest.mark.parametrize(
    "form",
    [
        lambda t: t,
        lambda t: t.requires_grad_(),
        lambda t: t.T.contiguous().T,
        lambda t: t.repeat_interleave(2, 1)[:, ::2],
    ],
)
def test_torch(double, torch, form):
    y = double.run({"x": form(torch.from_numpy(VALUES.copy()))})["y"]
    back = torch.from_dlpack(y)
    assert back.data_ptr() == y.ctypes.data  # no copy
    np.testing.assert_array_equal(back.numpy(), 2 * VALUES)


def test_into_a_tensor_of_torch(double, torch):
    into = torch.zeros(4, 6).T
    assert double.run({"x": VALUES}, out={"y": into})["y"] is into
    np.testing.assert_array_equal(into.numpy(), 2 * VALUES)


def test_torch_errors(double, session, torch):
    for tensor, says in [
        (torch.zeros(SHAPE, dtype=torch.float64), "dtype float64, want float32"),
        (torch.zeros(4, 6), r"\[4, 6\], want \[6, 4\]"),
        (torch.zeros(SHAPE).to_sparse(), "'x' cannot be read through DLPack"),
        (torch.zeros(SHAPE, dtype=torch.bfloat16), "want float32"),
    ]:
        with pytest.raises(qa.Error, match=says):
            double.run({"x": tensor})


def test_torch_bf16(session, torch):
    pytest.importorskip("ml_dtypes")
    t = torch.tensor([1, -2.5, 3e8, 0.1], dtype=torch.bfloat16)
    np.testing.assert_array_equal(bf16_plan(session).run({"x": t})["y"], t.float().numpy())


def test_torch_weights(session, torch):
    w = torch.from_numpy(VALUES.copy())
    g = qa.Graph("weights")
    g.output("y", g.input("x", np.float32, (2, 4)) @ g.weight(qa.Weights({"w": w.T}), "w"))
    x = np.ones((2, 4), np.float32)
    np.testing.assert_allclose(session.plan(g).run({"x": x})["y"], x @ VALUES.T, rtol=1e-5, atol=1e-5)


def test_torch_on_cuda(double, session, torch, cuda):
    """What lies on a GPU is copied by way of the host; results do not go there by themselves."""
    t = torch.from_numpy(VALUES).to(cuda)
    y = double.run({"x": t})["y"]
    np.testing.assert_array_equal(y, 2 * VALUES)
    np.testing.assert_array_equal(torch.from_dlpack(y).to(cuda).cpu().numpy(), 2 * VALUES)
    np.testing.assert_array_equal(double.run({"x": t.T.contiguous().T})["y"], 2 * VALUES)
    with pytest.raises(qa.Error, match="lies on a device"):
        double.run({"x": t}, out={"y": torch.empty(SHAPE, device=cuda)})
    assert qa.Weights({"w": t}).info("w").shape == SHAPE
    b = torch.tensor([1, -2.5, 3e8, 0.1], dtype=torch.bfloat16, device=cuda)
    np.testing.assert_array_equal(bf16_plan(session).run({"x": b})["y"], b.float().cpu().numpy())


def test_jax(double, jax):
    x = jax.device_put(VALUES, jax.devices("cpu")[0])
    y = double.run({"x": x})["y"]
    with jax.default_device(jax.devices("cpu")[0]):
        back = jax.numpy.from_dlpack(y)
    assert isinstance(back, jax.Array)
    np.testing.assert_array_equal(np.asarray(back), 2 * VALUES)
    np.testing.assert_array_equal(double.run({"x": x.T.T * 1})["y"], 2 * VALUES)


def test_jax_errors(double, jax):
    for array, says in [
        (jax.numpy.zeros(SHAPE, jax.numpy.int32), "dtype int32, want float32"),
        (jax.numpy.zeros((4, 6)), r"\[4, 6\], want \[6, 4\]"),
    ]:
        with pytest.raises(qa.Error, match=says):
            double.run({"x": array})
    # JAX's arrays never change.
    with pytest.raises(qa.Error, match="read-only|lies on a device"):
        double.run({"x": VALUES}, out={"y": jax.numpy.zeros(SHAPE)})


def test_jax_bf16(session, jax):
    x = jax.numpy.asarray([1, -2.5, 3e8, 0.1], jax.numpy.bfloat16)
    np.testing.assert_array_equal(bf16_plan(session).run({"x": x})["y"], np.asarray(x.astype(np.float32)))


def test_jax_on_a_gpu(double, jax, jax_gpu):
    x = jax.device_put(VALUES, jax_gpu)
    y = double.run({"x": x})["y"]
    np.testing.assert_array_equal(y, 2 * VALUES)
    np.testing.assert_array_equal(np.asarray(jax.device_put(y, jax_gpu)), 2 * VALUES)
