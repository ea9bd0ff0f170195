"""Needs of a graph on the host before it is compiled: memory, time at best, a device.

Tests: tests/unit/runtime/observation/test_roofline.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Graph
from rlx.ir.module import GraphModule, Stage
from rlx.passes import unobserved
from rlx.passes.transforms.bind import sizes_hint, symbols
from rlx.runtime.backend import devices, find_backend
from rlx.runtime.device import Device
from rlx.runtime.lowering import lower
from rlx.runtime.observation.machine import Machine
from rlx.runtime.observation.memory import MemoryEstimate, estimate_memory
from rlx.runtime.observation.roofline import Roofline, roofline
from rlx.runtime.options import CompileOptions
from rlx.support.errors import TargetNotFoundError, UnsupportedOpError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.passes import Observer
    from rlx.runtime.lowering import HostModule


def memory_needed(
    graph: Graph | GraphModule,
    *,
    device: Device | str = Device.CPU,
    options: CompileOptions | None = None,
    workspace: bool = True,
) -> MemoryEstimate:
    """Return the memory that a graph will need on a device; it is not run.

    Args:
        graph: A graph of static shapes; a module at stage LIR is used as planned.
        device: Device that it will run on.
        options: Options of compilation.
        workspace: Whether to compile the graph, and drop it, to find the needs of single steps:
            else the plan alone is read.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.
    """
    if isinstance(graph, GraphModule) and graph.stage is Stage.LIR:
        return estimate_memory(graph)
    found = lowered(graph, Device(device), options)
    needed = _workspace(found, Device(device), options or CompileOptions()) if workspace else None
    return estimate_memory(found.module, prologue=found.prologue, workspace=needed)


def _workspace(host: HostModule, device: Device, options: CompileOptions) -> int:
    """Return the bytes that single steps need, from a compilation of the graph."""
    program = find_backend(device, options.backend).compile(host.module, options)
    types = {v.name: v.type for v in host.module.graph.params}
    if types:
        program.set_params(
            {name: np.zeros(t.static_shape, t.dtype.numpy) for name, t in types.items()}
        )
    return program.workspace_bytes


def time_bound(
    graph: Graph | GraphModule, machine: Machine, *, options: CompileOptions | None = None
) -> Roofline:
    """Return the minimum time that a graph takes on a machine, as its backend would run it.

    Args and errors as :func:`memory_needed`; the device is that of the machine.
    """
    if isinstance(graph, GraphModule) and graph.stage is Stage.LIR:
        return roofline(graph, machine)
    return roofline(lowered(graph, Device(machine.device), options).module, machine)


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """The device on which a graph is fastest.

    Attributes:
        device: The device.
        machine: Its limits.
        roofline: The minimum time that the graph takes there.
        reason: Reason in a sentence, with the cost or the gaps of the others.
    """

    device: Device
    machine: Machine
    roofline: Roofline
    reason: str


def pick_device(
    graph: Graph | GraphModule,
    machines: Sequence[Machine],
    *,
    options: CompileOptions | None = None,
) -> DeviceChoice:
    """Return the available device with the lowest bound of time; of equal ones the first.

    Args:
        graph: A graph of static shapes.
        machines: Devices to choose from, with their limits.
        options: Options of compilation.

    Raises:
        TargetNotFoundError: None of them is available here and runs the graph.
        UsageError: A size is a symbol, there are no machines, or one is something else.
    """
    if not machines:
        raise UsageError(
            "expected machines to choose from, got none",
            where="pick_device",
            hint="give their limits, such as rlx.measure_machine()",
        )
    for machine in machines:
        if not isinstance(machine, Machine):
            raise UsageError(
                f"a machine is a device with its limits, got {machine!r}",
                where="pick_device",
                hint="give rlx.Machine(...) or rlx.measure_machine()",
            )
    bounds: list[tuple[Machine, Roofline]] = []
    lacking: list[str] = []
    here = devices()
    for machine in machines:
        if Device(machine.device) not in here:
            lacking.append(f"{machine.name}: no {machine.device} here")
            continue
        try:
            bounds.append((machine, time_bound(graph, machine, options=options)))
        except UnsupportedOpError as e:
            lacking.append(f"{machine.name}: {e.message}")
    if not bounds:
        raise TargetNotFoundError(
            f"no device can run the graph: {'; '.join(lacking)}",
            hint=f"devices here: {', '.join(map(str, here))}",
        )
    bounds.sort(key=lambda pair: pair[1].seconds)
    slower = [f"{m.name} {_time(r)}" for m, r in bounds[1:]]
    machine, best = bounds[0]
    rest = "; ".join([*slower, *lacking])
    reason = f"{machine.name} takes {_time(best)} at least" + (f"; {rest}" if rest else "")
    return DeviceChoice(Device(machine.device), machine, best, reason)


def _time(bound: Roofline) -> str:
    return f"{1e6 * bound.seconds:.4g} us"


def lowered(
    graph: Graph | GraphModule,
    device: Device = Device.CPU,
    options: CompileOptions | None = None,
    *,
    observe: Observer = unobserved,
) -> HostModule:
    """Return the form of a graph that is compiled for a device.

    Args:
        graph: A graph of static shapes.
        device: Device that it will run on.
        options: Options of compilation.
        observe: Is called with each step and its result.

    Raises:
        UsageError: A size is a symbol.
        UnsupportedOpError: The backend cannot run some op.
    """
    inner = graph if isinstance(graph, Graph) else graph.graph
    if unknown := symbols(inner):
        raise UsageError(
            f"sizes must be numbers, but there is {', '.join(map(str, unknown))}",
            where=f"graph {inner.name!r}",
            hint=sizes_hint(unknown),
        )
    settings = options or CompileOptions()
    return lower(inner, find_backend(device, settings.backend), settings, observe=observe)
