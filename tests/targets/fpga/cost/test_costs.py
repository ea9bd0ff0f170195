"""The cost model beside Yosys: cells that were sampled, and whole designs."""

import json
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.fpga.designs import designs
from benchmarks.fpga.fit import DEVICES, stored
from benchmarks.fpga.samples import samples
from rlx_fpga.architectures.dataflow.design import resources_by_layer
from rlx_fpga.cells.accumulate import Accumulator, Ranges
from rlx_fpga.cells.argmax import Argmax
from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.channel_table import ChannelTable
from rlx_fpga.cells.channelwise import Depthwise, GlobalPool, Pool
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.divide import Divide
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.mvu import MatrixVector
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.requantize import Requantize
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.cells.streams import Cell
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp, Offset
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from rlx_fpga.cells.width import WidthConverter
from rlx_fpga.cells.window import WindowGenerator
from rlx_fpga.cost.costs import FF_TERMS, LUT_TERMS, Resources, resources_of, terms_of
from rlx_fpga.cost.logic import Logic, counter, total
from rlx_fpga.cost.memories import LIBRARIES, Ram
from rlx_fpga.packaging.synthesis import resources

RNG = np.random.default_rng(5)
TABLE = RNG.integers(-128, 128, 256).tolist()
WEIGHTS = RNG.integers(-127, 128, (24, 27)).astype(np.int8)
BIAS = np.arange(24) * 50
DESIGNS = list(designs())


def requantizer(lanes):
    return Requantize(
        channels=24, lanes=lanes, acc_width=20, multiplier=[1 << 30], shift=[-9], beat_cycles=1
    )


def window(lanes):
    return WindowGenerator(
        height=14, width=11, channels=24, lanes=lanes, kernel=(3, 3), padding=((1, 1), (1, 1))
    )


def accumulator(lanes):
    ranges = Ranges(19, 12, 20)
    return Accumulator("sum", pe=lanes, group=27, term_bits=16, ranges=ranges, bias=BIAS)


GROWING = {
    "skid buffer": SkidBuffer,
    "queue": lambda n: Fifo(n, 12),
    "fork": lambda n: Fork(2, n + 1),
    "accumulator": accumulator,
    "matrix": lambda n: MatrixVector(WEIGHTS, BIAS, pe=n, simd=3),
    "matrix in LUTs": lambda n: MatrixVector(WEIGHTS, BIAS, pe=n, simd=1, logic=n),
    "depthwise": lambda n: Depthwise(WEIGHTS[:, :9], BIAS, channels=24, pe=n),
    "pool": lambda n: Pool("max", taps=9, pe=n),
    "running sums": lambda n: GlobalPool("sum", pixels=50, channels=24, lanes=n),
    "requantizer": requantizer,
    "whole window": lambda n: WholeWindow(height=9, width=9, channels=n, kernel=(3, 3)),
    "replay": lambda n: Replay(24 * n, 24, 2),
    "padding": lambda n: Pad(n, (20, 11), (1, 1), (1, 1), 0),
    "slice": lambda n: Slice(n, (20, 11), (1, 0), (20, 11), (1, 2)),
    "concatenation": lambda n: Concat(n, (3, 4)),
    "repetition": lambda n: Repeat(n, 5, 3),
    "table": lambda n: Table(n, TABLE),
    "clamp": lambda n: Clamp(n, -5, 5),
    "offset": lambda n: Offset(n, 8, 300),
    "sum": lambda n: ScaledSum(n, TABLE, TABLE),
    "product": lambda n: Product(n, 3, 4),
    "division": lambda n: Divide(n, 14, (3, 4), (3, 3)),
    "argmax": lambda n: Argmax(2**n),
    "softmax": lambda n: Softmax(40 * n, RNG.integers(0, 1 << 31, 256).tolist()),
}
"""Cells of 1, 2, 3 ... lanes, or as many times as deep."""

