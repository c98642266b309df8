"""What a run through Python costs over the C API, and what other threads keep of the GIL.

Run by `make bench-python`, which compiles loop.c; writes dist/bench/python.json.
"""

import ctypes
import json
import platform
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

import qtsaccel as qa
from qtsaccel import _library

RUNS, ROUNDS = 2000, 25


def run_cost(backend: qa.Backend, loop: ctypes.CDLL) -> dict[str, float]:
    """Of a plan with one input and one output of 1 KiB, in µs, rounds of either in turn.

    In CPU time of this thread, which computes itself: others on the machine do not count.
    """
    g = qa.Graph("one node")
    g.output("y", g.input("x", np.float32, (256,)) * 2)
    with backend.session() as session, session.plan(g) as plan:
        x = np.ones(256, np.float32)
        inputs, into = {"x": x}, {"y": np.empty(256, np.float32)}
        plan.run(inputs, out=into)
        frame = plan._frames[0]
        loop.loop.restype = ctypes.c_double
        arguments = (ctypes.c_void_p(plan._value), frame.c_inputs, frame.c_outputs, frame.arguments[-1], RUNS)
        run = ctypes.cast(_library.api.plan_run, ctypes.c_void_p)  # type: ignore[arg-type]
        c_api, python, python_into = [], [], []
        for _ in range(ROUNDS):
            c_api.append(loop.loop(run, *arguments) / 1e3)
            start = time.thread_time()
            for _ in range(RUNS):
                plan.run(inputs)
            python.append((time.thread_time() - start) / RUNS * 1e6)
            start = time.thread_time()
            for _ in range(RUNS):
                plan.run(inputs, out=into)
            python_into.append((time.thread_time() - start) / RUNS * 1e6)
        assert min(c_api) > 0
        return {
            "run_overhead_us": statistics.median(p - c for p, c in zip(python, c_api)),
            "run_overhead_into_us": statistics.median(p - c for p, c in zip(python_into, c_api)),
            "run_us": statistics.median(python),
            "c_api_us": statistics.median(c_api),
        }


def counting_kept(backend: qa.Backend) -> dict[str, float]:
    """The part of its lone rate that a counting thread keeps beside a long run on one thread.

    And of its rate beside another process that is as busy: what the cores' other users
    take is in both.
    """
    n = 512
    g = qa.Graph("long")
    y = g.input("x", np.float32, (n, n))
    w = g.constant(np.eye(n, dtype=np.float32))
    for _ in range(40):
        y = y @ w
    g.output("y", y)
    plan = backend.session().plan(g)
    x = {"x": np.ones((n, n), np.float32)}

    def rate(seconds: float) -> float:
        count, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            count += 1
        return count / seconds

    kept, kept_of_shared = [], []
    for _ in range(7):
        stop = threading.Event()

        def work(stop: threading.Event = stop) -> None:
            while not stop.is_set():
                plan.run(x, threads=1)

        alone = rate(0.2)
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        time.sleep(0.05)
        shared = rate(0.2)
        other.kill()
        other.wait()
        t = threading.Thread(target=work)
        t.start()
        time.sleep(0.02)
        beside = rate(0.2)
        stop.set()
        t.join()
        kept.append(beside / alone)
        kept_of_shared.append(beside / shared)
    return {
        "counting_kept": statistics.median(kept),
        "counting_kept_of_shared": statistics.median(kept_of_shared),
    }


def main(loop: str, to: str) -> None:
    """Measures, prints and writes."""
    with qa.Backend("cpu", threads=1) as backend:
        found: dict[str, float] = {**run_cost(backend, ctypes.CDLL(loop)), **counting_kept(backend)}
    for name, value in found.items():
        print(f"{name:24} {value:8.2f}")
    about = {"python": platform.python_version(), "numpy": np.__version__, "qtsaccel": qa.version()}
    Path(to).write_text(json.dumps({**found, **about}, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
