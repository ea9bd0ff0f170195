"""Control flow: regions bound once, each value with memory of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ir import Constant, Input
from rlx.ir.binding import symbols_of
from rlx.ops.control import If, Scan, While
from rlx.runtime.numpy_backend.step import KERNELS, BoundStep, bind, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Graph, Value
    from rlx.runtime.numpy_backend.step import Run
    from rlx.runtime.numpy_backend.workspace import Workspace


@dataclass(frozen=True, slots=True)
class _Region:
    """A region whose steps are bound.

    Attributes:
        steps: Calls that make up one run of it.
        outputs: Array of each output, the same in every run; an input's own one where the region
            gives an input back.
    """

    steps: tuple[Run, ...]
    outputs: tuple[Array, ...]

    def run(self) -> None:
        """Compute the outputs."""
        for step in self.steps:
            step()


def _bound_region(
    region: Graph,
    inputs: Sequence[Array],
    constants: Sequence[Array | None],
    workspace: Workspace,
) -> _Region:
    """Bind the steps of a region.

    Values that depend on constants only are computed now. Steps get their scratch memory from the
    same bytes as those around the region, which do not run meanwhile.

    Args:
        region: The region, without symbols.
        inputs: Array of each input.
        constants: For each input its array if that never changes, else None.
        workspace: Scratch memory of steps.
    """
    arrays: dict[Value, Array] = dict(zip(region.inputs, inputs, strict=True))
    known: dict[Value, Array | None] = dict(zip(region.inputs, constants, strict=True))
    steps = []
    for node in region.nodes:
        if isinstance(node.op, Input):
            continue
        if isinstance(node.op, Constant):
            arrays[node.result] = known[node.result] = node.op.value
            continue
        results = tuple(np.zeros(t.static_shape, t.dtype.numpy) for t in node.types)
        arrays.update(zip(node.results, results, strict=True))
        operands = tuple(arrays[o] for o in node.operands)
        fixed = tuple(known.get(o) for o in node.operands)
        workspace.begin()
        compute = bind(BoundStep(node, operands, results, fixed, workspace))
        if node.op.regions() or not operands or any(array is None for array in fixed):
            steps.append(compute)
        else:
            with np.errstate(all="ignore"):  # NaN and infinity are valid results
                compute()
            known.update(zip(node.results, results, strict=True))
    return _Region(tuple(steps), tuple(arrays[o] for o in region.outputs))


def _moves(sources: Sequence[Array], targets: Sequence[Array]) -> Run:
    """Return a function that copies arrays to others at once: a carry may become another one."""
    copies = [(s, t) for s, t in zip(sources, targets, strict=True) if s is not t]
    sources, targets = [s for s, _ in copies], [t for _, t in copies]
    # A source that is a target too is copied first, before it is overwritten.
    read = {id(a) for a in targets}
    temporaries = [np.empty_like(s) if id(s) in read else None for s in sources]
    first = [(h, s) for h, s in zip(temporaries, sources, strict=True) if h is not None]
    pairs = zip(temporaries, sources, targets, strict=True)
    then = [(t, s if h is None else h) for h, s, t in pairs]

    def run() -> None:
        for target, source in first:
            np.copyto(target, source)
        for target, source in then:
            np.copyto(target, source)

    return run


@KERNELS.rule(If)
def _if(step: BoundStep) -> Run:
    op, (condition, *inputs) = cast("If", step.node.op), step.inputs
    if symbols_of(op):
        return prepare(step)
    other = _bound_region(op.else_body, inputs, step.constants[1:], step.workspace)
    then = other
    if op.then_body is not op.else_body:
        then = _bound_region(op.then_body, inputs, step.constants[1:], step.workspace)
    branches = other, then
    ends = [_moves(branch.outputs, step.outputs) for branch in branches]

    def run() -> None:
        which = int(bool(condition))
        branches[which].run()
        ends[which]()

    return run


@KERNELS.rule(While)
def _while(step: BoundStep) -> Run:
    op = cast("While", step.node.op)
    if symbols_of(op):
        return prepare(step)
    count, most = len(op.body.outputs), op.max_iterations
    carries = [np.empty_like(a) for a in step.inputs[:count]]
    inputs = (*carries, *step.inputs[count:])
    constants = (*[None] * count, *step.constants[count:])
    condition = _bound_region(op.condition, inputs, constants, step.workspace)
    body = _bound_region(op.body, inputs, constants, step.workspace)
    begin, follow = _moves(step.inputs[:count], carries), _moves(body.outputs, carries)
    end = _moves(carries, step.outputs)
    (holds,) = condition.outputs

    def run() -> None:
        begin()
        iterations = 0
        while iterations != most:
            condition.run()
            if not holds:
                break
            body.run()
            follow()
            iterations += 1
        end()

    return run


@KERNELS.rule(Scan)
def _scan(step: BoundStep) -> Run:
    op = cast("Scan", step.node.op)
    if symbols_of(op):
        return prepare(step)
    count, ends = op.carries, op.carries + op.scanned
    carries = [np.empty_like(a) for a in step.inputs[:count]]
    scanned = step.inputs[count:ends]
    elements = [np.empty(a.shape[1:], a.dtype) for a in scanned]
    constants = (*[None] * ends, *step.constants[ends:])
    inputs = (*carries, *elements, *step.inputs[ends:])
    body = _bound_region(op.body, inputs, constants, step.workspace)
    begin, end = _moves(step.inputs[:count], carries), _moves(carries, step.outputs[:count])
    follow = _moves(body.outputs[:count], carries)
    collected = list(zip(step.outputs[count:], body.outputs[count:], strict=True))
    slices = list(zip(elements, scanned, strict=True))
    length = cast("int", op.length)
    order = range(length)[::-1] if op.reverse else range(length)

    def run() -> None:
        begin()
        for t in order:
            for element, whole in slices:
                np.copyto(element, whole[t])
            body.run()
            for whole, part in collected:
                whole[t] = part
            follow()
        end()

    return run
