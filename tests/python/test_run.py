"""Runs among threads, signals, processes, and objects that are gone."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import qtsaccel as qa
from conftest import python

# A plan whose run takes about a second has PER_SECOND products.
LONG = """
import numpy as np, sys, threading, time, os, signal
import qtsaccel as qa
backend = qa.Backend("cpu", threads=1)
def long_plan(products):
    g = qa.Graph("long")
    x = g.input("x", "f32", (384, 384))
    w = g.constant(np.eye(384, dtype=np.float32))
    y = x
    for _ in range(products):
        y = y @ w
    g.output("y", y)
    return backend.session().plan(g)
A = np.random.default_rng(0).normal(size=(384, 384)).astype(np.float32)
probe = long_plan(40)
probe.run({"x": A})
start = time.perf_counter()
probe.run({"x": A})
PER_SECOND = int(40 / (time.perf_counter() - start)) + 1
"""


def run_python(code: str, **environment: str) -> str:
    r = python(LONG + code, **environment)
    assert r.returncode == 0, r.stderr
    return r.stdout


def test_gil_is_free_during_a_run():
    """A thread counts on beside a run at 80 % of its rate or more: of that beside another process, which
    takes from it what the cores' other users do."""
    said = run_python("""
import subprocess
plan = long_plan(PER_SECOND // 4 + 1)
def rate(seconds):
    n, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        n += 1
    return n / seconds
best = 0
for _ in range(12):
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    time.sleep(0.1)
    shared = rate(0.2)
    other.kill()
    other.wait()
    stop = threading.Event()
    def work():
        while not stop.is_set():
            plan.run({"x": A}, threads=1)
    t = threading.Thread(target=work)
    t.start()
    time.sleep(0.05)
    best = max(best, rate(0.2) / shared)
    stop.set()
    t.join()
    if best >= 0.8:
        break
print(best)
""")
    assert float(said) >= 0.8, said


def test_a_run_costs_little(session):
    """At most 15 µs on top of the C API's, for one input and one output of 1 KiB."""
    g = qa.Graph("one node")
    g.output("y", g.input("x", np.float32, (256,)) * 2)
    plan, inputs = session.plan(g), {"x": np.ones(256, np.float32)}
    best = float("inf")
    for _ in range(200):  # the machine may be busy
        start = time.perf_counter()
        for _ in range(50):
            plan.run(inputs)
        best = min(best, (time.perf_counter() - start) / 50)
    assert best <= 15e-6


def test_interrupt():
    """Ctrl-C during a run raises when the run returns, and everything still works."""
    run_python("""
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever was inherited
plan = long_plan(PER_SECOND // 2)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    plan.run({"x": A})
    time.sleep(5)
    sys.exit("not interrupted")
except KeyboardInterrupt:
    pass
assert np.array_equal(plan.run({"x": A})["y"], A)
""")


def test_cancel():
    run_python("""
plan_session = backend.session()
g = qa.Graph("long"); y = g.input("x", "f32", (384, 384)); w = g.constant(np.eye(384, dtype=np.float32))
for _ in range(5 * PER_SECOND):
    y = y @ w
g.output("y", y)
plan = plan_session.plan(g)
def cancel():
    for _ in range(100):
        time.sleep(0.05)
        plan_session.cancel()
threading.Thread(target=cancel, daemon=True).start()
try:
    plan.run({"x": A})
    sys.exit("ran to its end")
except qa.Error as e:
    assert e.status is qa.Status.CANCELLED, e
""")


@pytest.mark.parametrize(
    "work",
    [
        "plan = long_plan(20 * PER_SECOND)\ndef work():\n    plan.run({'x': A})",
        "m = backend.matrix(np.ones((4096, 4096), np.float32))\ndef work():\n"
        "    while True: backend.matmul(np.ones((256, 4096), np.float32), m)",
    ],
    ids=["plan", "calls"],
)
def test_exit_with_a_run_in_flight(work):
    """The process ends at once and well, whatever objects live and threads run."""
    took = []
    for _ in range(5):  # the machine may be busy
        said = run_python(f"""
{work}
t = threading.Thread(target=work, daemon=True)
t.start()
time.sleep(0.3)
assert t.is_alive()
print(time.time(), flush=True)
""")
        took.append(time.time() - float(said))
        if took[-1] < 1:
            break
    assert min(took) < 1, took


