"""Folding of a layer, of which a search chooses among several."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store


@dataclass(frozen=True, slots=True)
class Fold:
    """Folding of a layer.

    Attributes:
        pe: Results computed at the same time; lanes, for a layer without products.
        simd: Terms of each result computed at the same time.
        cycles: Predicted cycles for a frame; a lower bound.
        multipliers: DSP slices.
        beat_cycles: Cycles of the requantizer for a beat; 1 for a layer without one.
        drain_lanes: Lanes of the requantizer after products; 0 for a layer without weights.
        products: Products that could use LUT multipliers instead.
        logic: LUT multipliers; not included in ``multipliers``.
        weight_bits: Bits of their second operand; 0 for a layer without weights.
        store: Storage of the weights.
        shared_pairs: Pairs of products that have an operand in common.
        packing: Packing of two products in a DSP slice.
    """

    pe: int
    simd: int
    cycles: int
    multipliers: int = 0
    beat_cycles: int = 1
    drain_lanes: int = 0
    products: int = 0
    logic: int = 0
    weight_bits: int = 0
    store: Store = Store.FREE
    shared_pairs: int = 0
    packing: Packing = Packing.NONE

    def stored_in(self, store: Store) -> Fold:
        """Return the folding with its weights, if any, in ``store``."""
        return replace(self, store=store) if self.weight_bits else self

    def with_lut_multipliers(self) -> Fold:
        """Return the folding with LUT multipliers for all of its products."""
        assert self.packing is Packing.NONE
        multipliers = self.multipliers - self.products
        return replace(self, multipliers=multipliers, products=0, logic=self.products)

    def packed(self, packing: Packing) -> Fold:
        """Return the folding with two products in a DSP slice, where possible."""
        pairs = {
            Packing.NONE: 0,
            Packing.SHARED_OPERAND: self.shared_pairs,
            Packing.INDEPENDENT: self.products // 2,
        }[packing]
        if not pairs:
            return self
        return replace(self, multipliers=self.multipliers - pairs, packing=packing)
