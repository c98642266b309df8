"""Weights from arrays, from files, and from matrices that other systems quantised."""

from __future__ import annotations

import gc
import json
import struct

import numpy as np
import pytest

import qtsaccel as qa
from conftest import python
from test_arrays import SHAPE, VALUES, Speaker, read_only, strided


def test_weights():
    w = qa.Weights({"a": np.asfortranarray(VALUES), "b": [1.0, 2.0]}, progress=True)
    assert list(w) == ["a", "b"] and len(w) == 2 and "a" in w and "c" not in w
    assert w.info("a") == (qa.DType.F32, SHAPE, VALUES.nbytes)
    with pytest.raises(qa.ShapeMismatch, match=r"'a' has shape \[4, 6\]"):
        w["a"] = VALUES.T
    with pytest.raises(qa.Error, match="float64"):
        w["c"] = VALUES.astype(np.float64)
    with pytest.raises(qa.NotFound):
        w.info("c")
    with pytest.raises(qa.Error) as e:
        qa.Weights.open("/nowhere/model.gguf")
    assert e.value.status is qa.Status.IO and "/nowhere/model.gguf" in e.value.message


def product(session, weights, name="w"):
    """The weight's values, transposed, as a product with the identity gives them."""
    g = qa.Graph("product")
    w = g.weight(weights, name)
    n = w.shape[1]
    g.output("y", qa.ops.linear(g.input("x", np.float32, (n, n)), w))
    with session.plan(g) as plan:
        return plan.run({"x": np.eye(n, dtype=np.float32)})["y"].T


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        strided,
        read_only,
        lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
        lambda a: a.astype(">f4"),
        Speaker,
    ],
)
def test_weight_forms(session, form):
    np.testing.assert_array_equal(product(session, qa.Weights({"w": form(VALUES)})), VALUES)


