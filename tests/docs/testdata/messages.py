"""Provokes the messages of docs/troubleshooting.md and prints them as JSON.

Each line of the list below does something wrong; what it is told is the library's own
message, without the status in front, or Python's where the package cannot be imported.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qtsaccel as qa
from qtsaccel import _bindings, ops
from qtsaccel._library import api, check

folder = Path(tempfile.mkdtemp())
backend = qa.Backend("cpu", threads=1)
session = backend.session()
told: list[str] = []


def wrong(call: Callable[[], object]) -> None:
    """Notes what a call that must fail is told."""
    try:
        call()
    except qa.Error as e:
        told.append(e.message)
    else:
        raise SystemExit(f"nothing was wrong: {call.__code__}")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def graph_of(*shape: int) -> tuple[qa.Graph, qa.Tensor]:
    """A graph "head" with an input "x"."""
    g = qa.Graph("head")
    return g, g.input("x", np.float32, shape)


def plan_of(g: qa.Graph, y: qa.Tensor) -> qa.Plan:
    g.output("y", y)
    return session.plan(g)


# Backends and plugins.
wrong(lambda: qa.Backend("gpu"))
wrong(lambda: qa.Backend("metal" if sys.platform != "darwin" else "cuda"))
wrong(lambda: qa.Backend("cpu", plugin_dir=folder))
wrong(lambda: qa.Backend("auto", device="0000:99:00.0"))
wrong(lambda: qa.Backend("cpu", device="99"))
(folder / "empty").mkdir()
wrong(lambda: qa.Backend("auto", fallback=","))


def import_from(**environment: str) -> None:
    code = "import qtsaccel"
    r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment})
    assert r.returncode != 0
    told.append(r.stderr.strip().splitlines()[-1].removeprefix("ImportError: "))


(folder / "not-a-library").write_text("hello")
import_from(QTSACCEL_LIBRARY=str(folder / "not-a-library"))
import_from(QTSACCEL_LIBRARY="", LD_LIBRARY_PATH="")

# Graphs.
g, x = graph_of(4, 64)
wrong(lambda: ops.linear(x, zeros(16, 63)))
wrong(lambda: x @ zeros(63, 16))
wrong(lambda: x + zeros(5))
wrong(lambda: g.op("rmsnorm", [x]))
wrong(lambda: g.op("softmax", [x], axs=1))
wrong(lambda: ops.rms_norm(x, eps=-1.0))
wrong(lambda: g.weight(qa.Weights({"a": zeros(4, 64)}), "b"))
wrong(lambda: session.plan(qa.Graph("empty")))
wrong(lambda: qa.Weights().declare("w", "q8_0", (4, 33)))

# Weights.
wrong(lambda: qa.Weights.open("model.gguf"))
(folder / "note.txt").write_text("hello world")
wrong(lambda: qa.Weights.open(folder / "note.txt"))
qa.Weights({"a": zeros(4, 64)}).save(folder / "whole.gguf")
(folder / "cut.gguf").write_bytes((folder / "whole.gguf").read_bytes()[:-100])
wrong(lambda: qa.Weights.open(folder / "cut.gguf"))
wrong(lambda: qa.Weights.open(folder / "whole.gguf", placement="copied", budget=100))
late = qa.Weights()
late.declare("w", np.float32, (16, 64))
g, x = graph_of(4, 64)
plan = plan_of(g, ops.linear(x, g.weight(late, "w")))
wrong(lambda: plan.run({"x": zeros(4, 64)}))
late["w"] = zeros(16, 64)
plan.run({"x": zeros(4, 64)})
wrong(lambda: late.__setitem__("w", zeros(16, 64)))

wrong(lambda: qa.Weights({"a": zeros(4, 64)}).upload(qa.Backend("reference", weights_budget=100)))
qa.Weights().save(folder / "named.gguf", {"general.name": "x"})
named = qa.Weights.open(folder / "named.gguf")
number, count = ctypes.c_double(), ctypes.c_size_t()
wrong(
    lambda: check(
        api.weights_metadata_get(named._value, b"general.name", 2, ctypes.byref(number), 1, ctypes.byref(count))
    )
)

# Runs.
g, x = graph_of(4, 64)
plan = plan_of(g, ops.relu(x))
wrong(lambda: plan.run({}))
one = (_bindings.Input * 1)()
out = (_bindings.Output * 1)()
one[0].data, one[0].bytes = ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p), 8
wrong(lambda: check(api.plan_run(plan._value, one, 1, out, 1, None)))
g = qa.Graph("head")
wrong(
    lambda: plan_of(g, ops.embedding(g.constant(zeros(4, 8)), g.input("ids", np.int32, (3,)))).run(
        {"ids": np.array([0, 9, 1], np.int32)}
    )
)
g = qa.Graph("head")
n = g.dim("n", 1, 8)
plan = plan_of(g, ops.relu(g.input("x", np.float32, (n, 4))))
wrong(lambda: check(api.plan_run(plan._value, one, 1, out, 1, None)))
wrong(lambda: plan.prepare({"n": 9}))
wrong(lambda: g.input("y", np.float32, (n.number + 1, 4)))
wrong(lambda: g.input("y", np.float32, (n // 2, 4)))
other = qa.Graph("other").input("x", np.float32, (1,))
wrong(lambda: check(api.graph_output(g._value, b"z", other.index)))


def cache_of(rows: int) -> qa.Plan:
    g, x = graph_of(rows, 4)
    return plan_of(g, x + g.state("cache", np.float32, (rows, 4)))


cache_of(8)
wrong(lambda: cache_of(9))
wrong(lambda: check(api.session_read(session._value, b"kv", 0, None, 0)))
g = qa.Graph("head")
g.output("y", ops.expand(g.input("x", np.float32, (1, 1)), shape=(1 << 20, 1 << 20)))
wrong(lambda: backend.session().plan(g).prepare())
g, x = graph_of(1024, 1024)
y = x
for _ in range(100):
    y = y @ x
plan = plan_of(g, y)


def stop() -> None:
    while not stopped.wait(0.02):
        session.cancel()


stopped = threading.Event()
stopper = threading.Thread(target=stop)
stopper.start()
wrong(lambda: plan.run({"x": zeros(1024, 1024)}))
stopped.set()
stopper.join()

# Operator-level calls.
wrong(lambda: backend.matmul(zeros(1, 63), backend.matrix(zeros(4, 64))))
wrong(lambda: backend.matmul(zeros(1, 64), qa.Backend("cpu", threads=1).matrix(zeros(4, 64))))

# Handles, structs, processes.
handle = plan._value
plan.close()
wrong(lambda: check(api.plan_free(handle)))
wrong(lambda: check(api.plan_free(session._value)))
wrong(lambda: check(api.session_reset(None)))
options = _bindings.BackendOptions()
made = ctypes.c_void_p()
for size in (0, 4000):
    options.struct_size = size
    wrong(lambda: check(api.backend_create(ctypes.byref(options), ctypes.byref(made))))
needed = ctypes.c_size_t()
wrong(
    lambda: check(api.backend_report_copy(backend._value, 0, ctypes.create_string_buffer(4), 4, ctypes.byref(needed)))
)
check(api.backend_install(backend._value))
other = qa.Backend("cpu", threads=1)
wrong(lambda: check(api.backend_install(other._value)))
ends = os.pipe()
if os.fork() == 0:
    wrong(lambda: qa.Backend("cpu"))
    os.write(ends[1], told[-1].encode())
    os._exit(0)
os.wait()
told.append(os.read(ends[0], 4096).decode())

print(json.dumps(told))
