"""Rules of pools, means and argmax: trees over many wires."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np

from rlx.ops.q import QArgmax, QAveragePool2d, QMaxPool2d, QMean
from rlx_fpga.architectures.parallel.affine import line_through
from rlx_fpga.architectures.parallel.program import ShiftAdd
from rlx_fpga.architectures.parallel.rules import PADDING, RULES, checked, requantizer, scaled

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Node
    from rlx_fpga.architectures.parallel.affine import AffineLine
    from rlx_fpga.architectures.parallel.netlist import Netlist
    from rlx_fpga.architectures.parallel.rules import Wires
    from rlx_fpga.cells.rom import Integers


@RULES.rule(QMaxPool2d)
def unroll_max_pool2d(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Compute the maximum of each window as a tree."""
    op = cast("QMaxPool2d", node.op)
    return _windows(
        node, operands[0], lambda wires: netlist.clamp(_maximum(netlist, wires), op.low, op.high)
    )


@RULES.rule(QAveragePool2d)
def unroll_avg_pool2d(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Add up each window as a tree, and multiply by a constant that rounds like the division."""
    op = cast("QAveragePool2d", node.op)
    lines: dict[int, AffineLine] = {}

    def average(wires: list[int]) -> int:
        count = len(wires)
        if count not in lines:
            lines[count] = checked(node, _average_line(count, op.low, op.high))
        return scaled(netlist, lines[count], (_total(netlist, wires), 0, 1), 0)

    return _windows(node, operands[0], average)


def _average_line(count: int, low: int, high: int) -> AffineLine | None:
    """Return the line of a mean of ``count`` values, rounded half away from zero."""

    def quantizer(sums: Integers) -> Integers:
        magnitude = (np.abs(sums) + count // 2) // count
        clipped: Integers = np.clip(np.where(sums >= 0, magnitude, -magnitude), low, high)
        return clipped

    return line_through(quantizer, 1 / count, (-128 * count, 127 * count))


@RULES.rule(QMean)
def unroll_mean(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Add up as a tree, requantize."""
    op = cast("QMean", node.op)
    (x,) = operands
    axes = sorted(axis % x.ndim for axis in op.axes)
    count = math.prod(x.shape[axis] for axis in axes)
    rows = np.moveaxis(x, axes, range(x.ndim - len(axes), x.ndim)).reshape(-1, count)
    base = -count * op.x_zero_point
    line = requantizer(node, 0, (-128 * count + base, 127 * count + base))
    sums = [_total(netlist, row) for row in rows.tolist()]
    means = [scaled(netlist, line, (total, 0, 1), base) for total in sums]
    return np.array(means, np.int64).reshape(node.types[0].static_shape)


@RULES.rule(QArgmax)
def unroll_argmax(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Compare values in a tree; the first one wins on a tie."""
    (x,) = operands
    rows = np.moveaxis(x, cast("QArgmax", node.op).axis, -1)
    places = [netlist.constant(place) for place in range(rows.shape[-1])]
    found = [_argmax(netlist, list(zip(row, places, strict=True)))
             for row in rows.reshape(-1, rows.shape[-1]).tolist()]  # fmt: skip
    return np.array(found, np.int64).reshape(node.types[0].static_shape)


def _argmax(netlist: Netlist, candidates: list[tuple[int, int]]) -> int:
    """Append the index of the maximum of values with their indices."""
    while len(candidates) > 1:
        pairs = zip(candidates[::2], candidates[1::2], strict=False)
        odd = candidates[-1:] if len(candidates) % 2 else []
        candidates = [*((netlist.maximum(a, b), netlist.pick(a, b, at, its))
                   for (a, at), (b, its) in pairs), *odd]  # fmt: skip
    return candidates[0][1]


def _windows(node: Node, x: Wires, result: Callable[[list[int]], int]) -> Wires:
    """Return ``result`` of each window of ``x``, padding left out."""
    window = cast("QMaxPool2d | QAveragePool2d", node.op).window
    patches = window.patches(x, PADDING)
    found = np.empty(node.types[0].static_shape, np.int64)
    for place in np.ndindex(*found.shape):
        wires = patches[place[:3]][..., place[3]].reshape(-1)
        found[place] = result([int(wire) for wire in wires if wire != PADDING])
    return found


def _maximum(netlist: Netlist, wires: list[int]) -> int:
    while len(wires) > 1:
        pairs = zip(wires[::2], wires[1::2], strict=False)
        odd = wires[-1:] if len(wires) % 2 else []
        wires = [*(netlist.maximum(a, b) for a, b in pairs), *odd]
    return wires[0]


def _total(netlist: Netlist, wires: list[int]) -> int:
    """Append a sum."""
    ends = tuple((netlist.steps[wire].low, netlist.steps[wire].high) for wire in wires)
    (term,) = _tree(ends).build(netlist, wires)
    assert term is not None
    wire, shift, sign = term
    assert (shift, sign) == (0, 1)
    return wire


@lru_cache(64)
def _tree(ends: tuple[tuple[int, int], ...]) -> ShiftAdd:
    program = ShiftAdd(list(ends))
    program.outputs = [program.total([(place, 0, 1) for place in range(len(ends))])]
    return program
