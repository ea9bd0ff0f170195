import numpy as np
from targets.fpga.harness import assert_lint_clean, drive, run_cell, to_beats

from rlx_fpga.cells.arith import ScaledSum
from rlx_fpga.cells.chain import Chain
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.fifo import Fifo
from rlx_fpga.cells.repeat import Constant
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp
from support.messages import raises

NEGATED = [min(127, -code) for code in range(-128, 128)]


def codes(count, lanes, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (count, lanes))


def test_chain_applies_its_cells_in_order():
    chain = Chain({"negate": Table(2, NEGATED), "clamp": Clamp(2, -5, 50)})
    x = codes(30, 2)
    run = run_cell(chain, x, 30, stall_in=0.3, stall_out=0.3)
    assert np.array_equal(run.output, np.clip(np.minimum(-x, 127), -5, 50))


def test_chain_feeds_inputs_of_its_first_cell():
    values = np.array([10, -10], np.int8)
    table = list(range(-128, 128))
    chain = Chain(
        {"sum": ScaledSum(1, table, table)},
        {"i0": {"negate": Table(1, NEGATED)}, "i1": {"constant": Constant(values, 1)}},
    )
    assert chain.ports == ["i0"]
    x = codes(10, 1)
    run = drive(chain, {"i0": x}, {"o": 10}, stall_out=0.2)
    expected = np.minimum(-x, 127).ravel() + np.tile(values, 5)
    assert np.array_equal(run.output.ravel(), expected)


def test_chain_adds_up_its_figures():
    parts = {"table": Table(2, NEGATED), "queue": Fifo(2, 40), "clamp": Clamp(2, 0, 1)}
    chain = Chain(parts)
    assert chain.memory_bits == 2 * 256 * 8 + 40 * 16
    assert chain.latency == sum(part.latency for part in parts.values())


def test_chain_keeps_the_order_of_many_inputs():
    chain = Chain({"concat": Concat(1, [1] * 12)})
    assert chain.ports == [f"i{index}" for index in range(12)]
    x = codes(12, 1)
    inputs = {f"i{index}": x[index : index + 1] for index in range(12)}
    assert np.array_equal(drive(chain, inputs, {"o": 12}).output, to_beats(x, 1))


def test_chain_refuses_two_cells_of_one_name():
    with raises(AssertionError):
        Chain({"a": Table(1, NEGATED)}, {"i": {"a": Table(1, NEGATED)}})


def test_chain_lint(tmp_path):
    assert_lint_clean(Chain({"a": Table(1, NEGATED), "b": Clamp(1, 0, 9)}), tmp_path)