def test_weights_are_converted_where_asked(session):
    w = qa.Weights()
    w.set("half", VALUES[::-1], dtype="f16")
    w.set("wide", VALUES.astype(np.float16), dtype=np.float32)
    assert w.info("half").dtype is qa.DType.F16 and w.info("wide").dtype is qa.DType.F32
    np.testing.assert_array_equal(product(session, w, "half"), VALUES[::-1].astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(product(session, w, "wide"), VALUES.astype(np.float16).astype(np.float32))
    w.declare("declared", "f16", SHAPE)
    for value, dtype, says in [
        (VALUES, None, "dtype float32, want float16"),
        (VALUES, "f32", "declared as f16, not f32"),
        (VALUES.T, None, r"\[4, 6\], want \[6, 4\]"),
        (VALUES * 1e6, "f16", "65504|hold"),
    ]:
        with pytest.raises(qa.Error, match=says):
            w.set("declared", value, dtype=dtype)
    w.set("declared", [[1.0] * 4] * 6)
    np.testing.assert_array_equal(product(session, w, "declared"), np.ones(SHAPE))


def test_lent_weights(session):
    """They are used where they lie, and given back when nothing needs them any more."""
    from qtsaccel import _weights

    memory = np.empty(VALUES.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 32
    array = memory[start : start + VALUES.nbytes].view(np.float32).reshape(SHAPE)
    array[:] = VALUES
    w = qa.Weights()
    w.set("w", array, lend=True)
    w.set("copied", VALUES.T, lend=True)
    assert [a is array for a in _weights._lent.values()] == [True]  # the other is given back already
    array *= 2  # a host must not; here it shows that there is no copy
    np.testing.assert_array_equal(product(session, w), 2 * VALUES)
    w.close()
    gc.collect()
    assert not _weights._lent
    with pytest.raises(qa.Error):
        w.set("w", VALUES, lend=True)
    assert not _weights._lent


def test_split_matrices(session):
    rng = np.random.default_rng(5)
    levels = rng.integers(-127, 128, (4, 64), np.int8)
    scales = (rng.integers(1, 64, (4, 2)) / 64).astype(np.float32)
    want = levels * scales.repeat(32, 1)
    w = qa.Weights()
    report = w.add_split("int8", qa.SplitMatrix(levels, scales))
    assert (report.dtype, report.exact, report.max_absolute_error) == (qa.DType.Q8_0, True, 0)
    assert report.bytes == 4 * 2 * 34
    w.add_split("strided", qa.SplitMatrix(np.asfortranarray(levels), scales[:, ::-1].copy()[:, ::-1]), dtype="f32")
    np.testing.assert_allclose(product(session, w, "int8"), want, rtol=2e-2)
    np.testing.assert_array_equal(product(session, w, "strided"), want)

    nibbles = rng.integers(0, 16, (4, 64), np.uint8)
    packed = nibbles[:, 0::2] | nibbles[:, 1::2] << 4
    half = (np.float16(0.5) + np.arange(4) / 8).astype(np.float16)
    matrix = qa.SplitMatrix(packed, half, -half, bits=4)
    assert w.add_split("mlx", matrix, dtype="f32").exact
    want = half[:, None].astype(np.float32) * (nibbles.astype(np.float32) - 1)
    np.testing.assert_array_equal(product(session, w, "mlx"), want)
    for wrong, says in [
        (qa.SplitMatrix(levels.astype(np.int16), scales), "one byte"),
        (qa.SplitMatrix(levels, scales[:3]), r"\[3, 2\], want \[4, 64 / block\]"),
        (qa.SplitMatrix(levels, scales, scales[:, :1]), "offsets"),
        (qa.SplitMatrix(levels, scales, nibbles="middle"), "known: low_first"),
        (qa.SplitMatrix(levels, scales, bits=5), "5 bits"),
    ]:
        with pytest.raises(qa.Error, match=says):
            w.add_split("wrong", wrong)


def test_quantised_weights(session):
    """Blocks go in as bytes: q8_0 is a scale in f16 and 32 numbers."""
    w = qa.Weights()
    w.declare("w", "q8_0", (1, 32))
    w["w"] = np.float16(0.5).tobytes() + np.arange(32, dtype=np.int8).tobytes()
    g = qa.Graph("q")
    g.output("y", qa.ops.linear(g.input("x", np.float32, (1, 32)), g.weight(w, "w")))
    y = session.plan(g).run({"x": np.ones((1, 32), np.float32)})["y"]
    np.testing.assert_allclose(y, [[0.5 * np.arange(32).sum()]], rtol=2e-2)


def test_save_and_open(tmp_path):
    w = qa.Weights({"layer.0.w": VALUES, "layer.1.w": 2 * VALUES})
    path, told = tmp_path / "ü.gguf", []
    w.save(
        path,
        {"general.name": "test", "answer": 42, "half": 0.5},
        progress=lambda done, total: told.append((done, total)),
    )
    assert told and told[-1][0] == told[-1][1]
    for placement in ("auto", "copied", "mapped"):
        again = qa.Weights.open(
            path, placement=placement, rules=[qa.Rule("layer.*.w", rename="l*"), qa.Rule("*1*", "f16")]
        )
        assert sorted(again) == ["l0", "l1"]
        assert again.info("l0").dtype is qa.DType.F32 and again.info("l1").dtype is qa.DType.F16
        assert [again.metadata[k] for k in ("general.name", "answer", "half")] == ["test", 42, 0.5]
    assert "l1" in str(again.report) or "layer.1.w" in str(again.report)
    with pytest.raises(qa.Error) as e:
        qa.Weights.open(path, progress=lambda done, total: True)
    assert e.value.status is qa.Status.CANCELLED
    with pytest.raises(ZeroDivisionError):
        qa.Weights.open(path, progress=lambda done, total: 1 / 0)
    with pytest.raises(qa.OutOfMemory):
        qa.Weights.open(path, placement="copied", budget=10)
    memory = qa.Weights.plan_memory(path, placement="copied", rules=[qa.Rule("layer.1.*", "f16")])
    assert memory[:2] == (2, 2 * VALUES.nbytes) and memory.mapped_bytes == 0
    assert 1.5 * VALUES.nbytes <= memory.memory_bytes < 2 * VALUES.nbytes + 64  # tensors begin at multiples of 64
    with pytest.raises(qa.Error, match="known: auto, copied, mapped"):
        qa.Weights.open(path, placement="lent")


def test_importance(tmp_path):
    """Columns that matter keep more of their values."""
    rng = np.random.default_rng(2)
    values = rng.normal(size=(16, 64)).astype(np.float32)
    path, matters = tmp_path / "w.gguf", np.where(np.arange(64) % 8 == 0, 1000.0, 0.001)
    qa.Weights({"w": values}).save(path)

    def loss(importance):
        w = qa.Weights.open(path, rules=[qa.Rule("w", "q4_0")], importance=importance)
        assert w.info("w").dtype is qa.DType.Q4_0
        with qa.Backend("reference") as b, b.session() as s:
            return (matters * (product(s, w) - values).astype(float) ** 2).sum()

    assert loss({"w": matters.astype(np.float32)}) < 0.9 * loss(None)
    with pytest.raises(qa.ShapeMismatch, match="63"):
        loss({"w": np.ones(63, np.float32)})


def test_upload_to_a_device():
    code = """
import numpy as np, qtsaccel as qa, sys
w = qa.Weights({"a": np.ones((64, 64), np.float32), "b": np.ones((32, 64), np.float32)})
try:
    b = qa.Backend("vulkan", weights_budget=20000)
except qa.Error as e:
    sys.exit(print("none:", e))
told = []
w.upload(b, ["a"], progress=lambda done, total: told.append((done, total)))
print(told[-1], w.device_bytes(b))
try:
    w.upload(b, progress=True)
except qa.OutOfMemory:
    print("full")
with qa.Backend("vulkan") as c:
    w.upload(c, progress=True)
    print(w.device_bytes(c))
"""
    r = python(code, GGML_VK_VISIBLE_DEVICES="0", limit=120)
    assert r.returncode == 0, r.stderr
    if r.stdout.startswith("none:"):
        pytest.skip(f"there is no Vulkan device: {r.stdout}")
    assert r.stdout.splitlines() == ["(16384, 16384) 16384", "full", "24576"]
    assert "weights: 100%" in r.stderr and "24.6k/24.6k" in r.stderr


def test_progress_bars(tmp_path, capsys):
    pytest.importorskip("tqdm")
    w = qa.Weights({"a": VALUES, "b": VALUES}, progress=True)
    assert "weights: 100%" in (bar := capsys.readouterr().err) and "2/2" in bar
    w.save(tmp_path / "w.gguf", progress=True)
    assert "weights: 100%" in capsys.readouterr().err
    qa.Weights.open(tmp_path / "w.gguf", progress=True)
    assert "weights: 100%" in (bar := capsys.readouterr().err) and "192/192" in bar
    qa.Weights({"a": VALUES})
    assert capsys.readouterr().err == ""


def test_real_file(data):
    w = qa.Weights.open(data / "stories260k" / "stories260K_f32.gguf")
    assert w.info("token_embd.weight").shape == (512, 64)
    assert w.metadata["general.architecture"] == "llama"
    assert "stories260K_f32.gguf: 4" in repr(w)


def test_metadata(tmp_path, data):
    """Values have the types that the file gives them."""
    path = tmp_path / "w.gguf"
    wanted = {"text": "größer", "count": -7, "big": 2**40, "half": 0.5, "list": [1, -2], "reals": [0.25, 2.0]}
    qa.Weights().save(path, wanted)
    metadata = qa.Weights.open(path).metadata
    assert dict(metadata) == wanted and list(metadata) == list(wanted) and len(metadata) == 6
    assert type(metadata["count"]) is int and type(metadata["half"]) is float
    assert "nothing" not in metadata and metadata.get("nothing") is None
    with pytest.raises(KeyError, match="nothing"):
        metadata["nothing"]
    assert metadata.text("list") == "[1,-2]"
    assert len(qa.Weights().metadata) == 0
    story = qa.Weights.open(data / "stories260k" / "stories260K_f32.gguf").metadata
    assert story["llama.block_count"] == 5 and story["tokenizer.ggml.bos_token_id"] == 1
    tokens, scores = story["tokenizer.ggml.tokens"], story["tokenizer.ggml.scores"]
    assert len(tokens) == len(scores) == 512 and tokens[1] and isinstance(scores[0], float)


def test_upload(tmp_path):
    """Weights are on the device before any plan, once, and within the budget."""
    path = tmp_path / "w.gguf"
    w = qa.Weights({"w": VALUES, "v": 2 * VALUES})
    w.save(path)
    w, told = qa.Weights.open(path, placement="mapped"), []
    with qa.Backend("reference", weights_budget=3 * VALUES.nbytes) as b, b.session() as s:
        with pytest.raises(qa.OutOfMemory, match="bytes wanted"):
            w.upload(b)
        assert w.device_bytes(b) == 2 * VALUES.nbytes  # in double precision
        w.upload(b, ["w"], progress=lambda done, total: told.append((done, total)))
        assert told[-1] == (VALUES.nbytes, VALUES.nbytes)
        assert np.allclose(product(s, w), VALUES)
        with pytest.raises(qa.NotFound, match="blk"):
            w.upload(b, ["blk.*"])
        with pytest.raises(qa.Error) as e:
            w.upload(b, progress=lambda done, total: True)
        assert e.value.status is qa.Status.CANCELLED


@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-5, 1e-6, 2e-8, 1e-30, 7e4])
def test_split_scales_that_f16_lacks(scale):
    """Every value within 2^-11 of itself, whatever the scale: never 0 in silence."""
    levels = np.full((4, 32), 100, np.int8)
    scales = np.full((4, 1), scale, np.float32)
    backend = qa.Backend("cpu", threads=1)
    y = backend.matmul(np.ones((1, 32), np.float32), backend.matrix(qa.SplitMatrix(levels, scales)))
    np.testing.assert_allclose(y, np.full((1, 4), 3200 * float(np.float32(scale))), rtol=2.0**-11)
    if scale < 5e-5 or scale > 65504:
        words = rf"row 0: block 0, whose scale is .*too {'large' if scale > 1 else 'small'} for q8_0"
        with pytest.raises(qa.Error, match=words):
            backend.matrix(qa.SplitMatrix(levels, scales), dtype="q8_0")


