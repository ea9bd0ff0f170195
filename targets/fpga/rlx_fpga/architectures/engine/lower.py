"""A rule for each op: the instruction that computes it. And the program of a graph."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from rlx.ir import DType, Graph, RuleTable, target_hint
from rlx.ir.graph import copy_node
from rlx.memory import plan_memory
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.q import (
    Linear,
    QAdd,
    QArgmax,
    QAveragePool2d,
    QClamp,
    QConv2d,
    QDense,
    QMaxPool2d,
    QMean,
    QMul,
    QReshape,
    QResizeNearest,
    QSoftmax,
    QSub,
    Window,
)
from rlx.support.errors import EmitError, UnsupportedOpError
from rlx.targets.operands import constant_operand
from rlx_fpga.architectures.engine.loops import (
    corner,
    each_element,
    edge,
    image_loops,
    window_loops,
)
from rlx_fpga.architectures.engine.program import (
    EngineProgram,
    Feed,
    Instruction,
    Loops,
    Mode,
    Scale,
)
from rlx_fpga.architectures.refusals import (
    INT8_INPUT,
    NEAREST,
    refuse_ops_without_cells,
)
from rlx_fpga.explore.advice import Advice, DesignTooLargeError, with_budgets
from rlx_fpga.options import FpgaOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Node, Value
    from rlx_fpga.cells.rom import Integers

Rule: TypeAlias = "Callable[[Assembler, Node], None]"
"""Appends the instruction of a node; raises UnsupportedOpError if it cannot be built."""

RULES: RuleTable[Rule] = RuleTable("fpga, engine", hint=target_hint("fpga"))
refuse_ops_without_cells(RULES)
RULES.refuse(NEAREST, QResizeNearest)
RULES.refuse("the array does not multiply two tensors", QMul)

LANES = (1, 2, 4, 8, 16, 32)
"""Numbers of lanes that an array can have."""

SCALE_MULTIPLIERS = 4
"""Multipliers of the requantizer."""

IDENTITY = Scale(0, 1 << 30, 1, 0)


def assemble(
    graph: Graph,
    multipliers: int,
    *,
    feed: Feed = Feed.BUILT_IN,
    two_ports: int | None = None,
    options: FpgaOptions | None = None,
) -> EngineProgram:
    """Return the program for an array within a budget of multipliers.

    It is the fastest one; with a rate, the one with the fewest lanes that reaches it.

    Args:
        graph: The graph.
        multipliers: The budget.
        feed: Way in which weights are loaded.
        two_ports: Maximum bytes of activations for which a two-port memory is used; None for no
            limit.
        options: Options of the user, for the rate and suggestions; None for the defaults.

    Raises:
        UnsupportedOpError: An op lacks an instruction.
        EmitError: Inputs, outputs or parameters cannot become streams, or weights are missing.
        DoesNotFitError: The budget is too small for one lane.
    """
    for value in graph.inputs:
        if value.type.dtype is not DType.I8 or not value.type.is_static:
            raise EmitError(
                f"expected an int8 tensor of fixed shape, got {value.type}",
                where=f"input {value.name!r}",
                hint=INT8_INPUT,
            )
    # Each softmax has a multiplier of its own.
    other_multipliers = SCALE_MULTIPLIERS + sum(
        isinstance(v.node.op, QSoftmax) for v in graph.outputs
    )
    fitting = [n for n in LANES if n + other_multipliers <= multipliers]
    if not fitting:
        minimum = LANES[0] + other_multipliers
        options = options or FpgaOptions()
        enough = minimum <= options.chosen_device.dsp
        raise DesignTooLargeError(
            f"expected a budget of at least {minimum} DSP slices, got {multipliers}",
            where=f"graph {graph.name!r}",
            advice=Advice((with_budgets(options, {"dsp": minimum}),) if enough else ()),
        )
    programs = [Assembler(graph, lanes, feed, two_ports).run() for lanes in fitting]
    if feed is not Feed.BUILT_IN and not programs[0].weights:
        raise EmitError(
            f"expected a graph with weights to stream, got {graph.name!r} without weights",
            hint="use --weights mem",
        )
    limit = None if options is None else options.max_cycles
    # Programs are in the order of their lanes.
    for program in programs:
        if limit is not None and program.interval <= limit:
            return program
    return min(programs, key=lambda program: (program.interval, program.lanes))


def refused(node: Node, reason: str) -> UnsupportedOpError:
    """Return (not raise) an error that names the node and the architecture that has more ops."""
    where = f"{node.op.name} {node.label}"
    return UnsupportedOpError(reason, where=where, hint="use --architecture dataflow")


def refusal(node: Node) -> str | None:
    """Return the reason why the engine cannot build ``node``, or None if it can.

    The rest of the graph is not considered.
    """
    if (reason := _lack(node)) is not None:
        return reason
    graph = Graph("alone")
    operands: dict[Value, Value] = {}
    for index, value in enumerate(node.operands):
        if value.constant is not None:
            operands[value] = copy_node(graph, value.node, ()).result
        elif value not in operands:
            operands[value] = graph.input(f"x{index}", value.type)
    copied = copy_node(graph, node, tuple(operands[value] for value in node.operands))
    graph.output(*copied.results)
    try:
        Assembler(graph, LANES[-1], Feed.BUILT_IN, None).run()
    except UnsupportedOpError as e:
        return e.message
    except EmitError:
        # Nothing for the array: it only renames, or is done on the way out.
        return None
    return None


def _lack(node: Node) -> str | None:
    """Return the reason why the op of ``node`` lacks a rule, or None if it has one."""
    reason = RULES.reason(type(node.op))
    return None if reason is None else f"not supported by the engine: {reason}"


@dataclass(frozen=True, slots=True)
class Reads:
    """Reads and results of an instruction: see ``Instruction``.

    ``start`` is relative to the beginning of the operand at index ``operand``, ``offset`` to that
    of the result.
    """

    mode: Mode
    loops: Loops
    lanes: int
    last_lanes: int
    start: int = 0
    padding: int = 0
    operand: int = 0
    offset: int = 0
    skip: int = 0


class Assembler:
    """The program of a graph for one number of lanes."""

    def __init__(self, graph: Graph, lanes: int, feed: Feed, two_ports: int | None) -> None:
        self.program = EngineProgram(graph, lanes, feed)
        self.graph, self.lanes = graph, lanes
        # Results are written in the order in which operands are read: elementwise ops may work
        # in place.
        self.plan = plan_memory(graph, alignment=1, ports_inside=True)
        self.places = {place.value: place.offset for place in self.plan.placements}
        self.program.memory = self.plan.arena_bytes
        self.program.one_port = two_ports is not None and self.plan.arena_bytes > two_ports
        self.program.span = 1 << max(1, (self.plan.arena_bytes - 1).bit_length())

    def run(self) -> EngineProgram:
        """Return the program."""
        program, finishing = self.program, self._finishing()
        for node in self.plan.schedule:
            if (reason := _lack(node)) is not None:
                raise refused(node, reason)
            if node not in finishing.values():
                RULES[type(node.op)](self, node)
        if not program.instructions:
            raise EmitError(
                "expected at least one op for the array, got none",
                where=f"graph {self.graph.name!r}",
                hint="use --architecture dataflow",
            )
        program.inputs = [self.places[value] for value in self.graph.inputs]
        for value in self.graph.outputs:
            finish = finishing.get(value)
            stored = value if finish is None else finish.operands[0]
            program.stored.append(stored)
            program.outputs.append(self.places[stored])
            program.finishes.append(finish)
        return program

    def _finishing(self) -> dict[Value, Node]:
        """Return outputs that a cell makes on their way out."""
        users = self.graph.users()
        return {
            value: value.node
            for value in self.graph.outputs
            if isinstance(value.node.op, QSoftmax | QArgmax) and not users[value]
            and self.graph.outputs.count(value) == 1 and _along_last_axis(value.node)
        }  # fmt: skip

    def append(
        self, node: Node, reads: Reads, scales: Sequence[Scale], *,
        weights: Integers | None = None, tables: Sequence[Sequence[int]] = (),
    ) -> None:  # fmt: skip
        """Append an instruction and its constants; ``weights`` in words of the memory."""
        program, op = self.program, cast("Any", node.op)
        rescale: Rescale | None = getattr(op, "rescale", None)
        rounding = Rounding.DOUBLE
        if rescale is not None and scales[0] is not IDENTITY:
            rounding = rescale.rounding
        mask = program.span - 1
        loops = reads.loops
        apart = program.feed is Feed.STREAM
        masked = Loops(
            loops.counts, cast("Any", tuple(s & mask for s in loops.strides)), loops.steps,
            loops.origin, loops.size,
        )  # fmt: skip
        program.instructions.append(
            Instruction(
                node=node,
                mode=reads.mode,
                loops=masked,
                lanes=reads.lanes,
                last_lanes=reads.last_lanes,
                source=(self.places[node.operands[reads.operand]] + reads.start) & mask,
                target=self.places[node.result] + reads.offset,
                skip=reads.skip,
                weights=0 if apart else len(program.weights),
                words=0 if weights is None else len(weights),
                tables=len(program.tables),
                constants=0 if apart else len(program.scales),
                scales=len(scales),
                uniform=len(scales) == 1,
                padding=reads.padding,
                zero_point=getattr(op, "zero_point", 0) if scales[0] is not IDENTITY else 0,
                low=getattr(op, "low", -128),
                high=getattr(op, "high", 127),
                rounding=rounding,
            )
        )
        program.scales.extend(scales)
        program.tables.extend(tuple(int(n) for n in table) for table in tables)
        if weights is not None:
            program.weights.extend(tuple(row) for row in weights.tolist())

    def scales(self, node: Node, bias: Integers, bound: int) -> list[Scale]:
        """Return the constants of an op with ``rescale``, for each of its results.

        Args:
            node: The op.
            bias: Added to sums; one int, or one for each result.
            bound: Maximum magnitude of the sums, the bias included.
        """
        rescale: Rescale = cast("Any", node.op).rescale
        if rescale.rounding is Rounding.FLOAT32:
            raise refused(node, "it rounds to float32 as ONNX Runtime does")
        # Two roundings wrap around at 32 bits by definition; one rounding does not.
        left = max(0, *rescale.shift)
        if rescale.rounding is not Rounding.DOUBLE and bound << left >= 1 << 31:
            raise refused(node, f"a sum shifted left by {left} would need more than 32 bits")
        count = max(len(bias), rescale.channels)
        pairs = zip(rescale.multiplier, rescale.shift, strict=True)
        factors = [Scale(0, m, max(s, 0), max(-s, 0)) for m, s in pairs]
        return [
            Scale(int(bias[i % len(bias)]), one.multiplier, one.left, one.right)
            for i in range(count)
            for one in [factors[i % len(factors)]]
        ]


def _along_last_axis(node: Node) -> bool:
    shape = node.operands[0].type.static_shape
    if not isinstance(node.op, QArgmax):
        return True
    return math.prod(shape[node.op.axis % len(shape) + 1 :]) == 1


@RULES.rule(QReshape)
def assemble_reshape(build: Assembler, node: Node) -> None:
    """Check that the result has the place of the operand: no instruction is needed."""
    assert build.places[node.result] == build.places[node.operands[0]]


@RULES.rule(QSoftmax, QArgmax)
def assemble_last(build: Assembler, node: Node) -> None:
    """Refuse: these ops are done on the way out only."""
    del build
    raise refused(node, "the engine supports it on the last axis of an output only")


@RULES.rule(QDense)
def assemble_dense(build: Assembler, node: Node) -> None:
    """Read each row for every block of outputs."""
    x = node.operands[0].type.static_shape
    rows, inner = math.prod(x[:-1]), x[-1]
    _matrix(build, node, (1, rows, inner), Window(kernel=(1, 1)))


@RULES.rule(QConv2d)
def assemble_conv2d(build: Assembler, node: Node) -> None:
    """Read each window for every block of outputs; depthwise, one channel of it for each."""
    op = cast("QConv2d", node.op)
    batch, height, width, channels = node.operands[0].type.static_shape
    if batch != 1:
        raise refused(node, "the engine takes one image at a time")
    outputs = len(constant_operand(node, 1, "weights"))
    if op.groups != channels or outputs != channels:
        _matrix(build, node, (height, width, channels), op.window, op.groups)
        return
    loops = image_loops(node, op.window, blocks=channels, channels=1)
    reads = Reads(Mode.NARROW, loops, 1, 1, corner(node, op.window), op.x_zero_point)
    weights, bias, bound = _weights(node)
    flat = np.zeros(-(-weights.size // build.lanes) * build.lanes, np.int64)
    flat[: weights.size] = weights.reshape(-1)
    scales = build.scales(node, bias, bound)
    build.append(node, reads, scales, weights=flat.reshape(-1, build.lanes))


def _matrix(
    build: Assembler, node: Node, image: tuple[int, int, int], window: Window, groups: int = 1
) -> None:
    """Append a layer in which every output needs every channel of its group.

    A group is a block, if its outputs fit the lanes. Else all groups become one: weights of other
    groups are 0.
    """
    height, width, channels = image
    weights, bias, bound = _weights(node)
    lanes = build.lanes
    if groups > 1 and len(weights) // groups > lanes:
        weights, groups = _joined(weights, groups, window.taps), 1
    outputs, terms = len(weights) // groups, weights.shape[1]
    blocks = -(-outputs // lanes)
    padded = np.zeros((groups, blocks * lanes, terms), np.int64)
    padded[:, :outputs] = weights.reshape(groups, outputs, terms)
    words = padded.reshape(groups * blocks, lanes, terms).transpose(0, 2, 1).reshape(-1, lanes)
    inner = channels // groups
    loops = window_loops(
        image, window, window.output_size((height, width)), groups * blocks, inner,
        inner if groups > 1 else 0,
    )  # fmt: skip
    last = outputs - (blocks - 1) * lanes
    first = min(lanes, outputs)
    reads = Reads(
        Mode.WIDE, loops, first, last, -edge(window, width) * channels,
        cast("Any", node.op).x_zero_point,
    )  # fmt: skip
    build.append(node, reads, build.scales(node, bias, bound), weights=words)


def _joined(weights: Integers, groups: int, taps: int) -> Integers:
    """Return weights [outputs, terms] of groups as those of one group."""
    parts = weights.reshape(groups, len(weights) // groups, taps, -1)
    joined = np.zeros((groups, parts.shape[1], taps, groups, parts.shape[3]), np.int64)
    for group in range(groups):
        joined[group, :, :, group] = parts[group]
    return joined.reshape(len(weights), -1)


def _weights(node: Node) -> tuple[Integers, Integers, int]:
    """Return weights [outputs, terms], biases with the input's zero point, a bound of all sums."""
    weights, bias = constant_operand(node, 1, "weights"), constant_operand(node, 2, "biases")
    linear = Linear.of(cast("QConv2d | QDense", node.op), weights, bias)
    bound = int(linear.bounds().max())
    if bound >= 1 << 31:
        raise refused(node, "expected an accumulator of at most 32 bits, got more")
    return linear.weights.astype(np.int64), linear.bias, bound


