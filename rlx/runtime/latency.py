"""Latency of a network on this machine, alone or next to another engine."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rlx.ir import DType
from rlx.ir.inspect import inspect_graph
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import with_batch
from rlx.passes.transforms.bind import check_bound
from rlx.runtime import CompileOptions, Device, Session
from rlx.runtime.engines import (
    ONNXRUNTIME,
    backend_engine,
    device_for,
    onnxruntime_engine,
    saturates,
)
from rlx.runtime.observation.processor import machine_name
from rlx.runtime.output_difference import OutputDifference, difference_of, summary
from rlx.support.errors import UsageError
from rlx.support.text.tables import Column, Table, float_text, view_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from os import PathLike

    from rlx.ir import Array, Graph, TensorType
    from rlx.runtime import CompiledGraph
    from rlx.runtime.engines import Call, Engine

    Clock: TypeAlias = Callable[[], int]

WARM_UP_CALLS: Final = 3
"""Calls of each engine before the first one that counts."""

MIN_CALLS: Final = 10
"""Minimum number of measured calls, for any time that they take."""

_TURN_NS: Final = 2_000_000
"""Nanoseconds after which it is the other engine's turn."""


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

    def __str__(self) -> str:
        minimum, median, p90 = (float_text(1e3 * s) for s in (self.minimum, self.median, self.p90))
        calls = counted(self.calls, "call")
        return f"median {median} ms, minimum {minimum} ms, 90 % within {p90} ms, {calls}"

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
        backend: Backend that ran it.
        device: Device that it ran on.
        machine: Processor, cores and system.
        versions: Versions of rlx, of the backend's libraries, and of the other engine.
        check_seconds: Time of the comparison of compiled code with NumPy before the first call, of
            both engines; None if nothing was compared.
        threads: Threads of the backend ``native``; None if neither engine is that one.
        engine: Name of the other engine; empty without one.
        settings: Settings of the other engine, such as its optimization level.
        other: Times of the other engine.
        difference: Largest difference between the outputs of both.
        outputs: Difference between each output of both.
        notes: Remarks on the comparison.
    """

    name: str
    batch: int
    ops: int
    macs: int | None
    constant_bytes: int
    latency: Latency
    backend: str = ""
    device: str = ""
    machine: str = ""
    versions: tuple[str, ...] = ()
    check_seconds: float | None = None
    threads: int | None = None
    engine: str = ""
    settings: str = ""
    other: Latency | None = None
    difference: float | None = None
    outputs: tuple[OutputDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """The fastest call of rlx divided by the fastest one of the other engine."""
        return None if self.other is None else self.latency.minimum / self.other.minimum

    @property
    def median_ratio(self) -> float | None:
        """The median call of rlx divided by the median one of the other engine."""
        return None if self.other is None else self.latency.median / self.other.median

    @property
    def outputs_text(self) -> str:
        """Differences between the outputs of both engines in a line."""
        return summary(self.outputs)

    def __str__(self) -> str:
        return "\n".join([view_text([self.table()]), *self.remarks(), *self.origins()])

    def table(self) -> Table:
        """Return a row of times for each engine."""
        rows = tuple(
            (name, *(s * 1e3 for s in (t.minimum, t.median, t.p90)), t.calls)
            for name, t in self._engines().items()
        )
        columns = tuple(
            Column(heading, priority=place, shortest=12)
            for place, heading in enumerate(("engine", "minimum", "median", "p90", "calls"))
        )
        return Table(f"{self.name}, milliseconds", columns, rows)

    def remarks(self) -> list[str]:
        """Return sentences about the network and the comparison."""
        macs = "unknown" if self.macs is None else f"{self.macs:,}"
        lines = [
            f"{counted(self.ops, 'op')}, {macs} MACs and {self.constant_bytes:,} bytes of constants"
            f" in a call of {self.batch}"
        ]
        if self.ratio is not None and self.median_ratio is not None:
            lines.append(
                f"rlx takes {self.ratio:.2f} times as long as {self.engine}, by medians"
                f" {self.median_ratio:.2f}"
            )
            lines += [self.outputs_text, *(f"note: {note}" for note in self.notes)]
        if self.check_seconds is not None:
            milliseconds = float_text(1e3 * self.check_seconds, 3)
            lines.append(f"compiled code was compared with NumPy in {milliseconds} ms")
        return lines

    def origins(self) -> list[str]:
        """Return the version and the settings of each engine, and the machine."""
        pairs = zip(self._engines(), self.versions, strict=False)
        lines = [f"{engine}: {version}" for engine, version in pairs]
        if self.settings:
            lines[-1] += f", {self.settings}"
        return [*lines, f"on {self.device}: {self.machine}"]

    def _engines(self) -> dict[str, Latency]:
        """Return the times of each engine by its name."""
        own = {f"rlx ({self.backend})": self.latency}
        return own if self.other is None else {**own, self.engine: self.other}

    def as_json(self) -> dict[str, Any]:
        """Return the figures as ``rlx bench --json`` prints them."""
        found = _finite(asdict(self))
        if self.other is None:
            return {name: value for name, value in found.items() if name not in _OF_BOTH}
        return {**found, "ratio": self.ratio, "median_ratio": self.median_ratio}


def _finite(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a value of JSON, with None for numbers that JSON does not have."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


_OF_BOTH: Final = ("engine", "settings", "other", "difference", "outputs", "notes")
"""Figures that need another engine."""


def bench(
    graph: Graph,
    *,
    batch: int = 1,
    seconds: float = 2.0,
    against: str | None = None,
    file: str | PathLike[str] | None = None,
    device: Device | str = Device.CPU,
    options: CompileOptions | None = None,
    clock: Clock = time.perf_counter_ns,
) -> Benchmark:
    """Return the times of a network's calls: NumPy arrays in, NumPy arrays out.

    Inputs are random, the same every time; integers of more than 8 bits are 0, since they may be
    indices. With another engine both run the same network on the same inputs, in turns of some
    milliseconds, so that other load of the machine affects both; the outputs of the first calls are
    compared. ONNX Runtime uses ``OPENBLAS_NUM_THREADS`` threads.

    Args:
        graph: A network whose dimensions are integers.
        batch: Inputs in one call, for a network that accepts one.
        seconds: Time to measure, of each engine; at least ten calls are measured.
        against: Name of another backend, or ``"onnxruntime"`` to run the network's file there; it
            must be an ONNX file.
        file: The file that the network was read from.
        device: Device that rlx uses.
        options: Options of compilation.
        clock: Returns nanoseconds.

    Raises:
        UsageError: A dimension is a symbol, a parameter has no value, the engine is unknown, it
            cannot run the model, or it takes no batch.
        ToolMissingError: The other engine is not installed.
        TargetNotFoundError: A backend cannot use the device.
    """
    settings, device = options or CompileOptions(), Device(device)
    if against not in (None, ONNXRUNTIME):
        device_for(str(against), device)  # refuses an unknown name first
    graph = _batched(graph, batch)
    inputs = random_inputs(graph)
    own_engine = backend_engine(graph, inputs, device, settings)
    engines = [own_engine]
    if against == ONNXRUNTIME:
        engines.append(onnxruntime_engine(file, inputs, batch))
    elif against is not None:
        engines.append(_other_backend(graph, inputs, device, settings, own_engine.name, against))
    first = [[np.array(a) for a in engine.call()] for engine in engines]
    times = [Latency.of(t) for t in measure([e.call for e in engines], seconds, clock)]
    figures = inspect_graph(graph)
    alone = Benchmark(
        name=graph.name,
        batch=batch,
        ops=sum(1 for _ in graph.op_nodes),
        macs=figures.macs,
        constant_bytes=figures.constant_bytes,
        latency=times[0],
        backend=own_engine.name,
        device=device.value,
        machine=machine_name(),
        versions=tuple(engine.version for engine in engines),
        check_seconds=_total(engine.check_seconds for engine in engines),
        threads=next((e.threads for e in engines if e.threads is not None), None),
    )
    if len(engines) == 1:
        return alone
    return _compared(alone, graph, engines[1], first, times[1])


def _compared(
    alone: Benchmark, graph: Graph, other: Engine, first: Sequence[Sequence[Array]], times: Latency
) -> Benchmark:
    """Return figures with those of another engine.

    Args:
        alone: Figures of rlx.
        graph: The network.
        other: The other engine.
        first: Outputs of rlx, and those of the other engine.
        times: Times of the other engine.
    """
    states = {state.name for state, _ in graph.states}
    names = [name for name in graph.output_names if name not in states]
    ours, theirs = first
    outputs = tuple(map(difference_of, names, ours, theirs))
    notes = []
    if other.name == ONNXRUNTIME and saturates(graph):
        notes.append(_SATURATION)
    quantized = any(v.type.quant is not None for node in graph.nodes for v in node.results)
    if quantized and other.exact_call is not None and any(one.differing for one in outputs):
        exact = summary(tuple(map(difference_of, names, ours, other.exact_call())))
        notes.append(f"{other.name} with ORT_DISABLE_ALL: {exact}")
    return replace(
        alone,
        engine=other.name,
        settings=other.settings,
        other=times,
        difference=max((one.largest for one in outputs), default=0.0),
        outputs=outputs,
        notes=tuple(notes),
    )


def _total(seconds: Iterable[float | None]) -> float | None:
    """Return the sum of the times that are known; None if none is."""
    known = [one for one in seconds if one is not None]
    return sum(known) if known else None


_SATURATION: Final = (
    "this processor has no VNNI: onnxruntime saturates sums of two products of uint8 by int8, so"
    " its outputs may be wrong"
)


def _other_backend(
    graph: Graph,
    inputs: Mapping[str, Array],
    device: Device,
    options: CompileOptions,
    own_name: str,
    name: str,
) -> Engine:
    """Return another backend to compare with, on the same device if it can use it.

    Raises:
        UsageError: It is the backend that is measured already.
    """
    if name == own_name:
        raise UsageError(
            f"the network runs by {name} on both sides",
            where="--against",
            hint="name another backend, or choose that of rlx with --backend",
        )
    options = replace(options, backend=name)
    return backend_engine(graph, inputs, device_for(name, device), options)


def _batched(graph: Graph, batch: int) -> Graph:
    """Return a network for calls of a number of inputs.

    Raises:
        UsageError: A dimension is a symbol.
    """
    check_bound(graph)
    return with_batch(decompose(graph), batch) if batch > 1 else graph


def compiled_for(
    graph: Graph,
    *,
    batch: int = 1,
    device: Device | str = Device.CPU,
    options: CompileOptions | None = None,
) -> tuple[CompiledGraph, dict[str, Array]]:
    """Return a network compiled for calls of a number of inputs, and random ones.

    Raises:
        UsageError: A dimension is a symbol, or a parameter has no value.
        TargetNotFoundError: The backend cannot use the device.
    """
    graph = _batched(graph, batch)
    return Session(device, options).compile(graph), random_inputs(graph)


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
