"""Convolutions with 3x3 windows side by side by Winograd's F(2x2, 3x3), exactly.

Tiles of 2x2 outputs are computed from 4x4 values with 16 multiplications for each pair of channels
instead of 36. Winograd's weights are fractions with denominator 4; here each fraction is scaled by
2 or 4, so that all values are integers, and the results are four times the sums of the convolution:
the accumulator, and every bit of the result, is that of a direct convolution.

Source: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, section 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx_c.candidate import Candidate, counted
from rlx_c.layer import CodeSize, ConstantTable, Kernel, LoweredLayer
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.conv2d_blocks.blocks import CHANNELS, WINDOWS
from rlx_cortexm.kernels.conv2d_blocks.cost import STEP
from rlx_cortexm.kernels.conv2d_blocks.tactic import PANEL_GROUPS
from rlx_cortexm.narrow import WHOLE_BITS, pack_lanes, suffix
from rlx_cortexm.narrow import note as bits_note
from rlx_cortexm.packing import QUAD
from rlx_cortexm.scaling import INT32_BOUND, for_doubled_sums
from rlx_cortexm.tactic import Tactic
from rlx_cortexm.weighted import WeightedLayer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Array, Node
    from rlx.ops.numerics.fixed_point import Int64
    from rlx.ops.q import QConv2d

TILE: Final = 2
"""Rows and columns of outputs of a tile."""

TAPS: Final = 9

POSITIONS: Final = 16
"""Products of a tile for each pair of channels."""

MAX_UNROLLED_STEPS: Final = 64
"""Steps that are unrolled at most; more would be a lot of code."""

GROUPED: Final = 4
"""Steps are unrolled in fours."""

MARK: Final = -(1 << 15)
"""Ends the transformed weights of two channels; no weight is so small."""

WEIGHTS_MATRIX: Final = np.array([[1, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 1]], np.int64)
"""Winograd's G, its middle rows doubled."""

FACTORS: Final = np.array([2, 1, 1, 2], np.int64)
"""Factors of the sums of a row or column of positions, which double all of them."""

ORDER: Final = [1, 0, 2, 3]
"""Rows of a column of positions: the sums of 0 and 3 continue those of 1 and 2."""

