"""Latency of a network on this machine, alone or compared with ONNX Runtime."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from importlib import import_module
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rlx.ir import DType
from rlx.ir.inspect import inspect_graph
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import with_batch
from rlx.passes.transforms.bind import check_bound
from rlx.runtime import CompileOptions, Device, Session
from rlx.support.errors import ToolMissingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.ir import Array, Graph, TensorType
    from rlx.runtime import CompiledGraph

    Call: TypeAlias = Callable[[], Sequence[Array]]
    Clock: TypeAlias = Callable[[], int]

ENGINES: Final = ("onnxruntime",)
"""Engines that a network can be compared with."""

WARM_UP_CALLS: Final = 3
"""Calls of each engine before the first one that counts."""

MIN_CALLS: Final = 10
"""Minimum number of measured calls, for any time that they take."""

_TURN_NS: Final = 2_000_000
"""Nanoseconds after which it is the other engine's turn."""

_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
"""Settings of NumPy's threads, the first one that is set counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Times of single calls.

    Attributes:
        calls: Number of calls that were measured.
        minimum: Seconds of the fastest one.
        median: Seconds within which half of the calls end.
        p90: Seconds within which nine of ten calls end.
    """

    calls: int
    minimum: float
    median: float
    p90: float

    @classmethod
    def of(cls, nanoseconds: Sequence[int]) -> Latency:
        """Return the statistics of such times."""
        times = np.sort(np.array(nanoseconds, np.float64)) / 1e9
        last = len(times) - 1
        median, p90 = (float(times[-(-last * part // 10)]) for part in (5, 9))
        return cls(calls=len(times), minimum=float(times[0]), median=median, p90=p90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """Cost of a network on this machine.

    Attributes:
        name: Name of the graph.
        batch: Inputs in one call.
        ops: Ops of the graph.
        macs: Multiply-accumulates of a call; None if those of an op are not known.
        constant_bytes: Bytes of weights and other constants.
        latency: Times of rlx.
        engine: Name of the other engine; empty without one.
        other: Times of the other engine.
        difference: Largest difference between the outputs of both.
    """

    name: str
    batch: int
    ops: int
    macs: int | None
    constant_bytes: int
    latency: Latency
    engine: str = ""
    other: Latency | None = None
    difference: float | None = None

    @property
    def ratio(self) -> float | None:
        """The fastest call of rlx divided by the fastest one of the other engine."""
        return None if self.other is None else self.latency.minimum / self.other.minimum

    def as_json(self) -> dict[str, Any]:
        """Return the figures as ``rlx bench --json`` prints them."""
        found = asdict(self)
        if self.other is None:
            return {k: v for k, v in found.items() if k not in ("engine", "other", "difference")}
        return {**found, "ratio": self.ratio}


def bench(
    graph: Graph,
    *,
    batch: int = 1,
    seconds: float = 2.0,
    against: str | None = None,
    file: str | Path | None = None,
    options: CompileOptions | None = None,
    clock: Clock = time.perf_counter_ns,
) -> Benchmark:
    """Return the times of a network's calls: NumPy arrays in, NumPy arrays out.

    Inputs are random, the same every time; integers of more than 8 bits are 0, since they may be
    indices. With another engine both take turns of some milliseconds, so that other load of the
    machine affects both; it uses ``OPENBLAS_NUM_THREADS`` threads.

    Args:
        graph: A network whose dimensions are integers.
        batch: Inputs in one call, for a network that accepts one.
        seconds: Time to measure, of each engine; at least ten calls are measured.
        against: ``"onnxruntime"`` to run the network's file there; it must be an ONNX file.
        file: The file that the network was read from.
        options: Options of compilation.
        clock: Returns nanoseconds.

    Raises:
        UsageError: A dimension is a symbol, a parameter has no value, the engine is unknown, it
            cannot run the model, or the time is negative or not a number.
        ToolMissingError: The other engine is not installed.
    """
    if not (isfinite(seconds) and seconds >= 0):
        raise UsageError(f"cannot measure for {seconds} s", hint="give a number of seconds from 0")
    if against is not None:
        _check_engine(against, file, batch)
    net, inputs = compiled_for(graph, batch=batch, options=options)
    graph = net.graph
    states = {state.name for state, _ in graph.states}
    output_indices = [i for i, name in enumerate(net.output_names) if name not in states]
    calls: list[Call] = [lambda: net.run(inputs, outputs=output_indices)]
    if against is not None:
        calls.append(_onnxruntime(Path(str(file)), inputs))
    first = [[np.asarray(a) for a in call()] for call in calls]
    times = [Latency.of(t) for t in measure(calls, seconds, clock)]
    figures = inspect_graph(graph)
    return Benchmark(
        name=graph.name,
        batch=batch,
        ops=sum(1 for _ in graph.op_nodes),
        macs=figures.macs,
        constant_bytes=figures.constant_bytes,
        latency=times[0],
        engine=against or "",
        other=times[1] if against is not None else None,
        difference=_difference(*first) if against is not None else None,
    )


def compiled_for(
    graph: Graph, *, batch: int = 1, options: CompileOptions | None = None
) -> tuple[CompiledGraph, dict[str, Array]]:
    """Return a network compiled for calls of a number of inputs, and random ones.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
    """
    check_bound(graph)
    if batch > 1:
        graph = with_batch(decompose(graph), batch)
    return Session(Device.CPU, options).compile(graph), random_inputs(graph)


def measure(calls: Sequence[Call], seconds: float, clock: Clock) -> list[list[int]]:
    """Return the nanoseconds of each call of some functions, which take turns.

    Args:
        calls: The functions.
        seconds: Time to measure each, in seconds; at least :data:`MIN_CALLS` calls.
        clock: Returns nanoseconds.
    """
    for call in calls:
        for _ in range(WARM_UP_CALLS):
            call()
    times: list[list[int]] = [[] for _ in calls]
    spent = [0] * len(calls)
    while any(len(t) < MIN_CALLS or s < seconds * 1e9 for t, s in zip(times, spent, strict=True)):
        for index, call in enumerate(calls):
            if len(calls) > 1:
                call()  # the other engine's data are in the caches
            turn = 0
            while turn < _TURN_NS:
                start = clock()
                call()
                times[index].append(clock() - start)
                turn += times[index][-1]
            spent[index] += turn
    return times


def random_inputs(graph: Graph) -> dict[str, Array]:
    """Return a value for each input that is not a state, the same every time."""
    generator = np.random.default_rng(0)
    states = {state.name for state, _ in graph.states}
    return {v.name: _random(generator, v.type) for v in graph.inputs if v.name not in states}


def _random(generator: np.random.Generator, type_: TensorType) -> Array:
    shape, element = type_.static_shape, type_.dtype.numpy
    if type_.dtype.is_float:
        return generator.standard_normal(shape).astype(element)
    if type_.dtype is DType.BOOL or type_.dtype.bits > 8:
        return np.zeros(shape, element)
    return generator.integers(0, 1 << (type_.dtype.bits - 1), shape).astype(element)


def _check_engine(name: str, file: str | Path | None, batch: int) -> None:
    """Raise UsageError unless an engine can run the model."""
    if name not in ENGINES:
        raise UsageError(f"no engine is called {name!r}", hint=f"there is: {', '.join(ENGINES)}")
    if file is None or Path(file).suffix != ".onnx":
        raise UsageError(
            f"{name} runs ONNX files only", hint="give the .onnx file that the model was read from"
        )
    if batch > 1:
        raise UsageError(
            f"{name} runs the file as it is, not batches of {batch}",
            hint="export the model for that batch",
        )


def _onnxruntime(path: Path, inputs: Mapping[str, Array]) -> Call:
    """Return a call of ONNX Runtime."""
    try:
        ort = import_module("onnxruntime")
    except ImportError:
        raise ToolMissingError(
            "the package onnxruntime is not installed", hint="pip install onnxruntime"
        ) from None
    options = ort.SessionOptions()
    threads = next((os.environ[name] for name in _THREADS if os.environ.get(name)), "0")
    options.intra_op_num_threads = int(threads) if threads.isdecimal() else 0
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    feeds = dict(zip(names, inputs.values(), strict=True))
    return lambda: session.run(None, feeds)


def _difference(ours: Sequence[Array], theirs: Sequence[Array]) -> float:
    """Return the largest difference between outputs of two engines."""
    found = 0.0
    for mine, other in zip(ours, theirs, strict=True):
        apart = np.abs(mine.astype(np.float64) - np.reshape(other, mine.shape).astype(np.float64))
        found = max(found, float(apart.max(initial=0.0)))
    return found
