"""Depthwise convolutions on planes of 16 bits: two neighbouring taps in one multiplication.

Four channels at a time, the codes are unpacked and sorted by channel, so that neighbours of a line
lie side by side in a word; a line is a row of the image or, where that wastes less, a column. Then
SMLAD multiplies two taps at once, the weights stay in registers for all lines, and two outputs are
computed from what is loaded. ``depthwise_planes_s8`` holds the loops.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from rlx_c.candidate import Candidate
from rlx_c.layer import Kernel, Layer
from rlx_cortexm.image import Image
from rlx_cortexm.narrow import WHOLE
from rlx_cortexm.weighted import Weighted

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ir import Node
    from rlx.ops.q import QConv2d

PLANES: Final = 4
"""Channels that are unpacked together."""

OUTPUTS: Final = 2
"""Neighbours that are computed together."""

TAPS_LIMIT: Final = 64
"""Taps that are written out; more would be a lot of code."""

STRIPS: Final = (1, 2, 4, 8)
"""Parts that the lines may be cut into."""

UNROLLED: Final = (1, 2, 3, 4)
"""Pairs of outputs that may be written out, three only if there are no more."""


class Axis(NamedTuple):
    """Sizes along one axis of the image; steps are distances in memory, in codes."""

    inputs: int
    outputs: int
    kernel: int
    stride: int
    dilation: int
    pad: int
    in_step: int
    out_step: int


class Product(NamedTuple):
    """One multiplication of a word of two codes.

    Attributes:
        output: Which output it belongs to, 0 or 1.
        form: Instruction: ``smlad`` for two taps; else one of ``smlabb`` and its kin, whose last
            letters tell which half of the codes and which half of the weights are multiplied.
        weights: Which of a line's words of weights.
    """

    output: int
    form: str
    weights: int


class Load(NamedTuple):
    """One load of words of two codes.

    Attributes:
        word: The first word.
        registers: What the words are called in C: one or two neighbours.
    """

    word: int
    registers: tuple[str, ...]

    @property
    def reach(self) -> int:
        """Largest offset in codes: LDR takes 12 bits of bytes, LDRD 8 bits of words."""
        return 1020 // 2 if len(self.registers) > 1 else 4095 // 2


@dataclass(frozen=True, slots=True)
class Line:
    """How a line of taps is multiplied: words of weights, and products for each word of codes.

    Attributes:
        weights: Taps in the lower and upper half of each word, None for zero.
        products: For each word of codes what is done with it.
    """

    weights: tuple[tuple[int, int | None], ...]
    products: tuple[tuple[Product, ...], ...]

    @staticmethod
    def of(kernel: int, stride: int) -> Line:
        """Return the products of a line of ``kernel`` taps for two outputs ``stride`` apart."""
        words = (stride + kernel - 1) // 2 + 1
        # Taps that meet the halves of a word of codes, for each output.
        met = [[(2 * i - o * stride, 2 * i + 1 - o * stride) for o in range(OUTPUTS)]
               for i in range(words)]  # fmt: skip
        inside = range(kernel)
        pairs = {pair: None for word in met for pair in word if set(pair) <= set(inside)}
        weights: list[tuple[int, int | None]] = list(pairs)
        products = []
        for word in met:
            own = []
            for output, (lower, upper) in enumerate(word):
                if lower in inside and upper in inside:
                    own.append(Product(output, "smlad", weights.index((lower, upper))))
                elif lower in inside or upper in inside:
                    place, half = _half(weights, lower if lower in inside else upper)
                    form = f"smla{'b' if lower in inside else 't'}{half}"
                    own.append(Product(output, form, place))
            products.append(tuple(own))
        return Line(tuple(weights), tuple(products))

    def words(self, outputs: int) -> int:
        """Return how many words of codes the first ``outputs`` outputs need."""
        return 1 + max(i for i, own in enumerate(self.products) for p in own if p.output < outputs)

    def loads(self, outputs: int) -> tuple[Load, ...]:
        """Return the loads of all words that the first ``outputs`` outputs have products with."""
        found = []
        for first in range(0, len(self.products), 2):
            used = [
                i for i, own in enumerate(self.products[first : first + 2], first)
                if any(p.output < outputs for p in own)
            ]  # fmt: skip
            if used:
                found.append(Load(used[0], tuple(_REGISTERS[i - first] for i in used)))
        return tuple(found)

    def registers(self, outputs: int) -> tuple[str, ...]:
        """Return the registers of all loads."""
        used = {name for load in self.loads(outputs) for name in load.registers}
        return tuple(name for name in _REGISTERS if name in used)


_REGISTERS: Final = ("lower", "upper")


def _half(weights: list[tuple[int, int | None]], tap: int) -> tuple[int, str]:
    """Return the word of weights that holds a tap, and in which half; add one if none does."""
    for place, (lower, upper) in enumerate(weights):
        if tap in (lower, upper):
            return place, "b" if tap == lower else "t"
    weights.append((tap, None))
    return len(weights) - 1, "b"


@dataclass(frozen=True, slots=True)
class Planes:
    """A depthwise convolution on planes.

    Attributes:
        image: Its geometry.
        down: Lines are columns of the image, not rows.
        strip: Lines of outputs whose codes are unpacked together.
        unrolled: Pairs of outputs that are written out in a loop.
    """

    image: Image
    down: bool
    strip: int
    unrolled: int = 1

    @property
    def axes(self) -> tuple[Axis, Axis]:
        """Along a line, and from line to line."""
        image, window = self.image, self.image.window
        vertical = Axis(
            image.in_h, image.out_h, window.kernel[0], window.stride[0], window.dilation[0],
            window.padding[0][0], image.in_w * image.in_c, image.out_w * image.out_c,
        )  # fmt: skip
        horizontal = Axis(
            image.in_w, image.out_w, window.kernel[1], window.stride[1], window.dilation[1],
            window.padding[1][0], image.in_c, image.out_c,
        )  # fmt: skip
        return (vertical, horizontal) if self.down else (horizontal, vertical)

    @property
    def line(self) -> Line:
        """How a line of taps is multiplied."""
        along = self.axes[0]
        return Line.of(along.kernel, along.stride)

    @property
    def pairs(self) -> int:
        """Pairs of outputs in a line; one output more may be left."""
        return self.axes[0].outputs // OUTPUTS

    @property
    def pixels(self) -> int:
        """Codes of a line that some window sees."""
        along = self.axes[0]
        seen = (along.outputs - 1) * along.stride + along.kernel - along.pad
        return max(min(along.inputs, seen), 0)

    @property
    def pitch(self) -> int:
        """Elements from line to line of a plane, even."""
        along, line = self.axes[0], self.line
        last, left = divmod(along.outputs, OUTPUTS)
        read = [(last - 1) * along.stride + line.words(OUTPUTS)] if last else []
        read += [last * along.stride + line.words(1)] if left else []
        return 2 * max(*read, -(-(along.pad + self.pixels) // 2), 1)

    @property
    def tail(self) -> int:
        """Elements at the end of a line that lie beyond the image, if a window sees any there."""
        along = self.axes[0]
        there = along.pad + self.pixels
        seen = (along.outputs - 1) * along.stride + along.kernel
        return self.pitch - (there + there % 2) if seen > there else 0

    @property
    def pads(self) -> bool:
        """Whether some window sees lines above or below the image."""
        across = self.axes[1]
        last = (across.outputs - 1) * across.stride + (across.kernel - 1) * across.dilation
        return across.pad > 0 or last - across.pad >= across.inputs

    @property
    def fills(self) -> bool:
        """Whether anything is filled with what stands for zero, apart from single elements."""
        return self.tail > 0 or self.axes[0].pad > 1 or self.pads

    @property
    def lines(self) -> int:
        """Lines of a plane."""
        across = self.axes[1]
        return (self.strip - 1) * across.stride + (across.kernel - 1) * across.dilation + 1

    @property
    def strips(self) -> int:
        """Parts that the lines are cut into."""
        return -(-self.axes[1].outputs // self.strip)

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for the planes."""
        return 2 * PLANES * self.lines * self.pitch


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a depthwise convolution on planes; none if it does not fit."""
    op, image = cast("QConv2d", node.op), Image.of(node)
    if op.groups != image.in_c or image.in_c != image.out_c or image.out_c < PLANES:
        return ()
    if image.window.taps > TAPS_LIMIT:
        return ()
    weighted = Weighted.of(node, op).level_in_16_bits()
    if weighted.scaling.function == "requantize_folded" or weighted.scaling.is_level:
        return tuple(_candidate(node, weighted, planes) for planes in _cuts(image))
    return ()


def _cuts(image: Image) -> Iterator[Planes]:
    """Yield every way to lay planes of which none takes less memory and fewer instructions."""
    for unrolled in UNROLLED:
        least = math.inf
        cuts = [p for p in _all_cuts(image) if p.unrolled == unrolled]
        for planes in sorted(cuts, key=lambda p: (p.scratch_bytes, instructions(p))):
            if instructions(planes) < least:
                least = instructions(planes)
                yield planes


def _all_cuts(image: Image) -> Iterator[Planes]:
    for down in (False, True):
        whole = Planes(image, down, 1)
        along, across = whole.axes
        apart = along.dilation > 1 and along.kernel > 1
        if apart or whole.pixels == 0 or along.outputs == 1 < across.outputs:
            continue
        for parts in STRIPS:
            for unrolled in UNROLLED:
                times, left = divmod(max(whole.pairs, 1), unrolled)
                if not left and (unrolled != 3 or times == 1):
                    yield Planes(image, down, -(-across.outputs // parts), unrolled)


def _candidate(node: Node, weighted: Weighted, planes: Planes) -> Candidate:
    direction = "down" if planes.down else "along"
    return Candidate(
        name=f"planes {direction}, {planes.strip} lines, {planes.unrolled} pairs",
        kernel=_kernel(node, weighted, planes),
        lower=partial(lower, node, weighted, planes),
        instructions=instructions(planes, weighted),
        table_bytes=weighted.weights.size + weighted.channel_bytes,
        scratch_bytes=planes.scratch_bytes,
    )


def lower(node: Node, weighted: Weighted, planes: Planes) -> Layer:
    """Return the layer."""
    image = planes.image
    by_channel = weighted.weights.reshape(-1)
    return Layer(
        _kernel(node, weighted, planes),
        operands=node.operands[:1],
        tables=weighted.tables(by_channel, f"weights of {image.out_c} channels by their taps"),
        arguments=weighted.arguments,
        scratch_bytes=planes.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(planes, weighted),
        weight_bits=WHOLE,
    )


def _kernel(node: Node, weighted: Weighted, planes: Planes) -> Kernel:
    along, across = planes.axes
    constants: dict[str, Hashable] = {
        **weighted.constants,
        **planes.image.constants,
        "loops": planes.image.loops,
        "along": along,
        "across": across,
        "down": planes.down,
        "line": planes.line,
        "pairs": planes.pairs,
        "pixels": planes.pixels,
        "pitch": planes.pitch,
        "tail": planes.tail,
        "pads": planes.pads,
        "lines": planes.lines,
        "strip": planes.strip,
        "unrolled": planes.unrolled,
        "taps": _taps(planes),
        "x_zero_point": cast("QConv2d", node.op).x_zero_point,
    }
    fill = ("planes_fill",) if planes.fills else ()
    support = ("planes4", *fill, *_forms(planes), *_loads(planes), *weighted.support)
    return Kernel.of("depthwise", "depthwise_planes/kernel", constants, support)


def _counts(planes: Planes) -> list[int]:
    """Return how many outputs are computed together: pairs, and one that is left."""
    left = planes.axes[0].outputs % OUTPUTS
    return [*([OUTPUTS] if planes.pairs else []), *([1] if left else [])]


def _forms(planes: Planes) -> set[str]:
    """Return the instructions that multiply."""
    outputs = max(_counts(planes))
    return {p.form for own in planes.line.products for p in own if p.output < outputs}


def _loads(planes: Planes) -> set[str]:
    """Return the instructions that load, by the number of words."""
    loads = [load for outputs in _counts(planes) for load in planes.line.loads(outputs)]
    return {f"load{len(load.registers)}" for load in loads}


def _taps(planes: Planes) -> tuple[tuple[int, ...], ...]:
    """Return where the taps of each line stand among a channel's weights."""
    height, width = planes.image.window.kernel
    numbers = np.arange(height * width).reshape(height, width)
    return tuple(tuple(int(n) for n in row) for row in (numbers.T if planes.down else numbers))