VALUE_BOUND: Final = 4 * 128
"""A transformed value is a sum of four values or their negatives."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A convolution cut into tiles.

    Attributes:
        image: Its geometry.
        where: Of the transformed weights: ``flash``; ``ram``, transformed once; ``pair``, two
            channels at a time, transformed for each panel.
        panel: Groups of three tiles in a panel.
        bits: Stored bits of a weight that is not transformed in flash.
    """

    image: WindowedImage
    where: str
    panel: int
    bits: int = WHOLE_BITS

    @property
    def rows(self) -> tuple[int, int]:
        """Tiles in a column and in a row of the image; the last may overlap others."""
        return -(-self.image.out_h // TILE), -(-self.image.out_w // TILE)

    @property
    def groups(self) -> int:
        """Groups of three tiles."""
        rows, columns = self.rows
        return -(-self.image.batch * rows * columns // WINDOWS)

    @property
    def steps(self) -> int:
        """Pairs of input channels, filled up."""
        return -(-self.image.in_c // (2 * GROUPED)) * GROUPED

    @property
    def pairs(self) -> int:
        """Pairs of output channels; the last may overlap the one before."""
        return -(-self.image.out_c // CHANNELS)

    @property
    def stream(self) -> int:
        """Number of 16-bit values in a pair's transformed weights."""
        return POSITIONS * self.steps * 2 * CHANNELS + 2

    @property
    def interior(self) -> tuple[int, int, int, int]:
        """Rows and columns of outputs at which a tile inside the image may begin."""
        (top, _), (left, _) = self.image.window.padding
        bottom = self.image.in_h - 4 + top + 1
        right = self.image.in_w - 4 + left + 1
        return top, max(bottom, top), left, max(right, left)

    @property
    def inside(self) -> str:
        """Tiles inside the image: ``all``, ``some`` or ``none``."""
        rows, columns = self.rows
        count = self.count_inside
        return "all" if count == self.image.batch * rows * columns else "some" if count else "none"

    @property
    def count_inside(self) -> int:
        """Number of tiles inside the image."""
        y0, y1, x0, x1 = self.interior
        rows, columns = self.rows
        begins_y = [min(TILE * i, self.image.out_h - TILE) for i in range(rows)]
        begins_x = [min(TILE * i, self.image.out_w - TILE) for i in range(columns)]
        inside_y = sum(y0 <= y < y1 for y in begins_y)
        return self.image.batch * inside_y * sum(x0 <= x < x1 for x in begins_x)

    @property
    def scratch_bytes(self) -> int:
        """Scratch memory for slots, transformed weights, places and a patch."""
        slots = self.panel * POSITIONS * (12 * self.steps + 24)
        streams = {"flash": 0, "ram": self.pairs, "pair": 1}[self.where]
        patch = 0 if self.inside == "all" else POSITIONS * self.image.in_c
        return slots + 2 * self.stream * streams + 4 * WINDOWS * self.panel + patch

    @property
    def weights_bytes(self) -> int:
        """Bytes of weights in flash."""
        if self.where == "flash":
            return 2 * self.stream * self.pairs
        return 9 * self.image.in_c * self.image.out_c * self.bits // WHOLE_BITS


def candidates(node: Node) -> tuple[Candidate, ...]:
    """Return the ways to compute a convolution by Winograd; none if it does not fit."""
    op, image = cast("QConv2d", node.op), WindowedImage.of(node)
    window = image.window
    shape = (window.kernel, window.stride, window.dilation, op.groups)
    smallest = Tiles(image, "pair", 1)
    if (
        shape != ((3, 3), (1, 1), (1, 1), 1)
        or min(image.out_h, image.out_w, image.out_c) < TILE
        or image.in_c % QUAD
        or smallest.steps > MAX_UNROLLED_STEPS
    ):
        return ()
    weighted = WeightedLayer.of(node).folded()
    doubled = for_doubled_sums(weighted.scaling, int(weighted.bounds.max()))
    if doubled is None or sum_bound(weighted.weights) >= INT32_BOUND:
        return ()
    weighted = replace(weighted, scaling=doubled)
    stored_bits = sorted({WHOLE_BITS, node.operands[1].type.dtype.bits})
    return tuple(
        _candidate(node, weighted, tiles) for tiles in _cuts(image, smallest.groups, stored_bits)
    )


def transformed(weights: Array) -> Int64:
    """Return 3x3 weights [O, 3, 3, C] at their positions: [O, 4, 4, C]."""
    wide = weights.astype(np.int64)
    result: Int64 = np.einsum("iy,oyxc,jx->oijc", WEIGHTS_MATRIX, wide, WEIGHTS_MATRIX)
    return result


def sum_bound(weights: Array) -> int:
    """Return a bound on all values that are computed from 3x3 weights [O, 3, 3, C]."""
    positions = np.abs(transformed(weights)).sum(axis=3) * VALUE_BOUND
    factors = np.multiply.outer(FACTORS, FACTORS)
    return int((positions * factors).sum(axis=(1, 2)).max())


def _cuts(image: WindowedImage, groups: int, stored_bits: Sequence[int]) -> Iterator[Tiles]:
    for where in ("flash", "ram", "pair"):
        for panel in sorted({min(panel, groups) for panel in (1, *PANEL_GROUPS)}):
            for bits in (WHOLE_BITS,) if where == "flash" else stored_bits:
                yield Tiles(image, where, panel, bits)


def _candidate(node: Node, weighted: WeightedLayer, tiles: Tiles) -> Candidate:
    panel = counted(tiles.panel, "group")
    return Candidate(
        name=f"winograd, weights in {tiles.where}, {panel}{bits_note(tiles.bits)}",
        kernel=_kernel(node, weighted, tiles),
        lower=partial(lower, node, weighted, tiles),
        instructions=instructions(tiles, weighted),
        table_bytes=tiles.weights_bytes + weighted.channel_bytes,
        scratch_bytes=tiles.scratch_bytes,
    )


def lower(node: Node, weighted: WeightedLayer, tiles: Tiles) -> LoweredLayer:
    """Return the layer."""
    image = tiles.image
    return LoweredLayer(
        _kernel(node, weighted, tiles),
        operands=node.operands[:1],
        tables=(_weights(weighted, tiles), *weighted.tables(weighted.weights.reshape(-1), "")[1:]),
        arguments=weighted.arguments,
        scratch_bytes=tiles.scratch_bytes,
        macs=image.windows * weighted.weights.size,
        instructions=instructions(tiles, weighted),
        weight_bits=tiles.bits,
        packed_bytes=weighted.weights.size * (WHOLE_BITS - tiles.bits) // WHOLE_BITS,
    )


def _kernel(node: Node, weighted: WeightedLayer, tiles: Tiles) -> Kernel:
    constants = {
        **weighted.constants,
        **tiles.image.constants,
        "inside": tiles.inside,
        "interior": tiles.interior,
        "tile_h": tiles.rows[0],
        "tile_w": tiles.rows[1],
        "panel": tiles.panel,
        "steps": tiles.steps,
        "where": tiles.where,
        "bits": tiles.bits,
        "odd": tiles.image.out_c % CHANNELS != 0,
        "x_zero_point": cast("QConv2d", node.op).x_zero_point,
    }
    unpacking = (f"lanes{suffix(tiles.bits)}",) if tiles.bits < WHOLE_BITS else ()
    support = ("winograd", "step", f"positions_{tiles.steps}", *unpacking, *weighted.support)
    size = CodeSize(0.5, inlined=STEP_BYTES * tiles.steps)
    return Kernel.of("conv2d", "conv2d_winograd/kernel", constants, support, size)


def _weights(weighted: WeightedLayer, tiles: Tiles) -> ConstantTable:
    """Return the table of weights, transformed or not."""
    image = tiles.image
    if tiles.where == "flash":
        note = f"weights of {image.out_c} channels by 3x3x{image.in_c}, at Winograd's positions"
        return ConstantTable("weights", "int16_t", streams(weighted.weights, tiles), note)
    note = f"weights of {image.out_c} channels by 3x3x{image.in_c} inputs"
    if tiles.bits < WHOLE_BITS:
        # [channels, taps, quads, 4] -> [channels, quads, taps, 4]
        quads = weighted.weights.reshape(image.out_c, TAPS, -1, QUAD).swapaxes(1, 2)
        packed = pack_lanes(quads.reshape(-1, TAPS * QUAD), tiles.bits)
        return ConstantTable("weights", "int8_t", packed, f"{tiles.bits}-bit {note}")
    return ConstantTable("weights", "int8_t", weighted.weights.reshape(-1), note)


def streams(weights: Array, tiles: Tiles) -> Array:
    """Return the transformed weights of all pairs of channels, in the order of the products."""
    outputs, inputs = tiles.image.out_c, tiles.image.in_c
    first = [min(o, outputs - CHANNELS) for o in range(0, outputs, CHANNELS)]
    edges = transformed(weights) * FACTORS.reshape(4, 1, 1)
    ordered_weights = edges[:, ORDER].swapaxes(1, 2).reshape(outputs, POSITIONS, inputs)
    filled = np.pad(ordered_weights, ((0, 0), (0, 0), (0, 2 * tiles.steps - inputs)))
    # Values 0 and 2 of a quad are multiplied together, then 1 and 3.
    quads = filled.reshape(outputs, POSITIONS, -1, 2, 2).swapaxes(3, 4)
    steps = quads.reshape(outputs, POSITIONS, tiles.steps, 2)
    pairs = [np.stack([steps[o], steps[o + 1]], axis=2).reshape(-1) for o in first]
    marked = [np.append(pair, [MARK, MARK]) for pair in pairs]
    return np.concatenate(marked).astype(np.int16)


STEP_BYTES: Final = 70
"""Bytes of machine code per unrolled step."""

BLOCK: Final = 494
"""Instructions per block to transform its sums back, scale and store 24 values."""

NEGATIVE: Final = 42
"""Additional instructions per block if halves of negative values need a correction."""

SINGLE_ROUNDING: Final = 10
PARITY: Final = 45
"""Additional instructions per block if sums are rounded once; if halves become even or odd."""

QUAD_TRANSFORMED: Final = 178
"""Instructions to transform four channels of a tile."""

QUAD_FAR: Final = 13
"""Additional instructions if the positions of a tile are further apart than a store reaches."""

BORDER: Final = 342
"""Instructions to begin the patch of a tile that reaches over the border."""

WEIGHTS: Final = {8: 126, 4: 159, 2: 143}
"""Instructions to transform the weights of four channels, by their bits."""

CHANNEL: Final = 14
# Maximum immediate offset of a 32-bit store in Thumb-2, 12 bits.
REACH: Final = 4095


def instructions(tiles: Tiles, weighted: WeightedLayer) -> int:
    """Return the layer's approximate instructions: fitted to counts, GCC 12 at -O2."""
    image = tiles.image
    panels = -(-tiles.groups // tiles.panel)
    quads = -(-image.in_c // QUAD)
    block = POSITIONS * STEP * tiles.steps + BLOCK + _more(weighted)
    far = (POSITIONS - 1) * (12 * tiles.steps + 24) > REACH
    slots = WINDOWS * tiles.groups
    transforms = {"flash": 0, "ram": 1, "pair": panels}[tiles.where] * CHANNELS * tiles.pairs
    return (
        tiles.groups * tiles.pairs * block
        + slots * quads * (QUAD_TRANSFORMED + QUAD_FAR * far)
        + (slots - tiles.count_inside) * (BORDER + POSITIONS * image.in_c)
        + transforms * (CHANNEL + WEIGHTS[tiles.bits] * quads)
    )


def _more(weighted: WeightedLayer) -> int:
    """Return the additional instructions to scale the sums of a block."""
    if weighted.scaling.rounds_twice:
        return NEGATIVE * (not weighted.turns_positive)
    return SINGLE_ROUNDING + PARITY * weighted.scaling.to_parity


WINOGRAD: Final = Tactic(
    candidates,
    "`winograd, weights in W, G groups`: 2x2 outputs from 16 products in place of 36, "
    "Winograd's F(2x2, 3x3) in exact integers; transformed weights are in W, the inputs of G "
    "groups of three tiles are transformed together.",
    portable=3.8,
    baseline=2.6,
)
