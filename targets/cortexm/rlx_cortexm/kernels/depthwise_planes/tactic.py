"""Depthwise convolutions on planes of 16 bits: two neighbouring taps in one multiplication.

Four channels at a time, the values are unpacked and sorted by channel: neighbours of a line
share a word; a line is a row of the image or, where that wastes less, a column. Then
SMLAD multiplies two taps, the weights stay in registers for all lines, and two outputs share
each load.

Tests: tests/targets/cortexm/kernels/depthwise_planes/test_planes.py
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate, counted
from rlx_c.layer import CodeSize, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.depthwise_planes.cost import instructions
from rlx_cortexm.kernels.depthwise_planes.planes import OUTPUTS, PLANES, Planes
from rlx_cortexm.narrow import WHOLE_BITS
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ir import Node
    from rlx.ops.q import QConv2d

MAX_UNROLLED_TAPS: Final = 64
"""Taps that are unrolled at most; more would be a lot of code."""

STRIPS: Final = (1, 2, 4, 8)
"""Parts that the lines may be cut into."""

UNROLLED: Final = (1, 2, 3, 4)
"""Pairs of outputs that may be unrolled, three only if a line has exactly three."""


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a depthwise convolution on planes; none if it does not fit."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    if op.groups != image.in_c or image.in_c != image.out_c or image.out_c < PLANES:
        return ()
    if image.window.taps > MAX_UNROLLED_TAPS:
        return ()
    weighted = WeightedLayer.of(node).level_in_16_bits()
    if weighted.scaling.function == "requantize_folded" or weighted.scaling.is_level:
        return tuple(_candidate(node, weighted, planes) for planes in _cuts(image))
    return ()


def _cuts(image: WindowedImage) -> Iterator[Planes]:
    """Yield the layouts that no other one beats in both memory and instructions."""
    for unrolled in UNROLLED:
        fewest = math.inf
        cuts = [p for p in _all_cuts(image) if p.unrolled == unrolled]
        for planes in sorted(cuts, key=lambda p: (p.scratch_bytes, instructions(p))):
            if instructions(planes) < fewest:
                fewest = instructions(planes)
                yield planes


def _all_cuts(image: WindowedImage) -> Iterator[Planes]:
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


def _candidate(node: Node, weighted: WeightedLayer, planes: Planes) -> Candidate:
    direction = "down" if planes.down else "along"
    lines, pairs = counted(planes.strip, "line"), counted(planes.unrolled, "pair")
    return Candidate(
        name=f"planes {direction}, {lines}, {pairs}",
        kernel=_kernel(node, weighted, planes),
        lower=partial(lower, node, weighted, planes),
        instructions=instructions(planes, weighted),
        table_bytes=weighted.weights.size + weighted.channel_bytes,
        scratch_bytes=planes.scratch_bytes,
        byte_weights=weighted.weights.size,
    )


def lower(node: Node, weighted: WeightedLayer, planes: Planes) -> LoweredLayer:
    """Return the layer."""
    image = planes.image
    by_channel = weighted.weights.reshape(-1)
    return LoweredLayer(
        _kernel(node, weighted, planes),
        operands=node.operands[:1],
        tables=weighted.tables(by_channel, f"weights of {image.out_c} channels by their taps"),
        arguments=weighted.arguments,
        scratch_bytes=planes.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(planes, weighted),
        weight_bits=WHOLE_BITS,
    )


def _kernel(node: Node, weighted: WeightedLayer, planes: Planes) -> Kernel:
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
    return Kernel.of("depthwise", "depthwise_planes/kernel", constants, support, SIZE)


def _counts(planes: Planes) -> list[int]:
    """Return the numbers of outputs computed together: pairs, and one that is left."""
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
    """Return the positions of the taps of each line among a channel's weights."""
    height, width = planes.image.window.kernel
    numbers = np.arange(height * width).reshape(height, width)
    return tuple(tuple(int(n) for n in row) for row in (numbers.T if planes.down else numbers))


SIZE: Final = CodeSize(0.6, shared=(("planes4", 130),))

DEPTHWISE_PLANES: Final = Tactic(
    candidates,
    "`planes along|down, L lines, P pairs`: the inputs of four channels are sorted by "
    "channel and unpacked to 16 bits, L rows (along) or columns (down) of outputs at a "
    "time, and SMLAD multiplies two neighbouring taps; P pairs of outputs are unrolled.",
    portable=2.3,
    baseline=2.6,
)
