"""Mapping of memories by Yosys 0.70: figures taken from whole networks."""

import pytest

from rlx_fpga.cost.costs import LUT_TERMS, terms_of
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import (
    BANKS_FOR,
    LIBRARIES,
    MemoryMapping,
    Ram,
    banks_of,
    mapping_of,
)


def rom(width, depth):
    return Ram(width, depth, read_only=True, synchronous=True)


def buffer(width, depth, *, synchronous=True):
    return Ram(width, depth, read_only=False, synchronous=synchronous)


@pytest.mark.parametrize(
    ("family", "ram", "kind", "parts"),
    [
        ("ecp5", rom(344, 1920), "block", 39),
        ("ecp5", rom(72, 1920), "block", 8),
        ("ecp5", rom(17, 128), "block", 1),
        ("ecp5", rom(16, 128), "logic", 0),
        ("ecp5", rom(1024, 64), "block", 29),
        ("ecp5", buffer(8, 256), "block", 1),
        ("ecp5", buffer(8, 1280), "block", 1),
        ("ecp5", buffer(8, 16), "lut", 0),
        ("ecp5", buffer(64, 35), "lut", 0),
        ("ecp5", buffer(128, 6), "lut", 0),
        ("xc7", rom(17, 128), "logic", 0),
        ("xc7", rom(8, 1024), "logic", 0),
        ("xc7", rom(344, 1920), "block", 39),
        ("xc7", buffer(8, 256), "lut", 0),
        ("xc7", buffer(8, 257), "lut", 0),
        ("xc7", buffer(8, 320), "lut", 0),
        ("xc7", buffer(8, 321), "block", 1),
        ("ice40", rom(8, 1024), "block", 2),
        ("ice40", rom(0, 1024), "logic", 0),
    ],
)
def test_memory_goes_where_it_is_cheapest(family, ram, kind, parts):
    place = mapping_of(ram, family)
    assert (place.kind, place.parts) == (kind, parts)


def test_lookup_tables_serve_as_memory_in_whole_words():
    assert mapping_of(buffer(15, 64, synchronous=False), "ecp5").luts == 4 * 4 * 6
    assert mapping_of(buffer(8, 16), "ecp5").luts == 2 * 6


def test_a_style_in_the_netlist_decides():
    assert mapping_of(Ram(8, 16, True, True, "block"), "ecp5").parts == 1
    assert mapping_of(Ram(36, 4096, True, True, "logic"), "ecp5").kind == "logic"


@pytest.mark.parametrize("family", sorted(LIBRARIES))
def test_memory_never_shrinks_as_it_grows(family):
    parts = [
        mapping_of(Ram(36, depth, True, True, "block"), family).parts
        for depth in range(8, 9000, 500)
    ]
    assert parts == sorted(parts)
    assert parts[-1] >= 36 * 8500 / 18432 / 2


@pytest.mark.parametrize(
    ("family", "depth", "tables"),
    [("xc7", 5, 10), ("xc7", 64, 10), ("xc7", 65, 20), ("ecp5", 5, 10), ("ecp5", 65, 50)],
)
def test_each_bit_of_a_word_begins_a_lookup_table(family, depth, tables):
    ram = Ram(12, depth, read_only=True, synchronous=True, style="logic", distinct=10)
    terms = terms_of(Logic(memories=(ram,)), family)
    assert terms.lut[LUT_TERMS.index("table")] == tables


@pytest.mark.parametrize("width", [1, 3, 8, 9, 24, 40, 56, 88, 208, 1000])
def test_banks_need_no_multiplexer_and_hardly_more_blocks(width):
    for depth in (2, 511, 513, 1023, 1025, 1440, 2048, 2120, 3328, 4608, 7552, 16385, 40000):
        whole = mapping_of(rom(width, depth), BANKS_FOR)
        banks = banks_of(width, depth)
        assert sum(banks[:-1]) < depth <= sum(banks)
        places = [mapping_of(rom(width, words), BANKS_FOR) for words in banks]
        assert not any(place.muxed for place in places)
        assert sum(place.parts for place in places) <= 1.25 * whole.parts + 2
        for bank, words in enumerate(banks):
            # Addresses of a bank are the lowest bits of the whole address.
            assert sum(banks[:bank]) % (1 << (words - 1).bit_length()) == 0


@pytest.mark.parametrize(
    ("width", "depth", "banks"),
    [
        (64, 1024, (1024,)),
        (40, 1272, (2048,)),
        (24, 5504, (4096, 2048)),
        (200, 3328, (2048, 1024, 256)),
    ],
)
def test_banks_take_the_fewest_blocks(width, depth, banks):
    assert banks_of(width, depth) == banks


def pipelined(width, depth):
    return Ram(width, depth, read_only=False, synchronous=True, collision_free=True)


