"""The backend that is always available: NumPy.

It runs every op that has a definition by calling it: ``evaluate``, or the faster form that
``prepare`` returns. It is the reference with which other backends are compared.
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
    from rlx.runtime.plan import ExecutionPlan, ExecutionStep


class NumpyProgram:
    """A graph interpreted step by step.

    Attributes:
        plan: The steps; None before the first run and after a change of parameters.
    """

    def __init__(self, graph: Graph, options: CompileOptions) -> None:
        self._graph = graph
        self._options = options
        self._params: dict[str, Array] = {}
        self.plan: ExecutionPlan | None = None

    def set_param(self, name: str, value: Array) -> None:
        """Set a parameter; the next run prepares again what depends on it."""
        self._params[name] = value
        self.plan = None

    def run(self, inputs: Mapping[str, Array]) -> list[Array]:
        """Return the outputs; they may share memory with inputs, parameters or constants."""
        plan = self.plan
        if plan is None:
            plan = self.plan = make_plan(self._graph, self._params)
        values: list[Array | None] = [None] * plan.slots
        for slot, array in plan.known.items():
            values[slot] = array
        for name, slot in plan.inputs.items():
            values[slot] = inputs[name]
        # NaN and infinity are valid results; prepared forms may produce them on the way.
        with np.errstate(all="ignore"):
            for step in plan.steps:
                self._execute(step, values)
        return [values[i] for i in plan.outputs]  # type: ignore[misc]

    def _execute(self, step: ExecutionStep, values: list[Array | None]) -> None:
        """Compute the results of one step, and free values that are not read again."""
        # Every operand is computed: steps are in the order of the graph.
        operands: Sequence[Array] = [values[i] for i in step.reads]  # type: ignore[misc]
        results = step.compute(*operands)
        for slot, array in zip(step.writes, results, strict=True):
            values[slot] = array
        for slot in step.frees:
            values[slot] = None
        if self._options.check_finite:
            _check_finite(step, operands, results)


def _check_finite(step: ExecutionStep, operands: Sequence[Array], results: Sequence[Array]) -> None:
    """Raise FloatingPointError if a step made NaN or infinity from finite numbers."""
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
        """Return None: NumPy is always available."""
        del device
        return None

    def refusal(self, node: Node) -> Refusal | None:
        """Return why a node is not run directly: model-level ops are decomposed."""
        return Refusal("it is run as its decomposition") if isinstance(node.op, NnOp) else None

    def compile(self, graph: Graph, options: CompileOptions) -> NumpyProgram:
        """Return an interpreter of ``graph``."""
        return NumpyProgram(graph, options)


BACKEND = NumpyBackend()
