"""The backend that is always there: NumPy, planned.

It runs every op that has a meaning, because it calls that meaning: ``evaluate``, or the faster
form that ``prepare`` makes of it. It is the reference that other backends are compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import DType, Refusal
from rlx.ops.nn import NnOp
from rlx.runtime.device import Device
from rlx.runtime.plan import make_plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph, Node
    from rlx.runtime.options import CompileOptions
    from rlx.runtime.plan import Plan, Step


class NumpyProgram:
    """A graph interpreted step by step, made ready when its last parameter is set.

    Attributes:
        plan: The steps, or None until the first run after a change of parameters.
    """

    def __init__(self, graph: Graph, options: CompileOptions) -> None:
        self._graph = graph
        self._options = options
        self._params: dict[str, Array] = {}
        self.plan: Plan | None = None

    def set_param(self, name: str, value: Array) -> None:
        """Set a parameter; the next run makes ready anew what depends on it."""
        self._params[name] = value
        self.plan = None

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Return the outputs; they may share memory with inputs, parameters or constants."""
        plan = self.plan
        if plan is None:
            plan = self.plan = make_plan(self._graph, self._params)
        values: list[Array | None] = [None] * plan.places
        for place, array in plan.known.items():
            values[place] = array
        for name, place in plan.inputs.items():
            values[place] = inputs[name]
        # NaN and infinity are results like others; prepared forms rely on silence here.
        with np.errstate(all="ignore"):
            for step in plan.steps:
                self._take(step, values)
        return [values[i] for i in plan.outputs]  # type: ignore[misc]

    def _take(self, step: Step, values: list[Array | None]) -> None:
        """Compute the results of one step, and free what nobody reads any more."""
        # Every operand is there: steps stand in the order of the graph.
        operands: Sequence[Array] = [values[i] for i in step.reads]  # type: ignore[misc]
        results = step.compute(*operands)
        for place, array in zip(step.writes, results, strict=True):
            values[place] = array
        for place in step.frees:
            values[place] = None
        if self._options.check_finite:
            _check_finite(step, operands, results)


def _check_finite(step: Step, operands: Sequence[Array], results: Sequence[Array]) -> None:
    """Raise FloatingPointError if a step made NaN or infinity out of finite numbers."""
    if not all(_is_finite(o) for o in operands):
        return
    for array in results:
        if not _is_finite(array):
            bad = np.argwhere(~np.isfinite(array.astype(np.float64)))[0].tolist()
            place = f" from {step.node.origin}" if str(step.node.origin) else ""
            raise FloatingPointError(
                f"{step.node.op.name} {step.node.label}{place} made"
                f" {array[tuple(bad)]} at index {bad}"
            )


def _is_finite(array: Array) -> bool:
    if not DType.of(array).is_float:
        return True
    return bool(np.isfinite(array.astype(np.float64)).all())


class NumpyBackend:
    """NumPy on the processor."""

    name = "numpy"
    devices = (Device.CPU,)
    rank = 0

    def unavailable(self, device: Device) -> str | None:
        """Return None: NumPy is always there."""
        del device
        return None

    def refusal(self, node: Node) -> Refusal | None:
        """Return why a node is not run as it stands: model-level ops are decomposed."""
        return Refusal("it is run as its decomposition") if isinstance(node.op, NnOp) else None

    def compile(self, graph: Graph, options: CompileOptions) -> NumpyProgram:
        """Return an interpreter of ``graph``."""
        return NumpyProgram(graph, options)


BACKEND = NumpyBackend()