TRADING = {
    "deep queue": lambda n: Fifo(n, 300),
    "depth": lambda n: Fifo(3, 40 * n),
    "gather": lambda n: WidthConverter(n, 24, 24),
    "window": window,
    "constant": lambda n: Constant(np.arange(24, dtype=np.int8), n),
    "tables": lambda n: ChannelTable(n, RNG.integers(-128, 128, (24, 256)).astype(np.int8)),
}
"""Cells in which more lanes need fewer words or steps, or block RAM takes the place of LUTs."""


@pytest.mark.parametrize("family", sorted(LIBRARIES))
@pytest.mark.parametrize("name", GROWING)
def test_more_lanes_never_cost_less(name, family):
    found = [resources_of_cell(GROWING[name](lanes), family) for lanes in (1, 2, 4, 12)]
    for less, more in pairwise(found):
        assert 0 < less.ff <= more.ff
        assert less.dsp <= more.dsp
    assert found[0] != found[-1]


@pytest.mark.parametrize("name", TRADING)
def test_cells_whose_sides_trade_have_a_cost(name):
    for lanes in (1, 2, 12):
        found = resources_of_cell(TRADING[name](lanes), "ecp5")
        assert found.lut > 0
        assert found.ff > 0


def resources_of_cell(cell, family):
    return resources_of(cell.logic, family, getattr(cell, "multipliers", 0))


@pytest.mark.parametrize("family", sorted(DEVICES))
def test_sampled_cells_cost_what_yosys_counted(family):
    cells = dict(samples())
    rows = [r for r in stored() if r["family"] == family and r["sample"] in cells]
    assert len(rows) > 60
    errors = {"lut": [], "ff": []}
    for row in rows:
        counted = resources(row["cells"], family)
        found = resources_of_cell(cells[row["sample"]], family)
        for name, some in errors.items():
            some.append((getattr(found, name) - counted[name]) / max(counted[name], 150))
    for some in errors.values():
        assert np.sqrt(np.mean(np.square(some))) < 0.3
        assert abs(np.mean(some)) < 0.1


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_designs_cost_what_yosys_counted(design):
    """Block RAMs and DSP slices exactly; LUTs within 20 %, flip-flops within 15 %."""
    found = sum(resources_by_layer(design.pipeline, design.family).values(), Resources())
    counted = design.counts
    assert (found.dsp, found.bram) == (counted["dsp"], counted["bram"])
    assert abs(found.lut / counted["lut"] - 1) < 0.2
    assert abs(found.ff / counted["ff"] - 1) < 0.15


def test_some_designs_of_every_family_are_held_out():
    held_out = [design for design in DESIGNS if design.held_out]
    assert {"ice40", "ecp5"} <= {design.family for design in held_out}
    fitted = {(d.row["network"], d.family, d.row["design"]) for d in DESIGNS if not d.held_out}
    assert not fitted & {(d.row["network"], d.family, d.row["design"]) for d in held_out}


def test_coefficients_are_few_and_positive():
    data = json.loads(files("rlx_fpga.cost").joinpath("coefficients.json").read_text("utf-8"))
    assert data["families"].keys() == LIBRARIES.keys()
    for family in data["families"].values():
        assert set(family["lut"]) == set(LUT_TERMS)
        assert set(family["ff"]) == set(FF_TERMS)
        assert all(value >= 0 for terms in family.values() for value in terms.values())
    assert len(LUT_TERMS) + len(FF_TERMS) <= 15


def cells_below(cell):
    for one in cell.__subclasses__():
        yield one
        yield from cells_below(one)


def test_every_cell_says_what_it_is_made_of():
    # Other tests of this process have cells of their own, and so do the benches of proofs.
    cells = [
        one
        for one in cells_below(Cell)
        if one.__module__.startswith("rlx_fpga.")
        and not one.__module__.startswith("rlx_fpga.formal.")
        and not one.__name__.startswith("_")
    ]
    assert len(cells) > 25
    # A chain adds up its cells, whatever it is called.
    own = [one for one in cells if one is Chain or not issubclass(one, Chain)]
    assert [one.__name__ for one in own if "logic" not in vars(one)] == []


