"""Several nodes bound as one step: values between them are in the workspace, block by block.

Tests: tests/unit/runtime/numpy_backend/test_kernels.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Constant
from rlx.memory import elementwise_in_place
from rlx.ops import real
from rlx.ops.real.reduce import RealReduce
from rlx.runtime.numpy_backend.step import BoundStep, bind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Node, Value
    from rlx.runtime.numpy_backend.step import Run
    from rlx.runtime.numpy_backend.workspace import Workspace

BLOCK_ELEMENTS: Final = 1 << 14
"""Numbers of a value that are computed at a time: several such values stay in the cache."""

_VIEWS: Final = (real.RealTranspose, real.RealSlice, real.RealBroadcastTo, real.RealReverse)
"""Ops whose result is read from the operand's bytes, with other strides."""


@dataclass(frozen=True, eq=False)
class KernelRegion:
    """Nodes that are computed together.

    Attributes:
        nodes: The nodes in order.
        arrays: Arrays of the values from outside, and of the results that are read outside. Those
            of ``owned`` values may be overwritten once they are not read any more.
        constants: Those of them that never change.
        workspace: Memory of the others.
        owned: Values from outside that only these nodes read.
    """

    nodes: Sequence[Node]
    arrays: Mapping[Value, Array]
    constants: Mapping[Value, Array]
    workspace: Workspace
    owned: frozenset[Value] = field(default=frozenset())

    @cached_property
    def free(self) -> int:
        """Number of leading axes that may be cut in blocks."""
        return free_axes(self.nodes, self.nodes[-1].types[0].static_shape)

    def runs(self, leading: slice | None = None) -> list[Run]:
        """Return the calls that compute the results, in blocks if that is possible and pays.

        Args:
            leading: Compute only this part of the first axis, which must be free.
        """
        shape, free = self.nodes[-1].types[0].static_shape, self.free
        unit = max(math.prod(v.type.static_shape[free:]) for n in self.nodes for v in n.results)
        if leading is None and math.prod(shape[:free]) * unit <= 2 * BLOCK_ELEMENTS:
            return _Block(self, ()).runs()
        first = leading or slice(0, shape[0] if free else 0)
        sizes = (first.stop - first.start, *shape[1:free]) if free else ()
        runs: list[Run] = []
        mark = self.workspace.mark()
        for index in blocks(sizes, max(BLOCK_ELEMENTS // max(unit, 1), 1)):
            # Every block uses the same memory.
            self.workspace.release(mark)
            runs += _Block(self, _shift_index(index, first.start)).runs()
        return runs


def _shift_index(index: tuple[slice, ...], start: int) -> tuple[slice, ...]:
    """Return a block that begins ``start`` places later along the first axis."""
    if not index or not start:
        return index
    first, *rest = index
    return (slice(first.start + start, first.stop + start), *rest)


def blocks(shape: Sequence[int], count: int) -> Iterator[tuple[slice, ...]]:
    """Yield the parts of leading axes of ``shape``, each of at most ``count`` places."""
    if not shape:
        yield ()
        return
    inner = math.prod(shape[1:])
    if inner <= count:
        rows = max(count // max(inner, 1), 1)
        for start in range(0, shape[0], rows):
            yield (slice(start, min(start + rows, shape[0])),)
        return
    for start in range(shape[0]):
        for rest in blocks(shape[1:], count):
            yield (slice(start, start + 1), *rest)


def free_axes(nodes: Sequence[Node], shape: Sequence[int]) -> int:
    """Return the number of leading axes that may be cut in blocks without changing results.

    Args:
        nodes: The nodes.
        shape: Shape of the result: along these axes, others have its size or 1.
    """
    free = len(shape)
    for node in nodes:
        free = min(free, _free_axes(node, len(shape)))
        for value in (*node.operands, *node.results):
            sizes = value.type.static_shape
            if len(sizes) > len(shape) or (value.node is node and len(sizes) < len(shape)):
                return 0
            before = len(shape) - len(sizes)
            fits = [n in (1, m) for n, m in zip(sizes, shape[before:], strict=True)]
            if False in fits:
                free = min(free, before + fits.index(False))
    return free


def _free_axes(node: Node, rank: int) -> int:
    """Return the number of leading axes of which a node computes each place independently."""
    op = node.op
    if node.op.traits.elementwise:
        return rank
    if isinstance(op, RealReduce) and op.keep_dims:
        return min((a % rank for a in op.axes), default=rank)
    if isinstance(op, real.RealMatmul):
        return max(rank - 2, 0)
    if isinstance(op, real.RealTranspose):
        return next((i for i, a in enumerate(op.axes) if a != i), rank)
    if isinstance(op, real.RealSlice):
        (x,) = node.operands
        dimensions = zip(x.type.shape, node.types[0].shape, strict=True)
        return next((i for i, (n, m) in enumerate(dimensions) if n != m), rank)
    return 0


def part(array: Array, index: tuple[slice, ...], rank: int) -> Array:
    """Return the part that a block reads of an array that broadcasts to ``rank`` axes."""
    before = rank - array.ndim
    if before >= len(index):
        return array
    own = zip(index[before:], array.shape, strict=False)
    return array[tuple(slice(None) if n == 1 else place for place, n in own)]


class _Block:
    """The nodes of a region, bound for one block."""

    def __init__(self, region: KernelRegion, index: tuple[slice, ...]) -> None:
        self._region = region
        self._index = index
        self._rank = region.nodes[-1].types[0].rank
        self._arrays = {v: part(a, index, self._rank) for v, a in region.arrays.items()}
        self._roots = {v: v for v in region.arrays}
        self._last: dict[Value, int] = {}
        self._buffers: dict[Value, npt.NDArray[np.uint8]] = {}
        self._unused: list[npt.NDArray[np.uint8]] = []

    def runs(self) -> list[Run]:
        """Return the calls of all nodes."""
        self._find_last_reads()
        runs: list[Run] = []
        for step, node in enumerate(self._region.nodes):
            if self._view(node):
                continue
            outputs = tuple(self._place(v, node, step) for v in node.results)
            # The next node may reuse the scratch memory of a node.
            mark = self._region.workspace.mark()
            runs.append(bind(self._step(node, outputs)))
            self._region.workspace.release(mark)
            self._drop(step)
        return runs

    def _find_last_reads(self) -> None:
        """Note the last node that reads each value, through views of it or not."""
        roots = self._roots
        for step, node in enumerate(self._region.nodes):
            for operand in node.operands:
                self._last[roots.get(operand, operand)] = step
            for value in node.results:
                roots[value] = value
            if self._is_view(node):
                operand = node.operands[0]
                roots[node.results[0]] = roots.get(operand, operand)

    def _is_view(self, node: Node) -> bool:
        outside = node.results[0] in self._region.arrays
        if outside or isinstance(node.operands[0].node.op, Constant):
            return False
        if isinstance(node.op, real.RealReshape):
            # Strided elements have no such view; values that are computed here are not strided.
            return not self._index and not isinstance(node.operands[0].node.op, _VIEWS)
        return isinstance(node.op, _VIEWS)

    def _view(self, node: Node) -> bool:
        """Let the result of a node be a view of its operand, if it can be."""
        if not self._is_view(node):
            return False
        (self._arrays[node.results[0]],) = node.op.evaluate(self._array(node.operands[0]))
        return True

    def _array(self, value: Value) -> Array:
        if value in self._arrays:
            return self._arrays[value]
        assert isinstance(value.node.op, Constant)
        return part(value.node.op.value, self._index, self._rank)

    def _place(self, value: Value, node: Node, step: int) -> Array:
        """Return the array of a result, and let it be known."""
        if value not in self._arrays:
            taken = self._taken_over(node, step)
            self._arrays[value] = self._new(value) if taken is None else taken
        return self._arrays[value]

    def _taken_over(self, node: Node, step: int) -> Array | None:
        """Return the array of an operand that the node may overwrite, None if there is none."""
        for index in elementwise_in_place(node):
            operand = node.operands[index]
            writable = operand not in self._region.arrays or operand in self._region.owned
            whole = self._roots.get(operand) == operand
            if whole and writable and self._last[operand] == step:
                if operand in self._buffers:
                    self._buffers[node.results[0]] = self._buffers.pop(operand)
                return self._arrays[operand]
        return None

    def _drop(self, step: int) -> None:
        """Let the memory of values that are not read after ``step`` be reused."""
        for value in [v for v in self._buffers if self._last.get(v, -1) <= step]:
            self._unused.append(self._buffers.pop(value))

    def _new(self, value: Value) -> Array:
        shape, rank = value.type.static_shape, self._rank
        before = rank - len(shape)
        slices = self._index[before:] if before < len(self._index) else ()
        cut = [
            n if n == 1 else min(place.stop, n) - place.start
            for place, n in zip(slices, shape, strict=False)
        ]
        full, element = (*cut, *shape[len(cut) :]), value.type.dtype.numpy
        nbytes = math.prod(full) * element.itemsize
        for i, buffer in enumerate(self._unused):
            # A much larger buffer is left for a value that needs it.
            if nbytes <= buffer.nbytes <= 2 * nbytes:
                self._buffers[value] = self._unused.pop(i)
                break
        else:
            self._buffers[value] = self._region.workspace.take((nbytes,), np.uint8)
        return self._buffers[value][:nbytes].view(element).reshape(full)

    def _step(self, node: Node, outputs: tuple[Array, ...]) -> BoundStep:
        inputs = tuple(self._array(o) for o in node.operands)
        fixed = self._region.constants
        constants = tuple(
            array if o in fixed or isinstance(o.node.op, Constant) else None
            for o, array in zip(node.operands, inputs, strict=True)
        )
        return BoundStep(node, inputs, outputs, constants, self._region.workspace)
