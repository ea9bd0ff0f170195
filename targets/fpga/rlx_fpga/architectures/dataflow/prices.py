"""Cost model of a folding, without building the layer.

DSP slices are exact. Block RAMs are those of weights and line buffers, by the arithmetic of
``memories``. LUTs follow from the array of products only; the LUTs of a whole design are counted
afterwards (``costs``), and ``design`` compensates for the difference.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rlx_fpga.architectures.dataflow.lower.weighted import DepthwiseConvolution, Matrix
from rlx_fpga.cells.mvu import together
from rlx_fpga.cells.rom import Store, banks
from rlx_fpga.cost.memories import LIBRARIES, Ram, mapping_of
from rlx_fpga.explore.solver import Amount

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from rlx.ops.q import Window
    from rlx_fpga.architectures.dataflow.lower import Plan
    from rlx_fpga.architectures.dataflow.lower.windows import Image
    from rlx_fpga.explore.fold import Fold

LUT_OF_PRODUCT: Final = 24
"""LUTs of the adder for one product."""

LUT_OF_LOGIC: Final = 100
"""LUTs of a LUT multiplier of two bytes."""

LUT_OF_LANE: Final = {1: 120, 2: 220, 4: 220, 8: 300, 16: 220, 31: 160}
"""LUTs of a requantizer's lane, by cycles of a beat; from 8 on without DSP slices."""

LUT_OF_RESULT: Final = 90
"""LUTs of an accumulator and its output logic."""


def amount_of(plan: Plan, fold: Fold, family: str) -> Amount:
    """Return the resources of ``fold`` of the layer ``plan`` on ``family``; memories in parts."""
    parts, tables = _memories(plan, fold, family)
    logic = LUT_OF_LOGIC * fold.logic * fold.weight_bits // 8
    lut = (
        LUT_OF_PRODUCT * fold.pe * fold.simd
        + LUT_OF_RESULT * fold.pe
        + LUT_OF_LANE[fold.beat_cycles] * fold.drain_lanes
        + logic
        + tables // LIBRARIES[family].table_bits
    )
    return Amount(fold.multipliers, parts, lut)


_MEMORIES: WeakKeyDictionary[Plan, dict[Hashable, tuple[int, int]]] = WeakKeyDictionary()
"""Results for plans that still exist."""


def _memories(plan: Plan, fold: Fold, family: str) -> tuple[int, int]:
    """Return parts of block RAMs, and bits in LUTs: the same for many foldings."""
    known = _MEMORIES.setdefault(plan, {})
    key = fold.pe, fold.simd, fold.packing, fold.store, family
    if key not in known:
        parts = tables = 0
        for ram, count in _rams(plan, fold):
            parts += count * mapping_of(ram, family).parts
            tables += count * ram.width * ram.depth if ram.style == "logic" else 0
        known[key] = parts, tables
    return known[key]


def _rams(plan: Plan, fold: Fold) -> Iterator[tuple[Ram, int]]:
    """Yield the memories of weights, how many of each there are, and the line buffer."""
    match plan:
        case Matrix():
            outputs, terms = plan.weights.shape
            depth = -(-outputs // fold.pe) * terms // fold.simd
            bits = plan.stored_bits[fold.packing]
            step = together(bits, fold.simd)
            for rows, count in ((step, fold.pe // step), (fold.pe % step, 1)):
                width = bits * rows * fold.simd
                if width and count:
                    yield from ((ram, count) for ram in _weights(width, depth, fold.store))
            if not plan.pixelwise and plan.image.channels % fold.simd == 0:
                yield _line_buffer(plan.image, plan.window, fold.simd), 1
        case DepthwiseConvolution():
            outputs = len(plan.weights)
            products = fold.pe * outputs // plan.image.channels
            depth = outputs // products * plan.window.taps
            width = plan.weight_bits * products
            yield from ((ram, 1) for ram in _weights(width, depth, fold.store))
            yield _line_buffer(plan.image, plan.window, fold.pe), 1


@lru_cache(maxsize=4096)
def _weights(width: int, depth: int, store: Store) -> tuple[Ram, ...]:
    """Return the banks of a weight memory."""
    return tuple(
        Ram(width, words, read_only=True, synchronous=True, style=store.style)
        for words in banks(width, depth, store)
    )


@lru_cache(maxsize=1024)
def _line_buffer(image: Image, window: Window, lanes: int) -> Ram:
    depth = image.geometry(window, lanes).depth
    return Ram(8 * lanes, depth, read_only=False, synchronous=True, collision_free=True)