@pytest.mark.parametrize(
    ("family", "width", "depth", "luts"),
    [
        ("ecp5", 1, 400, 150), ("ecp5", 2, 368, 138), ("ecp5", 3, 336, 126), ("ecp5", 4, 320, 120),
        ("ecp5", 8, 160, 120), ("ecp5", 12, 112, 126), ("ecp5", 36, 32, 108),
        ("xc7", 2, 1152, 72), ("xc7", 3, 832, 52), ("xc7", 4, 576, 72), ("xc7", 8, 320, 60),
        ("xc7", 12, 192, 48), ("xc7", 36, 64, 48),
    ],
)  # fmt: skip
def test_the_deepest_memory_in_lookup_tables_is_that_of_yosys(family, width, depth, luts):
    """``memory_libmap`` takes these units, and a block for one word more."""
    place = mapping_of(pipelined(width, depth), family)
    assert (place.kind, place.luts) == ("lut", luts)
    assert mapping_of(pipelined(width, depth + 1), family).kind == "block"


@pytest.mark.parametrize(
    ("family", "width", "depth"),
    [("ice40", 2, 33), ("ice40", 4, 16), ("ice40", 8, 8), ("ice40", 12, 5), ("ice40", 36, 5),
     ("ecp5", 1, 6), ("ecp5", 2, 3), ("xc7", 1, 4), ("xc7", 2, 2)],
)  # fmt: skip
def test_the_deepest_memory_in_logic_is_that_of_yosys(family, width, depth):
    assert mapping_of(pipelined(width, depth), family).kind == "logic"
    assert mapping_of(pipelined(width, depth + 1), family).kind != "logic"


@pytest.mark.parametrize(
    ("family", "width", "depth", "parts"),
    [
        ("ecp5", 36, 512, 1), ("ecp5", 36, 513, 2), ("ecp5", 37, 512, 2),
        ("ecp5", 18, 1024, 1), ("ecp5", 18, 1025, 2), ("ecp5", 19, 1024, 2),
        ("ecp5", 9, 2048, 1), ("ecp5", 9, 2049, 2),
        ("ice40", 16, 256, 1), ("ice40", 16, 257, 2), ("ice40", 17, 256, 2),
        ("ice40", 2, 1025, 1), ("ice40", 3, 1024, 1),
    ],
)  # fmt: skip
def test_a_block_is_full_where_it_is_for_yosys(family, width, depth, parts):
    place = mapping_of(pipelined(width, depth), family)
    assert (place.kind, place.parts) == ("block", parts)


@pytest.mark.parametrize(
    ("width", "depth", "written", "fixed"),
    [(10, 2100, 3, 2), (20, 1536, 3, 2), (10, 3072, 3, 2), (28, 1025, 3, 3), (12, 5000, 5, 4)],
)
def test_words_that_are_written_take_whole_bytes_of_a_block(width, depth, written, fixed):
    """Read-only words of one block may lie beside those of another, as Yosys puts them."""
    assert mapping_of(pipelined(width, depth), "ecp5").parts == written
    assert mapping_of(rom(width, depth), "ecp5").parts == fixed


def test_a_block_that_must_return_the_old_word_costs_more():
    """Yosys takes the registers for it into account: LUTs serve for one more unit of words."""
    for depth, kind in ((160, "lut"), (176, "lut"), (177, "block")):
        assert mapping_of(buffer(8, depth), "ecp5").kind == kind
    assert mapping_of(pipelined(8, 176), "ecp5").kind == "block"


@pytest.mark.parametrize(("family", "kind"), [("ecp5", "lut"), ("xc7", "lut"), ("ice40", "block")])
def test_a_register_behind_a_read_makes_a_block_only_without_ram_of_lookup_tables(family, kind):
    ram = Ram(8, 200, read_only=False, synchronous=False, registered=True)
    assert mapping_of(ram, family).kind == kind
    plain = Ram(8, 200, read_only=False, synchronous=False)
    assert mapping_of(plain, family).kind == ("lut" if kind == "lut" else "logic")


@pytest.mark.parametrize("family", sorted(LIBRARIES))
def test_words_that_are_all_equal_need_no_memory(family):
    assert mapping_of(Ram(0, 9000, True, True, "block"), family) == MemoryMapping("logic")
    assert mapping_of(Ram(1, 9000, True, True, "block"), family).parts


def test_outputs_of_several_memories_are_multiplexed():
    assert mapping_of(buffer(5, 40, synchronous=False), "ecp5").muxed == 2 * 5
    assert mapping_of(pipelined(36, 1025), "ice40").muxed == 4 * 36
    assert mapping_of(pipelined(36, 256), "ice40").muxed == 0
