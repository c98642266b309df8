"""Sessions and plans: where graphs run."""

from __future__ import annotations

import atexit
import ctypes
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _bindings
from ._arrays import Array, as_array, check_shape, host_array, numpy_dtype, pointer, shape_text, writable
from ._backend import Backend
from ._bindings import Status, Timing
from ._dim import Dim, Size, c_size
from ._errors import from_status, invalid
from ._graph import Graph
from ._handle import Handle
from ._library import api, check, sized
from ._report import Report
from ._weights import TensorInfo, c_shape, info_of

_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


@atexit.register
def _stop_runs() -> None:
    """Lets no run of a daemon thread hold up the end of the process."""
    for session in list(_sessions):
        if not session.closed:
            api.session_cancel(session._value)


class Session(Handle):
    """One stream of work on a backend: it owns the state of the graphs that run on it."""

    _release = api.session_free

    def __init__(self, backend: Backend) -> None:
        self._states: dict[str, TensorInfo] = {}
        self._make(api.session_create, backend._value)
        _sessions.add(self)

    def plan(self, graph: Graph, *, max_instances: int = 0, strict: bool = False) -> Plan:
        """Makes the graph, as it is now, ready to run on the session.

        strict refuses operators that the device would leave to the CPU beside it.
        """
        return Plan(self, graph, max_instances=max_instances, strict=strict)

    def reset(self) -> None:
        """Sets all state to zero."""
        check(api.session_reset(self._value))

    @property
    def states(self) -> Mapping[str, TensorInfo]:
        """The states that plans on the session have."""
        return dict(self._states)

    def _state(self, name: str) -> TensorInfo:
        if name not in self._states:
            known = ", ".join(self._states) or "none"
            raise from_status(Status.NOT_FOUND, f"no plan on the session has a state {name!r}; known: {known}")
        return self._states[name]

    def read(self, name: str) -> Array:
        """A copy of a state."""
        info = self._state(name)
        array = np.empty(info.shape, numpy_dtype(info.dtype, f"state {name!r}"))
        check(api.session_read(self._value, name.encode(), 0, pointer(array), array.nbytes))
        return array

    def write(self, name: str, value: object) -> None:
        """Replaces the content of a state."""
        info, what = self._state(name), f"state {name!r}"
        array = host_array(value, numpy_dtype(info.dtype, what), what)
        check_shape(array.shape, info.shape, what)
        check(api.session_write(self._value, name.encode(), 0, pointer(array), array.nbytes))

    def cancel(self) -> None:
        """Asks the run in progress, if any, to stop: it raises CANCELLED. Does not wait."""
        check(api.session_cancel(self._value))

    def __repr__(self) -> str:
        return "<Session, closed>" if self.closed else f"<Session with states {list(self._states)}>"


class _Shapes(NamedTuple):
    """The shapes of a plan's inputs and outputs for values of the dynamic dimensions."""

    inputs: list[tuple[int, ...]]
    outputs: list[tuple[int, ...]]


class _Port:
    """An input or output of a plan: its place in a run, element type and shape."""

    __slots__ = ("dtype", "dynamic", "name", "shape", "what")

    def __init__(self, kind: str, name: str, dtype: np.dtype[Any], shape: tuple[Size, ...], dynamic: bool) -> None:
        self.name, self.dtype, self.shape, self.dynamic = name, dtype, shape, dynamic
        self.what = f"{kind} {name!r}"


class _Frame:
    """The arguments of one run, kept for the next."""

    __slots__ = ("arguments", "c_inputs", "c_outputs", "dims", "inputs", "options", "outputs")

    def __init__(self, n_inputs: int, n_outputs: int, n_dims: int) -> None:
        self.c_inputs = (_bindings.Input * max(n_inputs, 1))()
        self.c_outputs = (_bindings.Output * max(n_outputs, 1))()
        self.inputs = list(self.c_inputs)[:n_inputs]
        self.outputs = list(self.c_outputs)[:n_outputs]
        self.dims = (ctypes.c_int64 * max(n_dims, 1))()
        self.options = sized(_bindings.RunOptions())
        self.options.dims = self.dims
        self.options.n_dims = n_dims
        self.arguments = self.c_inputs, n_inputs, self.c_outputs, n_outputs, ctypes.byref(self.options)


