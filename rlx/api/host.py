"""Times, memory and devices of this machine.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

import time
from os import PathLike
from typing import TYPE_CHECKING

from rlx.networks import Model, module_of
from rlx.runtime import latency
from rlx.runtime.needs import memory_needed, time_bound
from rlx.runtime.needs import pick_device as choose_device
from rlx.runtime.observation.machine import measure_machine
from rlx.support.calls import checked_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.api.types import DeviceLike, Engine
    from rlx.runtime import CompileOptions
    from rlx.runtime.latency import Benchmark, Clock
    from rlx.runtime.needs import DeviceChoice
    from rlx.runtime.observation.machine import Machine
    from rlx.runtime.observation.memory import MemoryEstimate
    from rlx.runtime.observation.roofline import Roofline


@checked_call
def bench(
    model: Model,
    *,
    batch: int = 1,
    seconds: float = 2.0,
    against: Engine | None = None,
    options: CompileOptions | None = None,
    clock: Clock = time.perf_counter_ns,
) -> Benchmark:
    """Return the times of a network's calls on this machine, as ``rlx bench`` shows them.

    Inputs are random, the same every time; integers of more than 8 bits are 0, since they may be
    indices. With another engine both take turns of some milliseconds, so that whatever else the
    machine does meets both; it uses as many threads as ``OPENBLAS_NUM_THREADS`` says.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        batch: Inputs in one call, for a network that takes one.
        seconds: Time to measure, of each engine; at least ten calls are measured.
        against: ``"onnxruntime"`` to run the model there too; it must be the path of an ONNX file.
        options: Options of compilation.
        clock: Returns nanoseconds.

    Raises:
        UsageError: A dimension is a symbol, a parameter has no value, the engine is unknown, it
            cannot run the model, or the time is not a number from 0.
        ToolMissingError: The other engine is not installed.

    Example:
        >>> times = rlx.bench("digits/digits.rlx", seconds=0.01)
        >>> times.latency.calls >= 10
        True
    """
    file = model if isinstance(model, str | PathLike) else None
    return latency.bench(
        module_of(model)[0].graph, batch=batch, seconds=seconds, against=against, file=file,
        options=options, clock=clock,
    )  # fmt: skip


@checked_call
def memory_estimate(
    model: Model,
    *,
    device: DeviceLike = "cpu",
    options: CompileOptions | None = None,
    workspace: bool = True,
) -> MemoryEstimate:
    """Return the memory that a model will need on the host, as ``rlx host --memory`` shows it.

    It is planned as ``rlx.Session.compile`` plans it, but not run.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        device: Device that it will run on.
        options: Options of compilation.
        workspace: Whether to compile the model, and drop it, to find what single steps need: else
            the plan alone is read.

    Returns:
        An object with the bytes of each part, ``total``, ``fits(limit)`` and ``require(limit)``.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.

    Example:
        >>> rlx.memory_estimate("digits/digits.rlx").fits(1_000_000)
        True
    """
    return memory_needed(module_of(model)[0], device=device, options=options, workspace=workspace)


@checked_call
def roofline(
    model: Model, machine: Machine | None = None, *, options: CompileOptions | None = None
) -> Roofline:
    """Return the minimum time that a model takes on a machine, as ``rlx host --roofline`` does.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        machine: Limits of the machine; None to measure this processor, which takes a second.
        options: Options of compilation.

    Returns:
        An object with ``seconds``, and for each node its work, its lower bound and what it is
        bound by.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.

    Example:
        >>> rlx.roofline("digits/digits.rlx").seconds < 1
        True
    """
    return time_bound(module_of(model)[0], machine or measure_machine(), options=options)


@checked_call
def pick_device(
    model: Model, machines: Sequence[Machine], *, options: CompileOptions | None = None
) -> DeviceChoice:
    """Return the available device on which a model can be fastest, and why.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        machines: Devices to choose from, with their limits.
        options: Options of compilation.

    Raises:
        TargetNotFoundError: None of them is available here and runs the model.
        UsageError: A size is a symbol, or no machine is given.

    Example:
        >>> machine = rlx.measure_machine()
        >>> rlx.pick_device("digits/digits.rlx", [machine]).machine == machine
        True
    """
    return choose_device(module_of(model)[0], machines, options=options)