def test_logic_adds_up():
    ram = Ram(8, 16, read_only=False, synchronous=True)
    one = Logic(register=1, add=2, mux=3, memories=(ram,))
    assert one + one == one.times(2) == total([one, one])
    assert one.times(1) is one
    assert counter(1) == Logic()
    assert counter(5) == Logic(register=3, add=3, test=10)


@pytest.mark.parametrize(
    ("lut", "ff", "cells"),
    [(100, 0, 100), (0, 100, 100), (100, 50, 132), (50, 100, 132), (2, 2, 4)],
)
def test_a_logic_cell_takes_a_third_of_the_pairs_that_there_could_be(lut, ff, cells):
    """0.37 of the smaller number share a cell with one of the other kind."""
    assert Resources(lut=lut, ff=ff).logic_cells == cells


def term(logic, family, name):
    found = terms_of(logic, family)
    return dict(zip(LUT_TERMS + FF_TERMS, found.lut + found.ff, strict=True))[name]


@pytest.mark.parametrize("family", sorted(LIBRARIES))
def test_each_kind_of_logic_has_its_own_term(family):
    kinds = ("add", "compare", "test", "mux", "product", "scaled", "tree", "register", "operand")
    logic = Logic(**{name: 10 + n for n, name in enumerate(kinds)})
    assert [term(logic, family, name) for name in kinds] == [*range(10, 19)]
    assert terms_of(logic, family).fixed == (0, 0)
    assert terms_of(Logic(paired=3), family).fixed == (3, 48)


def test_a_memory_of_logic_has_a_flip_flop_and_a_multiplexer_for_each_bit():
    ram = Ram(5, 3, read_only=False, synchronous=True, style="logic")
    found = terms_of(Logic(mux=7, memories=(ram,)), "ecp5")
    assert found.fixed == (0, 15)
    assert term(Logic(mux=7, memories=(ram,)), "ecp5", "mux") == 7 + 15
    assert term(Logic(memories=(ram,)), "ecp5", "ram_register") == 5
    asynchronous = Ram(5, 3, read_only=False, synchronous=False, style="logic")
    assert term(Logic(memories=(asynchronous,)), "ecp5", "ram_register") == 0


def test_a_block_that_may_be_read_and_written_at_once_takes_registers_around_it():
    """A copy of the word, one of the word written, and the comparison of two addresses."""
    safe = Ram(9, 2048, read_only=False, synchronous=True, collision_free=True)
    unsafe = Ram(9, 2048, read_only=False, synchronous=True)
    fixed = Ram(9, 2048, read_only=True, synchronous=True)
    for ram, cells in ((safe, (0, 0)), (fixed, (0, 0)), (unsafe, (19, 28))):
        found = terms_of(Logic(memories=(ram,)), "ecp5")
        assert (found.parts, found.fixed) == (1, cells)


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_copies_and_of_sums(seed):
    """Block RAMs and DSP slices add up exactly, LUTs and flip-flops but for rounding up."""
    rng = np.random.default_rng(seed)
    ram = Ram(*rng.integers(9, 90, 2).tolist(), read_only=False, synchronous=True)
    fields = ("register", "add", "compare", "test", "mux", "product", "scaled", "tree", "operand")
    numbers = dict(zip(fields, rng.integers(0, 99, 9).tolist(), strict=True))
    logic = Logic(**numbers, paired=2, memories=(ram,))
    assert logic.times(3) == logic + logic + logic == total([logic] * 3)
    assert [getattr(logic.times(3), name) for name in fields] == [3 * n for n in numbers.values()]
    one, three = resources_of(logic, "xc7", 5), resources_of(logic.times(3), "xc7", 15)
    summed = one + one + one
    assert (summed.dsp, summed.bram) == (three.dsp, three.bram) == (15, 3 * one.bram)
    assert 0 <= summed.lut - three.lut <= 3
    assert 0 <= summed.ff - three.ff <= 3


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 1024, 1025])
def test_a_counter_has_the_bits_of_its_last_value(count):
    assert counter(count).register == counter(count).add == len(f"{count - 1:b}".lstrip("0"))
