"""Two engines on one network: their outputs compared, then their times.

Both run in one process on one core with one thread, in turns of some calls, so that other load on
the machine affects both. A turn is measured in processor time, which other programs do not add
to; of all turns of one engine the minimum counts, and ``ratio`` is one minimum divided by the
other. A call accepts and returns arrays, so it includes the overhead of the engine's interface.
States stay in rlx; ONNX Runtime returns them. Integers of rlx are equal to the definitions of the
ops; ONNX Runtime rounds some of them to a neighbour, so its outputs are not compared.
"""

from __future__ import annotations

import os
import time
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime as ort

from rlx.ir.evaluate import evaluate
from rlx.runtime import CompileOptions, Device, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.host.networks.case import Case
    from rlx.ir import Array
    from rlx.runtime import CompiledGraph

ROUNDS: Final = 40
TOLERANCE: Final = 1e-5
"""Accepted difference of outputs, relative to the largest one of them where that exceeds 1."""

Call = "Callable[[], list[Array]]"


def one_core() -> None:
    """Keep this process on one core, where the system allows that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def compiled(case: Case, backend: str) -> CompiledGraph:
    """Return the network on a backend of rlx, its states filled."""
    net = Session(Device.CPU, CompileOptions(backend=backend)).compile(case.graph)
    for name, contents in case.states.items():
        net.bind_state(name, contents)
    return net


def onnx_session(case: Case) -> ort.InferenceSession:
    """Return the network in ONNX Runtime, on one thread that does not spin."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return ort.InferenceSession(
        case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def calls(case: Case, backend: str = "numpy") -> tuple[Call, Call]:
    """Return a call of each engine, that of rlx first."""
    net, session = compiled(case, backend), onnx_session(case)
    inputs, feeds = dict(case.inputs), dict(case.feeds)
    wanted = [n for n in net.output_names if n not in case.states] if case.states else None
    return lambda: net.run(inputs, outputs=wanted), lambda: session.run(None, feeds)


def difference(ours: Array, theirs: Array) -> float:
    """Return the largest difference, relative to the largest value if that exceeds 1."""
    if ours.shape != theirs.shape:
        raise ValueError(f"shapes differ: {ours.shape} and {theirs.shape}")
    scale = max(1.0, float(np.abs(theirs).max()))
    return float(np.abs(ours - theirs).max()) / scale


def require_equal(name: str, ours: Array, theirs: Array) -> None:
    """Raise ValueError if the first outputs differ by more than :data:`TOLERANCE`."""
    found = difference(ours, theirs)
    if not found <= TOLERANCE:
        raise ValueError(f"{name}: the engines differ by {found:.2g}, {TOLERANCE} is accepted")


def require_exact(case: Case, ours: Array) -> None:
    """Raise ValueError if the first output of integers is not that of the ops' definitions."""
    (expected,) = evaluate(case.graph.graph, case.inputs)
    if not np.array_equal(ours, expected):
        raise ValueError(f"{case.name}: the outputs differ from those of evaluate")


def compare(case: Case, iterations: int, backend: str) -> dict[str, Any]:
    """Return the ratios of a network, with ``iterations`` calls of each engine in a turn.

    Raises:
        ValueError: The outputs differ: floats from ONNX Runtime's, integers from the definitions.
    """
    ours, theirs = calls(case, backend)
    first = ours()[0]
    if first.dtype.kind == "f":
        require_equal(case.name, first, theirs()[0])
    else:
        require_exact(case, first)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, seconds in zip((ours, theirs), times, strict=True):
            call()  # before it, the other engine's data are in the caches
            seconds.append(_seconds(call, iterations))
    rlx, onnx = ([min(t), median(t)] for t in times)
    return {
        "ratio": round(rlx[0] / onnx[0], 3),
        "ratio_of_medians": round(rlx[1] / onnx[1], 3),
        "milliseconds": round(rlx[0] * 1e3, 4),
        "onnxruntime_milliseconds": round(onnx[0] * 1e3, 4),
    }


def _seconds(call: Callable[[], object], count: int) -> float:
    """Return the processor seconds of one of ``count`` calls."""
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count
