"""What a network needs on this machine: memory, time, a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.networks import Model, module_of
from rlx.observation.machine import measure_machine
from rlx.runtime.needs import memory_needed, time_bound
from rlx.runtime.needs import pick_device as choose_device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.observation.machine import Machine
    from rlx.observation.memory import MemoryEstimate
    from rlx.observation.roofline import Roofline
    from rlx.runtime import CompileOptions, Device
    from rlx.runtime.needs import Choice


def memory_estimate(
    model: Model,
    *,
    device: Device | str = "cpu",
    options: CompileOptions | None = None,
    workspace: bool = True,
) -> MemoryEstimate:
    """Return the memory that a model will need on the host, as ``rlx inspect --memory`` shows it.

    It is planned as ``rlx.Session.compile`` plans it, but not run.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        device: Where it will run.
        options: Options of compilation.
        workspace: Whether to compile the model, and drop it, to find what single steps need: else
            the plan alone is read.

    Returns:
        An object with the bytes of each part, ``total``, ``fits(limit)`` and ``require(limit)``.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.
    """
    return memory_needed(module_of(model)[0], device=device, options=options, workspace=workspace)


def roofline(
    model: Model, machine: Machine | None = None, *, options: CompileOptions | None = None
) -> Roofline:
    """Return the minimum time that a model takes on a machine, as ``rlx inspect --roofline`` does.

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
    """
    return time_bound(module_of(model)[0], machine or measure_machine(), options=options)


def pick_device(
    model: Model, machines: Sequence[Machine], *, options: CompileOptions | None = None
) -> Choice:
    """Return the available device on which a model can be fastest, and why.

    Args:
        model: As for :func:`rlx.run`; its sizes are numbers.
        machines: Devices to choose from, with their limits.
        options: Options of compilation.

    Raises:
        TargetNotFoundError: None of them is available here and runs the model.
        UsageError: A size is a symbol, or there are no machines.
    """
    return choose_device(module_of(model)[0], machines, options=options)
