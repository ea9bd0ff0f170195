"""Runs of one graph on several devices, in one process or in several.

The values of a graph are split along the axes of a mesh of devices; XLA splits the computation
accordingly, and adds the exchange of data. Inputs split along their batch make a run data-parallel,
weights split along a dimension make it tensor-parallel.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from rlx.runtime import CompiledGraph, CompileOptions, Device
from rlx.runtime.session import parts_of
from rlx_xla.backend import XlaBackend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.runtime import Backend
    from rlx.runtime.session import Compilable

__all__ = ["join", "shard"]


def shard(
    graph: Compilable,
    axes: Mapping[str, int],
    splits: Mapping[str, tuple[str | None, ...]],
    *,
    device: Device | str = Device.CPU,
    options: CompileOptions | None = None,
) -> CompiledGraph:
    """Return a graph compiled for a mesh of devices.

    Its outputs are whole in each process. All processes call the same functions in the same order,
    with whole inputs and parameters, of which each device is given its part.

    ::

        shard(graph, {"data": 2, "model": 4}, {"x": ("data", None), "w": (None, "model")})

    Args:
        graph: A graph of static shapes.
        axes: Size of each axis of the mesh, by name.
        splits: For names of inputs, parameters and states the axis along which each of their
            dimensions is split, or None; other values are whole on each device.
        device: Kind of the devices.
        options: Options of compilation. Weights are not joined by fusion, whatever they say.

    Raises:
        UsageError: There are fewer devices, or a value cannot be split so.
    """
    inner, params = parts_of(graph)
    backend = XlaBackend((Device(device),), tuple(axes.items()), tuple(splits.items()))
    chosen = replace(options or CompileOptions(), backend="xla", fusion=None)
    return CompiledGraph(inner, Device(device), cast("Backend", backend), chosen, params)


def join(address: str, processes: int, index: int) -> None:
    """Join other processes: their devices and those of this process become one set of devices.

    It is called before anything else of JAX.

    Args:
        address: Host and port of the first process.
        processes: Number of processes.
        index: Number of this process, from 0.
    """
    import jax

    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(address, num_processes=processes, process_id=index)