PAIR: Final = 4
"""Of a pair of outputs beside its products: what registers do not hold."""

WORD: Final = 0.85
"""Of a pair and a word of weights that finds no register: so many do not."""

REGISTERS: Final = 6
PASS: Final = 0.75
LINE: Final = 9
LINE_LOOPED: Final = 15
SINGLE_LINE: Final = -25
CHANNEL: Final = -20
TAP: Final = 5
"""Of a channel and its taps: unpack the weights."""

UNPACKED: Final = 15
"""Unpack two codes of four channels."""

LINE_UNPACKED: Final = 28
HALF_UNPACKED: Final = 24
"""Of a line of four channels, and of a word of it that is filled up."""

QUAD: Final = 87
FILL: Final = 8
LAYER: Final = 640
LEAST_CODE: Final = 3
"""Scale a sum and store the code."""

CLAMP: Final = 2
NEGATIVE: Final = 4
"""Of a code, where one end of its range is cut off; where halves of negative numbers are turned."""


def instructions(planes: Planes, weighted: Weighted | None = None) -> int:
    """Return about how many instructions the layer takes: fitted to counts, GCC 12 at -O2.

    Args:
        planes: How it is computed.
        weighted: Its constants; None: scaling as cheap as can be.
    """
    image, along, across = planes.image, *planes.axes
    strips = image.batch * planes.strips
    looped = planes.pairs > planes.unrolled
    words = len(planes.line.weights) * across.kernel
    line = (
        planes.pairs * (_products(planes, 2) + PAIR + WORD * max(words - REGISTERS, 0))
        + along.outputs % OUTPUTS * _products(planes, 1)
        + along.outputs * (_code(weighted) if weighted is not None else LEAST_CODE)
        + looped * (PASS * planes.pairs / planes.unrolled + LINE_LOOPED)
        + LINE
    )
    channel = CHANNEL + TAP * image.window.taps + SINGLE_LINE * (across.outputs == 1)
    return round(
        image.out_c * (image.batch * across.outputs * line + strips * channel)
        + _unpacking(planes)
        + LAYER
    )


