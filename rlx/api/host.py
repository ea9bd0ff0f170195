"""Times, memory and devices of this machine.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

import time
from os import PathLike
from typing import TYPE_CHECKING

from rlx.networks import Model, bound_module, module_of
from rlx.runtime import CompileOptions, latency
from rlx.runtime.needs import memory_needed, time_bound
from rlx.runtime.needs import pick_device as choose_device
from rlx.runtime.observation.machine import measure_machine
from rlx.support.calls import checked_call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.api.types import DeviceLike
    from rlx.runtime.latency import Benchmark, Clock
    from rlx.runtime.needs import DeviceChoice
    from rlx.runtime.observation.machine import Machine
    from rlx.runtime.observation.memory import MemoryEstimate
    from rlx.runtime.observation.roofline import Roofline
    from rlx.support.annotations import Count, Seconds


@checked_call
def bench(
    model: Model,
    *,
    batch: Count = 1,
    seconds: Seconds = 2.0,
    against: str | None = None,
    device: DeviceLike = "cpu",
    backend: str | None = None,
    threads: Count | None = None,
    options: CompileOptions | None = None,
    clock: Clock | None = None,
) -> Benchmark:
    """Return the times of a network's calls on this machine, as ``rlx bench`` shows them.

    Inputs are random, the same every time; integers of more than 8 bits are 0, since they may be
    indices. With another engine both run the same network on the same inputs, in turns of some
    milliseconds, so that other load of the machine affects both; the outputs of the first calls are
    compared. ONNX Runtime uses ``OPENBLAS_NUM_THREADS`` threads.

    Args:
        model: As for :func:`rlx.run`. A batch that the model leaves open is ``batch``.
        batch: Inputs in one call, for a network that accepts one.
        seconds: Time to measure, of each engine; at least ten calls are measured.
        against: Name of another backend, such as ``"numpy"``, or ``"onnxruntime"`` for the path of
            an ONNX file.
        device: Device that rlx uses; another backend too, if it can.
        backend: Backend of rlx; None for that of ``options``.
        threads: Threads of the backend ``native``, of both engines; None for those of ``options``.
        options: Options of compilation.
        clock: Returns nanoseconds; None for ``time.perf_counter_ns``.

    Raises:
        UsageError: The size of a dimension is unknown, a parameter has no value, the engine is
            unknown, or it cannot run the model.
        ToolMissingError: The other engine is not installed.
        TargetNotFoundError: A backend is not installed, or cannot use the device.

    Example:
        >>> times = rlx.bench("digits/digits.rlx", seconds=0.01)
        >>> times.latency.calls >= 10
        True
        >>> path = "onnx_to_firmware/digits.onnx"
        >>> rlx.bench(path, seconds=0.01, against="onnxruntime").ratio > 0
        True
    """
    file = model if isinstance(model, str | PathLike) else None
    settings = (options or CompileOptions()).changed(backend=backend, threads=threads)
    return latency.bench(
        bound_module(model)[0].graph, batch=batch, seconds=seconds, against=against, file=file,
        device=device, options=settings, clock=clock or time.perf_counter_ns,
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
