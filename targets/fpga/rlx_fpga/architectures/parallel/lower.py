"""A rule for each op: the steps that compute all of its results from its operands in parallel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from rlx.ops.q import (
    Linear,
    QAdd,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMul,
    QPad,
    QReshape,
    QResizeNearest,
    QSlice,
    QSoftmax,
    QSub,
    QTranspose,
)
from rlx.support.errors import DoesNotFitError
from rlx.targets.operands import constant_operand, unsupported
from rlx_fpga.architectures.instances import named_instances
from rlx_fpga.architectures.parallel.netlist import Netlist
from rlx_fpga.architectures.parallel.program import signed_digits
from rlx_fpga.architectures.parallel.rules import PADDING, RULES, requantizer, scaled
from rlx_fpga.architectures.parallel.sums import shift_add
from rlx_fpga.architectures.refusals import refuse_ops_without_cells
from rlx_fpga.devices import devices

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from rlx.ir import Graph, Node, Value
    from rlx_fpga.architectures.parallel.affine import AffineLine
    from rlx_fpga.architectures.parallel.program import ShiftAdd, Term
    from rlx_fpga.architectures.parallel.rules import Wires
    from rlx_fpga.cells.rom import Integers

refuse_ops_without_cells(RULES)
RULES.refuse("its division takes many cycles; output the logits or argmax", QSoftmax)

MAX_DIGITS: Final = 40_000
"""Maximum signed digits of all weights, each counted once per multiplication: an upper bound of the
additions. A larger network would fill a large device and take hours to place."""

_SHARED: Final = "use --architecture dataflow, which shares multipliers"


@dataclass(frozen=True, slots=True)
class ParallelLayer:
    """A node as a netlist.

    Attributes:
        name: Identifier, unique in the design.
        layer_name: Name of the layer (see ``rlx.ir.layer_names``), of which the identifier is made.
        node: The op.
        netlist: Its steps; inputs are the elements of ``operands``, one after another.
        operands: Operands that are computed, each once.
        outputs: Steps that are the elements of the result, in row-major order.
    """

    name: str
    layer_name: str
    node: Node
    netlist: Netlist
    operands: tuple[Value, ...]
    outputs: tuple[int, ...]


def unroll(graph: Graph) -> list[ParallelLayer]:
    """Return a netlist for each op of ``graph``.

    Raises:
        UnsupportedOpError: An op cannot be unrolled.
        DoesNotFitError: The network is too large for this architecture.
    """
    for node in graph.op_nodes:
        if (reason := refusal(node)) is not None:
            raise unsupported(node, reason)
    digits = sum(product_digits(node) for node in graph.op_nodes)
    if digits > MAX_DIGITS:
        raise DoesNotFitError(
            f"unrolled it would take about {digits:,} additions; the limit is {MAX_DIGITS:,}",
            where=f"graph {graph.name!r}",
            hint=_SHARED,
        )
    layers = [_layer(node, *names) for node, names in named_instances(graph).items()]
    _require_some_device(graph, layers)
    return layers


def _require_some_device(graph: Graph, layers: list[ParallelLayer]) -> None:
    """Refuse a network whose additions fill the largest device: its hardware takes minutes.

    Lanes that are only scaled, as those of an elementwise op, lack weights to count earlier.
    """
    bits = sum(layer.netlist.adder_bits for layer in layers)
    largest = max(devices().values(), key=lambda device: device.lut)
    if bits > largest.lut:
        raise DoesNotFitError(
            f"unrolled its additions take about {bits:,} LUTs; the largest device that rlx"
            f" knows, {largest.name}, has {largest.lut:,}",
            where=f"graph {graph.name!r}",
            hint=_SHARED,
        )


def refusal(node: Node) -> str | None:
    """Return the reason why this architecture cannot build ``node``, or None if it can."""
    reason = RULES.reason(type(node.op))
    computed = [operand for operand in node.operands if operand.constant is None]
    if isinstance(node.op, QMul) and len(computed) == 2 and computed[0] != computed[1]:
        reason = "a product of two computed values needs a multiplier"
    return None if reason is None else f"not supported by the parallel architecture: {reason}"


def product_digits(node: Node) -> int:
    """Return the signed digits of a node's weights, each counted as often as it is multiplied."""
    if not isinstance(node.op, QConv2d | QDense):
        return 0
    weights = constant_operand(node, 1, "weights").astype(np.int64)
    digits = int(_digit_counts()[weights + 128].sum())
    return digits * (node.types[0].size // len(weights))


@lru_cache
def _digit_counts() -> Integers:
    return np.array([len(signed_digits(weight)) for weight in range(-128, 128)])


def _layer(node: Node, name: str, instance: str) -> ParallelLayer:
    netlist = Netlist()
    computed: dict[Value, Wires] = {}
    wires = []
    count = 0
    for operand in node.operands:
        shape = operand.type.static_shape
        if operand.constant is not None:
            if operand.type.dtype.bits > 8 or isinstance(node.op, QConv2d | QDense):
                continue
            steps = [netlist.constant(int(value)) for value in operand.constant.reshape(-1)]
            wires.append(np.array(steps, np.int64).reshape(shape))
            continue
        if operand not in computed:
            steps = [netlist.input(count + place) for place in range(operand.type.size)]
            count += operand.type.size
            computed[operand] = np.array(steps, np.int64).reshape(shape)
        wires.append(computed[operand])
    result = RULES[type(node.op)](netlist, node, wires)
    outputs = tuple(result.reshape(-1).tolist())
    return ParallelLayer(instance, name, node, netlist, tuple(computed), outputs)


@RULES.rule(QDense)
def unroll_dense(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Multiply every row by the matrix."""
    (x,) = operands
    product = _Product(netlist, node)
    rows: Wires = x.reshape(-1, x.shape[-1])
    found = [product.results(row, range(product.outputs)) for row in rows]
    return np.array(found, np.int64).reshape(node.types[0].static_shape)


@RULES.rule(QConv2d)
def unroll_conv2d(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Multiply every window by the matrix of its group."""
    (x,) = operands
    op = cast("QConv2d", node.op)
    product = _Product(netlist, node)
    patches = op.window.patches(x, PADDING)
    inner, outputs = x.shape[-1] // op.groups, product.outputs // op.groups
    result = np.empty(node.types[0].static_shape, np.int64)
    for position in np.ndindex(*patches.shape[:3]):
        for group in range(op.groups):
            window = patches[position][..., group * inner : (group + 1) * inner].reshape(-1)
            group_outputs = range(group * outputs, (group + 1) * outputs)
            result[position][group_outputs.start : group_outputs.stop] = product.results(
                window, group_outputs
            )
    return result


@RULES.rule(QClamp)
def unroll_clamp(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Compare each value with both bounds."""
    op = cast("QClamp", node.op)
    return _each(operands[0], lambda wire: netlist.clamp(wire, op.low, op.high))


@RULES.rule(QAdd, QSub)
def unroll_sum(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Scale both operands by tables, add, requantize."""
    op = cast("QAdd", node.op)
    values = np.arange(-128, 128).astype(np.int8)
    x_table, y_table = (tuple(t.tolist()) for t in op.scaled_operands((values, values)))
    x, y = np.broadcast_arrays(*operands)
    result = np.empty(x.shape, np.int64)
    for position in np.ndindex(*x.shape):
        a = netlist.table(int(x[position]), x_table)
        b = netlist.table(int(y[position]), y_table)
        total = netlist.sum(a, b, (0, 0), negative=isinstance(op, QSub))
        step = netlist.steps[total]
        line = requantizer(node, 0, (step.low, step.high))
        result[position] = scaled(netlist, line, (total, 0, 1), 0)
    return result


@RULES.rule(QMul)
def unroll_product(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Look up each value in a table of its multiples, or of its square."""
    x, y = np.broadcast_arrays(*operands)
    result = np.empty(x.shape, np.int64)
    for place in np.ndindex(*x.shape):
        result[place] = _product_of(netlist, node, int(x[place]), int(y[place]))
    return result


def _product_of(netlist: Netlist, node: Node, a: int, b: int) -> int:
    """Append the product of a step with a constant or with itself."""
    inputs = np.arange(-128, 128).astype(np.int8)
    steps = netlist.steps[a], netlist.steps[b]
    constants = [step.numbers[0] if step.kind == "constant" else None for step in steps]
    assert a == b or constants != [None, None], "other products are refused"
    factors = [inputs if c is None else np.full_like(inputs, c) for c in constants]
    (values,) = node.op.evaluate(*factors)
    read = b if constants[1] is None else a
    return netlist.table(read, values.tolist())


@RULES.rule(QReshape)
def unroll_reshape(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Return the operand's wires in the result's shape."""
    del netlist
    return operands[0].reshape(node.types[0].static_shape)


@RULES.rule(QTranspose)
def unroll_transpose(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Order the wires."""
    del netlist
    return operands[0].transpose(cast("QTranspose", node.op).axes)


@RULES.rule(QConcat)
def unroll_concat(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Join the wires."""
    del netlist
    return np.concatenate(operands, axis=cast("QConcat", node.op).axis)


@RULES.rule(QSlice)
def unroll_slice(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Take some of the wires."""
    del netlist
    op = cast("QSlice", node.op)
    parts = zip(op.start, op.stop, op.step, strict=True)
    return operands[0][tuple(slice(*part) for part in parts)]


@RULES.rule(QResizeNearest)
def unroll_resize(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Take the nearest wires."""
    del netlist
    op, (x,) = cast("QResizeNearest", node.op), operands
    rows, columns = (axis.nearest for axis in op.axes(x.shape[1:3]))
    return x[:, rows[:, np.newaxis], columns]


@RULES.rule(QPad)
def unroll_pad(netlist: Netlist, node: Node, operands: list[Wires]) -> Wires:
    """Put a constant around the wires."""
    op = cast("QPad", node.op)
    sides = list(zip(op.before, op.after, strict=True))
    return np.pad(operands[0], sides, constant_values=netlist.constant(op.value))


def _each(wires: Wires, step: Callable[[int], int]) -> Wires:
    flat = [step(int(wire)) for wire in wires.reshape(-1)]
    return np.array(flat, np.int64).reshape(wires.shape)


class _Product:
    """Weights of a layer, ready to be multiplied with any number of windows."""

    def __init__(self, netlist: Netlist, node: Node) -> None:
        self.netlist, self.node = netlist, node
        op = cast("QConv2d | QDense", node.op)
        weights, bias = constant_operand(node, 1, "weights"), constant_operand(node, 2, "biases")
        self.linear = Linear.of(op, weights, bias)
        self.matrix = self.linear.weights.astype(np.int64)
        self.outputs = len(self.matrix)
        self.programs: dict[tuple[bytes, range], ShiftAdd] = {}
        self.lines: dict[tuple[int, int, int, int], AffineLine] = {}

    def results(self, window: npt.NDArray[Any], outputs: range) -> list[int]:
        """Return the results of ``outputs`` for operands some of which may be padding."""
        wires = np.asarray(window, np.int64)
        in_image = wires != PADDING
        matrix = self.matrix[outputs.start : outputs.stop, in_image]
        key = (in_image.tobytes(), outputs)
        if key not in self.programs:
            self.programs[key] = shift_add(matrix)
        totals = self.programs[key].build(self.netlist, wires[in_image].tolist())
        bases = self.linear.bias_of(matrix, slice(outputs.start, outputs.stop))
        return [
            self._code(channel, total, int(base))
            for channel, total, base in zip(outputs, totals, bases, strict=True)
        ]

    def _code(self, channel: int, total: Term | None, base: int) -> int:
        """Return the requantized ``total + base``."""
        if total is None:
            low = high = 0
        else:
            wire, shift, sign = total
            step = self.netlist.steps[wire]
            low, high = sorted((sign * (step.low << shift), sign * (step.high << shift)))
        key = (channel, low + base, high + base, base)
        if key not in self.lines:
            self.lines[key] = requantizer(self.node, channel, (low + base, high + base))
        return scaled(self.netlist, self.lines[key], total, base)
