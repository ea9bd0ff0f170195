"""Properties of a folding, by the places of its products and weights."""

import pytest

from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store
from rlx_fpga.explore.fold import Fold

# 6 products of weights, two more multipliers in the requantizer.
FOLD = Fold(2, 3, 40, 8, products=6, weight_bits=8, shared_pairs=3, drain_lanes=1)


def test_products_of_logic_leave_the_other_multipliers():
    found = FOLD.with_lut_multipliers()
    assert (found.multipliers, found.logic, found.products) == (2, 6, 0)
    assert (found.pe, found.simd, found.cycles) == (2, 3, 40)


@pytest.mark.parametrize(
    ("products", "shared", "packing", "saved"),
    [
        (6, 3, Packing.NONE, 0),
        (6, 3, Packing.SHARED_OPERAND, 3),
        (6, 2, Packing.SHARED_OPERAND, 2),
        (6, 2, Packing.INDEPENDENT, 3),
        # Of an odd number one is alone.
        (5, 0, Packing.INDEPENDENT, 2),
        (5, 0, Packing.SHARED_OPERAND, 0),
    ],
)
def test_each_pair_of_products_saves_a_slice(products, shared, packing, saved):
    fold = Fold(1, products, 9, products + 2, products=products, shared_pairs=shared)
    found = fold.packed(packing)
    assert fold.multipliers - found.multipliers == saved
    assert found.packing is (packing if saved else Packing.NONE)
    assert (found.products, found.logic) == (products, 0)


@pytest.mark.parametrize("packing", Packing)
def test_a_single_product_has_a_slice_of_its_own(packing):
    fold = Fold(1, 1, 9, 1, products=1)
    assert fold.packed(packing) is fold


def test_only_weights_are_stored():
    assert FOLD.stored_in(Store.TABLES).store is Store.TABLES
    plain = Fold(2, 1, 9)
    assert plain.stored_in(Store.TABLES) is plain