class Plan(Handle):
    """A graph made ready on a session."""

    _release = api.plan_free

    def __init__(self, session: Session, graph: Graph, *, max_instances: int = 0, strict: bool = False) -> None:
        options = sized(_bindings.PlanOptions())
        options.max_instances = max_instances
        options.strict = int(strict)
        self._make(api.plan_create, session._value, graph._value, ctypes.byref(options))
        self._label = graph.label
        self._dims = list(graph.dims.values())
        self._inputs: dict[str, tuple[int, _Port]] = {}
        for i, (name, (tensor, shape)) in enumerate(graph.inputs.items()):
            info = tensor.info
            dynamic = any(isinstance(n, Dim) for n in shape)
            port = _Port("input", name, numpy_dtype(info.dtype, f"input {name!r}"), shape, dynamic)
            self._inputs[name] = i, port
        self._outputs: dict[str, tuple[int, _Port]] = {}
        for i, (name, tensor) in enumerate(graph.outputs.items()):
            info = tensor.info
            port = _Port("output", name, numpy_dtype(info.dtype, f"output {name!r}"), info.shape, bool(self._dims))
            self._outputs[name] = i, port
        self._all = tuple(self._outputs)
        self._shapes: dict[tuple[int, ...], _Shapes] = {}
        self._frames: list[_Frame] = []
        for name, tensor in graph.states.items():
            session._states[name] = tensor.info

    def run(
        self,
        inputs: Mapping[str, object] | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        outputs: Iterable[str] | None = None,
        out: Mapping[str, Array] | None = None,
        threads: int = 0,
        timing: Timing | None = None,
    ) -> dict[str, Array]:
        """Uploads the inputs, computes, and gives the outputs by name.

        Inputs are arrays, or anything with DLPack, of the graph's element types; one left
        out is as at the last run with these dims. dims need be given only where the inputs'
        shapes do not tell them. outputs names those wanted (all), and out has arrays to
        write some into. threads are the CPU threads of this run (0: the backend's). The
        GIL is free while the library computes.
        """
        frames = self._frames
        try:
            frame = frames.pop()
        except IndexError:
            frame = _Frame(len(self._inputs), len(self._outputs), len(self._dims))
        held: list[Array] = []  # what the run reads and writes
        values = self._values(inputs or {}, dims) if self._dims or dims else ()
        shapes = self._shapes_of(values) if values else None
        for item in frame.inputs:
            item.data = None
        for item in frame.outputs:
            item.data = None
        for name, value in (inputs or {}).items():
            found = self._inputs.get(name)
            if found is None:
                raise self._unknown("input", name, self._inputs)
            i, port = found
            shape: Any = port.shape if shapes is None else shapes.inputs[i]
            if not (type(value) is np.ndarray and value.dtype is port.dtype and value.flags.c_contiguous):
                value = host_array(value, port.dtype, port.what)
            if value.shape != shape:
                check_shape(value.shape, shape, port.what)
            held.append(value)
            item = frame.inputs[i]
            item.data, item.bytes = pointer(value), value.nbytes
        results, copies = self._targets(frame, held, shapes, self._all if outputs is None else outputs, out)
        for k, n in enumerate(values):
            frame.dims[k] = n
        frame.options.threads = threads
        frame.options.timing = None if timing is None else ctypes.pointer(timing)
        status = api.plan_run(self._value, *frame.arguments)
        if status:
            check(status)
        frames.append(frame)
        for target, source in copies:
            target[...] = source
        return results

    def _targets(
        self,
        frame: _Frame,
        held: list[Array],
        shapes: _Shapes | None,
        names: Iterable[str],
        out: Mapping[str, Array] | None,
    ) -> tuple[dict[str, Array], list[tuple[Array, Array]]]:
        """The arrays that a run writes, and which of them go on into others afterwards."""
        results: dict[str, Array] = {}
        copies: list[tuple[Array, Array]] = []
        for name in names if out is None else dict.fromkeys([*names, *out]):
            found = self._outputs.get(name)
            if found is None:
                raise self._unknown("output", name, self._outputs)
            i, port = found
            shape: Any = port.shape if shapes is None else shapes.outputs[i]
            if out is None or name not in out:
                array = np.empty(shape, port.dtype)
                results[name] = array
            else:
                given = out[name]
                results[name] = given
                array = self._writable(given, port, shape)
                if array.dtype != port.dtype or not array.flags.c_contiguous:
                    array, target = np.empty(shape, port.dtype), array
                    copies.append((target, array))
            held.append(array)
            item = frame.outputs[i]
            item.data, item.bytes = pointer(array), array.nbytes
        return results, copies

    def _writable(self, given: Any, port: _Port, shape: tuple[int, ...]) -> Array:
        """The array under an output that the caller gave."""
        array = writable(given, port.what)
        if array.dtype.newbyteorder("=") != port.dtype:
            raise invalid(f"{port.what} goes into an array of {array.dtype}, want {port.dtype}")
        if not array.flags.writeable:
            raise invalid(f"{port.what}: the array for it is read-only")
        check_shape(array.shape, shape, f"the array for {port.what}")
        return array

    def _values(self, inputs: Mapping[str, object], dims: Mapping[str, int] | None) -> tuple[int, ...]:
        """The values of the dynamic dimensions: as given, else as the inputs' shapes say."""
        if not self._dims:
            if dims:
                raise self._unknown("dynamic dimension", next(iter(dims)), {})
            return ()
        values: dict[Dim, int] = {}
        names = {str(d.name): d for d in self._dims}
        for name, n in (dims or {}).items():
            if name not in names:
                raise self._unknown("dynamic dimension", name, names)
            values[names[name]] = c_size(n)
        for name, value in inputs.items():
            if name in self._inputs and (port := self._inputs[name][1]).dynamic:
                shape = as_array(value, port.what).shape
                if len(shape) == len(port.shape):
                    for want, n in zip(port.shape, shape):
                        if isinstance(want, Dim):
                            values.setdefault(want, n)
        if missing := [str(d.name) for d in self._dims if d not in values]:
            raise invalid(f"dims lacks {', '.join(missing)}, and no input's shape tells")
        return tuple(values[d] for d in self._dims)

    def _shapes_of(self, values: tuple[int, ...]) -> _Shapes:
        """The shapes of all inputs and outputs for values of the dynamic dimensions."""
        found = self._shapes.get(values)
        if found is None:
            c_values = c_shape(values)
            found = _Shapes(
                [self._port_shape(_bindings.INPUT, i, c_values) for i in range(len(self._inputs))],
                [self._port_shape(_bindings.OUTPUT, i, c_values) for i in range(len(self._outputs))],
            )
            if len(self._shapes) > 256:  # streams with ever new lengths
                self._shapes.clear()
            self._shapes[values] = found
        return found

    def _port_shape(self, kind: int, i: int, c_values: tuple[Any, int]) -> tuple[int, ...]:
        raw = _bindings.TensorInfo()
        check(api.plan_info(self._value, kind, i, *c_values, ctypes.byref(raw)))
        return info_of(raw).shape

    def _unknown(self, kind: str, name: str, known: Mapping[str, object]) -> Exception:
        return from_status(
            Status.NOT_FOUND, f"graph {self._label!r} has no {kind} {name!r}; known: {', '.join(known) or 'none'}"
        )

    def prepare(self, dims: Mapping[str, int] | None = None) -> None:
        """Builds ahead what runs with these values of the dynamic dimensions need."""
        check(api.plan_prepare(self._value, *c_shape(self._values({}, dims))))

    @property
    def placement(self) -> Report:
        """What the plan is made of and where its nodes run."""
        return Report.of(api.plan_placement_copy, self._value)

    def __repr__(self) -> str:
        if self.closed:
            return f"<Plan of {self._label!r}, closed>"
        parts = [f"{n}: {p.dtype} {shape_text(p.shape)}" for n, (_, p) in self._inputs.items()]
        outs = [f"{n}: {p.dtype} {shape_text(p.shape)}" for n, (_, p) in self._outputs.items()]
        return f"<Plan of {self._label!r}: ({', '.join(parts)}) -> ({', '.join(outs)})>"

    def _repr_html_(self) -> str:
        return repr(self) if self.closed else self.placement._repr_html_()
