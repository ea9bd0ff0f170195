"""Node that a kernel computes, with its arrays and scratch memory.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.ir import RuleTable
from rlx.support.errors import ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Array, Node
    from rlx.runtime.numpy_backend.workspace import Workspace

    Run: TypeAlias = Callable[[], object]
    Kernel: TypeAlias = Callable[["BoundStep"], Run]


@dataclass(frozen=True, slots=True)
class BoundStep:
    """A node with the memory of its operands and results.

    Attributes:
        node: The node.
        inputs: Array of each operand, the same in every run.
        outputs: Array of each result. It may share its bytes with an operand, from the first to
            the last, if the plan has the node work in place (see ``rlx.memory.host_in_place``).
        constants: For each operand its array if that never changes, else None.
        workspace: Scratch memory of the step.
    """

    node: Node
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    constants: tuple[Array | None, ...]
    workspace: Workspace


KERNELS: RuleTable[Kernel] = RuleTable("the NumPy backend")
"""Kernels that compute ops into given arrays, without allocating.

A kernel is called once, when a program is bound, and returns the function that each run calls. Ops
without one are run by ``Op.prepare``, which returns new arrays, and copied.
"""


def prepare(step: BoundStep) -> Run:
    """Return a function that runs an op's own prepared form and copies its result.

    The op may be of another package: its operands are read-only, and its result is checked.
    """
    compute = step.node.op.prepare(step.constants)
    inputs = tuple(array.view() for array in step.inputs)
    for array in inputs:
        array.flags.writeable = False
    outputs = step.outputs
    shapes = [(output.shape, output.dtype) for output in outputs]

    def run() -> None:
        results = compute(*inputs)
        if [(getattr(r, "shape", None), getattr(r, "dtype", None)) for r in results] != shapes:
            raise _misfit(step.node, results)
        for output, result in zip(outputs, results, strict=True):
            output[...] = result

    return run


def _misfit(node: Node, results: Sequence[object]) -> ShapeError:
    """Return the error for results that are not of the types of a node."""
    inferred = ", ".join(map(str, node.types))
    actual = ", ".join(
        f"{r.dtype}{list(r.shape)}" if isinstance(r, np.ndarray | np.generic) else type(r).__name__
        for r in results
    )
    return ShapeError(
        f"evaluate gives {actual or 'nothing'}, but infer says {inferred}",
        where=f"{node.op.name} {node.label}",
        hint="correct the class of the op: both are its methods",
    )


def bind(step: BoundStep) -> Run:
    """Return the function that computes a step."""
    op = type(step.node.op)
    # There is nothing to gain, and reshape cannot infer a dimension without elements.
    empty = any(not array.size for array in (*step.inputs, *step.outputs))
    return KERNELS[op](step) if op in KERNELS and not empty else prepare(step)