@RULES.rule(QMaxPool2d)
def assemble_max_pool2d(build: Assembler, node: Node) -> None:
    """Compute the maximum of each window, channel by channel."""
    op = cast("QMaxPool2d", node.op)
    channels = _channels(node)
    loops = image_loops(node, op.window, blocks=channels, channels=1)
    reads = Reads(Mode.MAX, loops, 1, 1, corner(node, op.window), -128)
    build.append(node, reads, [IDENTITY])


@RULES.rule(QAveragePool2d)
def assemble_average_pool2d(build: Assembler, node: Node) -> None:
    """Sum each window and divide by its taps, which must be the same everywhere."""
    op = cast("QAveragePool2d", node.op)
    if op.window.is_padded:
        raise refused(node, "the engine divides all windows by one number: expected no padding")
    loops = image_loops(node, op.window, blocks=_channels(node), channels=1)
    reads = Reads(Mode.TOTAL, loops, 1, 1, corner(node, op.window))
    build.append(node, reads, [_division(node, op.window.taps)])


def _channels(node: Node) -> int:
    """Return the channels of an image, or refuse several images."""
    batch, _, _, channels = node.operands[0].type.static_shape
    if batch != 1:
        raise refused(node, "the engine takes one image at a time")
    return channels


def _division(node: Node, count: int) -> Scale:
    """Return the constants that divide every sum of ``count`` values as the op does."""
    if count == 1:
        return IDENTITY
    sums = np.arange(-128 * count, 127 * count + 1, dtype=np.int64)
    magnitude = (np.abs(sums) + count // 2) // count
    expected = np.where(sums < 0, -magnitude, magnitude)
    bits = (count - 1).bit_length()
    # A little above the quotient: halves are then on the far side.
    multiplier = min(-(-(1 << (31 + bits - 1)) // count), (1 << 31) - 1)
    for left in range(31 - int(np.abs(sums).max()).bit_length()):
        right = left + bits - 1
        exact = Rescale((multiplier,), (-right,)).apply(sums << left)
        if right <= 31 and np.array_equal(exact, expected):
            return Scale(0, multiplier, left, right)
    raise refused(node, f"expected a window with an exact scaling, got one of {count} values")


@RULES.rule(QMean)
def assemble_mean(build: Assembler, node: Node) -> None:
    """Sum over consecutive axes."""
    op = cast("QMean", node.op)
    shape = node.operands[0].type.static_shape
    axes = {axis % len(shape) for axis in op.axes}
    axes = {axis for axis in axes if shape[axis] > 1} or {max(axes)}
    first, last = min(axes), max(axes)
    if any(shape[axis] > 1 for axis in set(range(first, last)) - axes):
        raise refused(node, f"expected consecutive axes, got {op.axes}")
    outer, count = math.prod(shape[:first]), math.prod(shape[first : last + 1])
    inner = math.prod(shape[last + 1 :])
    loops = Loops((1, outer, inner, 1, count, 1), (0, count * inner, 1, 0, inner), size=(1, 1))
    bias = np.array([-op.x_zero_point * count])
    scales = build.scales(node, bias, (128 + abs(op.x_zero_point)) * count)
    build.append(node, Reads(Mode.TOTAL, loops, 1, 1), scales)


@RULES.rule(QClamp)
def assemble_clamp(build: Assembler, node: Node) -> None:
    """Read each value, clamp it in the requantizer."""
    build.append(node, Reads(Mode.MAX, each_element(node, 1, 0), 1, 1), [IDENTITY])


@RULES.rule(QAdd, QSub)
def assemble_sum(build: Assembler, node: Node) -> None:
    """Look both operands up, add, requantize."""
    op = cast("QAdd", node.op)
    if any(o.constant is not None or o.type.shape != node.types[0].shape for o in node.operands):
        raise refused(node, "the engine adds two computed tensors of the same shape")
    values = np.arange(-128, 128).astype(np.int8)
    x, y = op.scaled_operands((values, values))
    distance = build.places[node.operands[1]] - build.places[node.operands[0]]
    reads = Reads(Mode.TABLE, each_element(node, 2, distance), 1, 1)
    tables = [x.tolist(), (-y if isinstance(op, QSub) else y).tolist()]
    bound = int(np.abs(x).max() + np.abs(y).max())
    build.append(node, reads, build.scales(node, np.zeros(1, np.int64), bound), tables=tables)