def _products(planes: Planes, outputs: int) -> int:
    """Return what it takes to load and multiply the taps of one or two outputs."""
    line, lines = planes.line, planes.axes[1].kernel
    words = line.words(outputs)
    products = [p for own in line.products[:words] for p in own if p.output < outputs]
    return lines * (-(-words // 2) + len(products))


def _code(weighted: Weighted) -> int:
    """Return what it takes to scale a sum and store the code."""
    output = weighted.output
    clamps = (output["low"] != -128) + (output["high"] != 127)
    scale = LEAST_CODE + (weighted.scaling.function == "requantize_folded")
    return scale + CLAMP * clamps + NEGATIVE * (not weighted.turns_positive)


def _unpacking(planes: Planes) -> int:
    """Return what it takes to unpack all codes."""
    image, along = planes.image, planes.axes[0]
    quads = -(-image.out_c // PLANES)
    lead = along.pad % 2
    pairs, left = divmod(planes.pixels - lead, 2)
    inside, strips = image.batch * _lines_unpacked(planes), image.batch * planes.strips
    line = UNPACKED * pairs + LINE_UNPACKED + HALF_UNPACKED * (lead + left)
    filled = (strips * planes.lines - inside) * PLANES * planes.pitch * FILL
    return quads * (inside * line + strips * QUAD) + filled


def _lines_unpacked(planes: Planes) -> int:
    """Return how many lines of an image are unpacked for four channels, some of them again."""
    across = planes.axes[1]
    total = 0
    for done in range(0, across.outputs, planes.strip):
        count = min(planes.strip, across.outputs - done)
        begin = done * across.stride - across.pad
        end = begin + (count - 1) * across.stride + (across.kernel - 1) * across.dilation + 1
        total += max(min(end, across.inputs) - max(begin, 0), 0)
    return total
