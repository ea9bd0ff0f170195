"""The cost model of cells, against counts of their netlists."""

from collections import Counter

import numpy as np
import pytest
from targets.fpga.test_target import network

from rlx_fpga import FpgaOptions
from rlx_fpga.cell_model import breakdown_of, predicted_structure
from rlx_fpga.cells.accumulate import Accumulator, Ranges
from rlx_fpga.cells.arith import ScaledSum
from rlx_fpga.cells.channelwise import Depthwise, GlobalPool
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.mvu import MatrixVector
from rlx_fpga.cells.pad import Pad
from rlx_fpga.cells.requantize import Requantize
from rlx_fpga.cells.rom import CyclicRom, Store
from rlx_fpga.cells.softmax import Softmax
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from rlx_fpga.cells.width import WidthConverter
from rlx_fpga.cells.window import WindowGenerator
from rlx_fpga.costs import resources_of, terms_of
from rlx_fpga.design import design_of
from rlx_fpga.structure import Structure, structure_of

RNG = np.random.default_rng(5)
WEIGHTS = RNG.integers(-127, 128, (10, 36)).astype(np.int8)
CELLS = {
    "skid buffer": SkidBuffer(5),
    "queue": Fifo(3, 12),
    "deep queue": Fifo(2, 300),
    "gather": WidthConverter(2, 6, 12),
    "results": ResultQueue(3, 8, 9, 2),
    "words": CyclicRom([*map(int, RNG.integers(0, 1 << 12, 50))], 12),
    "deep words": CyclicRom([*map(int, RNG.integers(0, 1 << 12, 700))], 12),
    "words in banks": CyclicRom([*map(int, RNG.integers(0, 1 << 50, 3000))], 50, Store.BANKS),
    "accumulator": Accumulator(
        "sum", pe=4, group=7, term_bits=16, ranges=Ranges(19, 12, 20), delay=5,
        bias=np.arange(20) * 90,
    ),
    "matrix": MatrixVector(WEIGHTS, np.arange(10) * 50, pe=5, simd=4),
    "depthwise": Depthwise(WEIGHTS[:, :9], np.arange(10) * 50, channels=10, pe=5),
    "sum of tables": ScaledSum(3, *RNG.integers(-(1 << 16), 1 << 16, (2, 256)).tolist()),
    "requantize": Requantize(
        channels=10, lanes=2, acc_width=21, zero_point=3, beat_cycles=4,
        multiplier=[*map(int, RNG.integers(1 << 30, (1 << 31) - 1, 10))],
        shift=[*map(int, RNG.integers(-11, -8, 10))],
    ),
    "running sums": GlobalPool("sum", pixels=50, channels=24, lanes=3),
    "running maximum": GlobalPool("max", pixels=50, channels=3, lanes=3),
    "padding": Pad(3, (20, 11, 2), (1, 0, 0), (1, 2, 0), -7),
    "whole window": WholeWindow(height=22, width=13, channels=3, kernel=(3, 4), stride=(2, 1)),
    "replay": Replay(36, 9, 5),
    "softmax": Softmax(17, RNG.integers(0, 1 << 31, 256).tolist()),
    "window": WindowGenerator(
        height=14, width=11, channels=8, lanes=2, kernel=(3, 3), stride=(2, 2),
        padding=((1, 1), (1, 1)), repeat=3,
    ),
}  # fmt: skip


def counted(cell):
    """Return what the netlist of a cell says."""
    whole = Structure()
    for structure in structure_of(cell).values():
        whole.bits.update(structure.bits)
        whole.rams += structure.rams
    whole.bits["one"] = 1
    return whole


def predicted(cell):
    """Return the prediction, without what no netlist shows: merged registers, kinds of sums."""
    found = predicted_structure(cell)
    found.bits["add"] += found.bits.pop("tree", 0)
    return found


def near(one, other):
    """Whether two counts are as good as equal."""
    return abs(one - other) <= max(0.12 * other, 6)


@pytest.mark.parametrize("name", CELLS)
def test_predictions_equal_counts_of_netlists(name):
    model, netlist = predicted(CELLS[name]), counted(CELLS[name])
    assert Counter(model.rams) == Counter(netlist.rams)
    for family in ("ecp5", "xc7"):
        mine, its = resources_of(model, family, 0), resources_of(netlist, family, 0)
        assert mine.bram == its.bram
        assert near(mine.lut, its.lut), (mine, its)
        assert near(mine.ff, its.ff), (mine, its)


def test_products_are_predicted_exactly():
    cell = MatrixVector(WEIGHTS, None, pe=5, simd=4, logic=20)
    model, netlist = predicted_structure(cell).bits, counted(cell).bits
    assert model["product"] == netlist["product"] == 20 * 64
    assert model["multiply"] == netlist["multiply"] == 0


def test_products_with_constants_are_counted_separately():
    cell = MatrixVector(WEIGHTS[:, :4], None, pe=10, simd=4, logic=40)
    assert predicted_structure(cell).bits["scaled"] == counted(cell).bits["scaled"] == 40 * 64


def test_registers_of_weights_that_go_alike_are_merged():
    apart = MatrixVector(WEIGHTS, None, pe=5, simd=4)
    alike = MatrixVector(np.tile(WEIGHTS[:, :4], 9)[:, :8], None, pe=5, simd=4)
    # Two words of 160 bits: a bit that changes does so one way or the other.
    assert alike.roms[0].distinct_bits <= 2
    assert apart.roms[0].distinct_bits == apart.roms[0].varying_bits
    assert predicted_structure(alike).bits["register"] < predicted_structure(apart).bits["register"]


def test_cells_without_a_formula_are_counted():
    design = design_of(network().graph, FpgaOptions(dsp=20))
    parts = [part for layer in design.pipeline.layers for part in layer.cell.parts.values()]
    counts = [part for part in parts if breakdown_of(part) is None]
    assert counts, "the network has a layer without a formula"
    for part in counts:
        assert predicted_structure(part).bits["register"] == counted(part).bits["register"]


def test_whole_designs_have_the_predicted_memories():
    pipeline = design_of(network().graph, FpgaOptions(dsp=20)).pipeline
    rams = [ram for part in pipeline.parts().values() for ram in predicted_structure(part).rams]
    netlist = counted(pipeline)
    assert Counter(rams) == Counter(netlist.rams)
    for family in ("ecp5", "xc7"):
        model = Structure(rams=rams)
        assert terms_of(model, family) == terms_of(Structure(rams=netlist.rams), family)