def test_fork_says_so():
    run_python("""
plan = long_plan(1)
plan.run({"x": A})
pid = os.fork()
if pid == 0:
    code = 1
    try:
        plan.run({"x": A})
    except qa.Error as e:
        code = 0 if e.status is qa.Status.FORKED else 2
    os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert np.array_equal(plan.run({"x": A})["y"], A)
""")


MODULE = """
import numpy as np
def work(n):
    import qtsaccel as qa
    try:
        g = qa.Graph()
        g.output("y", g.input("x", "f32", (2,)) + n)
        return qa.Backend("cpu").session().plan(g).run({"x": [1, 2]})["y"].tolist()
    except qa.Error as e:
        return e.status.name
if __name__ == "__main__":
    import multiprocessing as mp, sys
    assert work(1) == [2, 3]
    with mp.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(work, [1, 2]))
"""


@pytest.mark.parametrize(("method", "want"), [("spawn", "[[2.0, 3.0], [3.0, 4.0]]"), ("fork", "['FORKED', 'FORKED']")])
def test_multiprocessing(tmp_path, method, want):
    (tmp_path / "pool.py").write_text(MODULE)
    path = str(tmp_path / "pool.py")
    r = python(f"import runpy, sys; sys.argv = [{path!r}, {method!r}]; runpy.run_path({path!r}, run_name='__main__')")
    if method == "spawn":  # needs a main module that can be imported again
        import subprocess
        import sys

        r = subprocess.run([sys.executable, path, method], capture_output=True, text=True, timeout=60)
    assert r.returncode == 0, r.stderr
    assert r.stdout.strip() == want


def small(session):
    g = qa.Graph("small")
    g.output("y", g.input("x", np.float32, (4,)) + 1)
    return session.plan(g, max_instances=4, strict=True)


def test_closed_objects(backend):
    b = qa.Backend("cpu")
    s = b.session()
    plan = small(s)
    b.close()
    s.close()
    np.testing.assert_array_equal(plan.run({"x": [0, 1, 2, 3]})["y"], [1, 2, 3, 4])  # they keep each other alive
    plan.close()
    plan.close()
    for call, what in (
        (b.session, "Backend"),
        (s.reset, "Session"),
        (lambda: plan.run({"x": [0, 1, 2, 3]}), "Plan"),
        (lambda: b.report, "Backend"),
    ):
        with pytest.raises(qa.Error, match=f"the {what} is closed") as e:
            call()
        assert e.value.status is qa.Status.INVALID_HANDLE


def test_devices():
    found = qa.devices()
    cpu = next(d for d in found if d.kind == "cpu")
    assert cpu.usable and cpu.apis == ("cpu:0",) and cpu.name in str(qa.device_report())
    assert len(qa.device_report().json()["devices"]) == len(found)
    with cpu.backend(threads=1) as b, b.session() as s:
        np.testing.assert_array_equal(small(s).run({"x": [0, 1, 2, 3]})["y"], [1, 2, 3, 4])
    with pytest.raises(qa.Error, match="abacus"):
        qa.Backend("auto", fallback="abacus")


def test_context_managers(backend):
    with backend.session() as s, small(s) as plan:
        assert not plan.closed
    assert plan.closed and s.closed


def test_inputs_by_name(session):
    plan = small(session)
    with pytest.raises(qa.NotFound, match="no input 'z'; known: x"):
        plan.run({"z": [1]})
    with pytest.raises(qa.NotFound, match="no output 'z'; known: y"):
        plan.run({"x": [1, 2, 3, 4]}, outputs=["z"])
    with pytest.raises(qa.Error) as e:
        small(session).run()
    assert e.value.status is qa.Status.INVALID_STATE and "x" in e.value.message


def test_input_kept_from_the_last_run(session):
    plan = small(session)
    plan.run({"x": [1, 2, 3, 4]})
    np.testing.assert_array_equal(plan.run()["y"], [2, 3, 4, 5])


def test_timing(session):
    timing = qa.Timing()
    small(session).run({"x": [1, 2, 3, 4]}, timing=timing, threads=1)
    assert timing.compute_ns > 0


def test_threads_share_a_plan(session):
    """Each thread gets its own numbers, however runs interleave."""
    plan = small(session)
    wrong = []

    def work(k):
        for i in range(300):
            a = np.full(4, 1000 * k + i, np.float32)
            if not np.array_equal(plan.run({"x": a})["y"], a + 1):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_objects_are_given_back(backend):
    """What is forgotten is freed, so that thousands of plans cost nothing."""
    import resource

    def some(n):
        for _ in range(n):
            small(backend.session())
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    some(300)
    before = some(300)
    assert some(1500) - before < 30_000  # kB