def foreign_file(path, *tensors):
    """A safetensors file of an f32 tensor "w" and others: (name, type, shape, bytes)."""
    header, at = {"w": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, 16
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    body = np.float32([[1, 2], [3, 4]]).tobytes() + b"".join(data for *_, data in tensors)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


def test_one_foreign_tensor_closes_no_file(tmp_path, session):
    """What the library lacks is widened, or listed and refused where it is used; the others are as ever."""
    path = foreign_file(
        tmp_path / "x.safetensors",
        ("bool", "BOOL", [1, 4], bytes([0, 1, 1, 0])),
        ("u8", "U8", [3], bytes([0, 127, 255])),
        ("f64", "F64", [2], np.float64([0.1, -3]).tobytes()),
        ("e4m3", "F8_E4M3", [2, 2], bytes([0x38, 0xB8, 0x7E, 0x01])),
        ("nv", "NVFP4", [2, 64], bytes(72)),
        ("five", "F32", [2, 1, 3, 1, 2], bytes(48)),
        ("ones", "F32", [1, 1, 1, 1, 2], bytes(8)),
    )
    w = qa.Weights.open(path)
    assert len(w) == 8
    np.testing.assert_array_equal(product(session, w), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(product(session, w, "e4m3"), [[1, -1], [448, 2.0**-9]])
    types = {name: (w.info(name).dtype.name, *w.info(name)[1:]) for name in w}
    assert types == {
        "w": ("F32", (2, 2), 16),
        "bool": ("I8", (1, 4), 4),
        "u8": ("I16", (3,), 6),
        "f64": ("F32", (2,), 8),
        "e4m3": ("F16", (2, 2), 8),
        "nv": ("FOREIGN", (2, 64), 72),
        "five": ("FOREIGN", (2, 3, 1, 2), 48),
        "ones": ("F32", (1, 1, 1, 2), 8),
    }
    graph = qa.Graph("uses it")
    backend = qa.Backend("cpu", threads=1)
    for use in (
        lambda: graph.weight(w, "nv"),
        lambda: backend.matrix(w, "nv"),
        lambda: w.upload(backend, ["nv"]),
        lambda: w.save(tmp_path / "saved.gguf"),
    ):
        with pytest.raises(qa.Unsupported, match=r'"nv" cannot be used, NVFP4\[2, 64\] in ".*x.safetensors"'):
            use()
    w.upload(backend)
    kept = qa.Weights.open(path, rules=[qa.Rule("nv", skip=True), qa.Rule("five", skip=True)])
    assert len(kept) == 6 and "nv" not in kept
    kept.save(tmp_path / "saved.gguf")
    assert len(qa.Weights.open(tmp_path / "saved.gguf")) == 6
    with pytest.raises(qa.Error, match="to be skipped, and has a type"):
        qa.Weights.open(path, rules=[qa.Rule("*", dtype="f16", skip=True)])


def test_exceptions_of_files(tmp_path):
    """Python's own exceptions catch them, the more precise ones too."""
    with pytest.raises(FileNotFoundError) as e:
        qa.Weights.open(tmp_path / "absent.gguf")
    assert isinstance(e.value, qa.FileError) and e.value.status is qa.Status.IO
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\3\0\0\0and no more")
    with pytest.raises(qa.Corrupt) as e:
        qa.Weights.open(broken)
    assert isinstance(e.value, ValueError)
    with pytest.raises(RuntimeError) as e:
        qa.Backend("cuda", device="7")
    assert isinstance(e.value, qa.DeviceUnavailable)
