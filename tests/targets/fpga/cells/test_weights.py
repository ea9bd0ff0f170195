"""Sizes of weight memories, found without their words, beside those of the words."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlx_fpga.cells import weights as memories
from rlx_fpga.cells.multiply import Packing
from rlx_fpga.cells.rom import Store
from rlx_fpga.cells.weights import WeightMemories


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@st.composite
def matrices(draw):
    """Weights of few different values, so that bits are often the same in all words."""
    outputs, terms = draw(st.integers(1, 24)), draw(st.sampled_from([1, 4, 6, 12, 30]))
    values = draw(st.lists(st.integers(-128, 127), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return rng.choice(np.array(values, np.int8), (outputs, terms))


@settings(max_examples=200)
@given(matrices(), st.data())
def test_sizes_are_those_of_the_words(weights, data):
    outputs, terms = weights.shape
    key = (
        data.draw(st.integers(1, outputs)),
        data.draw(st.sampled_from(divisors(terms))),
        data.draw(st.sampled_from(list(Packing))),
        data.draw(st.sampled_from(list(Store))),
    )
    found = WeightMemories(weights, split=data.draw(st.booleans()))
    assert found.sizes(*key) == Counter(rom.sizes for rom in found.roms(*key))


def test_wide_words_are_split(monkeypatch):
    monkeypatch.setattr(memories, "MAX_WORD_BITS", 40)
    weights = np.random.default_rng(0).integers(-128, 128, (13, 4)).astype(np.int8)
    found = WeightMemories(weights)
    for packing in Packing:
        key = 5, 2, packing, Store.FREE
        roms = found.roms(*key)
        assert len(roms) == 3
        assert found.sizes(*key) == Counter(rom.sizes for rom in roms)


@pytest.mark.parametrize(("pe", "simd"), [(1, 1), (3, 1), (1, 8), (4, 2)])
def test_banks_are_counted_each_on_its_own(pe, simd):
    weights = np.random.default_rng(0).integers(-128, 128, (150, 256)).astype(np.int8)
    # Bits that vary in one bank only.
    weights[20:, :] &= 0x0F
    found = WeightMemories(weights)
    key = pe, simd, Packing.NONE, Store.BANKS
    (rom,) = found.roms(*key)
    assert len(rom.banks) > 1
    assert found.sizes(*key) == {rom.sizes: 1}
