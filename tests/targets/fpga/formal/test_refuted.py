"""Broken cells, refuted by the properties of the proofs alone."""

import pytest
from targets.fpga.formal.faults import (
    Broken,
    changes_a_value,
    changes_while_waiting,
    drops_late,
    drops_what_does_not_fit,
    index,
    instead,
    keeps,
    keeps_inside,
    keeps_the_last,
    keeps_valid,
    loses_the_sign,
    pads_before_a_beat,
    pads_with_the_next_beat_alone,
    sends_from_nothing,
    sends_twice,
    stops,
    straight,
    swaps_lanes,
    withdraws_offers,
)
from targets.fpga.formal.instances import ENTRIES, EVERY
from targets.fpga.formal.solver import compile_bench, solve

from rlx.support.errors import SimulationError
from rlx_fpga.cells.pad import Pad, Slice
from rlx_fpga.cells.streams import raw
from rlx_fpga.cells.table import Table
from rlx_fpga.cells.unary import Clamp, Offset

pytestmark = pytest.mark.synth

# Cycles in which a broken cell must be refuted.
BOUND = 12

FAULTS = {
    "skid_buffer": (
        drops_what_does_not_fit, withdraws_offers, sends_from_nothing, keeps_the_last,
        changes_while_waiting,
    ),
    "fifo_2": (drops_what_does_not_fit, sends_twice, changes_a_value, stops),
    "fifo_33": (sends_twice,),
    "result_queue_7_3": (sends_twice, changes_a_value),
    "fork_2": (drops_what_does_not_fit, sends_twice),
    "gather_2_to_6": (drops_what_does_not_fit, changes_a_value),
    "scatter_6_to_2": (sends_twice, stops),
    "width_2_to_3": (drops_what_does_not_fit, changes_a_value),
    "repeat_3_4": (drops_what_does_not_fit, changes_a_value),
    "constant_6": (sends_twice, changes_a_value),
    "concat_2_1_5_after_1": (sends_twice, stops),
    "join": (drops_what_does_not_fit, sends_twice),
    "fork_and_join": (sends_from_nothing, stops),
    "pad_1_1_1_of_7": (pads_with_the_next_beat_alone,),
    "pad_2x3_1x0_0x1_of_5": (
        drops_what_does_not_fit, sends_twice, changes_while_waiting, pads_before_a_beat,
        instead("pads_on_the_other_side", lambda: Pad(1, (2, 3), (0, 0), (1, 1), 5)),
        instead("pads_with_another_value", lambda: Pad(1, (2, 3), (1, 0), (0, 1), 4)),
    ),
    "slice_3x4_1x0_3x4_1x3": (
        sends_twice, changes_a_value, drops_late, stops,
        instead("begins_early", lambda: Slice(1, (3, 4), (0, 0), (3, 4), (1, 3))),
        instead("ends_early", lambda: Slice(1, (3, 4), (1, 0), (2, 4), (1, 3))),
        instead("takes_another_step", lambda: Slice(1, (3, 4), (1, 0), (3, 4), (1, 2))),
    ),
    "clamp_minus_5_to_100_by_2": (
        drops_what_does_not_fit, sends_twice, changes_while_waiting, swaps_lanes,
        instead("has_a_bound_too_low", lambda: Clamp(2, -5, 99)),
        instead("has_a_bound_too_high", lambda: Clamp(2, -4, 100)),
    ),
    "offset_20_128_by_2": (
        sends_from_nothing, withdraws_offers, swaps_lanes, loses_the_sign,
        instead("adds_too_much", lambda: Offset(2, 20, 129)),
    ),
    "table_20_9dd98471_by_2": (
        keeps_the_last, changes_while_waiting, swaps_lanes,
        instead("has_a_wrong_entry", lambda: Table(2, [*ENTRIES[:255], ENTRIES[255] ^ 1], 20)),
        instead("begins_with_code_0", lambda: Table(2, [*ENTRIES[128:], *ENTRIES[:128]], 20)),
    ),
}  # fmt: skip

# Registers that a reset in the middle of a frame must not leave as they are, one at a time.
KEPT = {
    "skid_buffer": (keeps_inside("front_valid"), keeps_inside("back_valid")),
    "fifo_2": (keeps("level", lambda cell: cell.internals["queue"].level),),
    "fifo_33": (keeps_inside("fetched"), keeps_inside("any_waiting")),
    "result_queue_3_2": (keeps_inside("credits"), keeps_inside("any_waiting"), keeps_valid),
    "fork_2": (keeps_inside("served"),),
    "gather_2_to_6": (keeps_inside("count"),),
    "scatter_6_to_2": (keeps_inside("left"),),
    "repeat_3_4": (keeps_inside("beat"), keeps_inside("turn"), keeps_valid),
    "constant_6": (keeps_inside("place"),),
    "concat_2_1_5_after_1": (keeps_inside("turn"), keeps_inside("count")),
    "join": (keeps_inside("first_valid"), keeps_inside("second_valid")),
    "fork_and_join": (keeps("result", lambda cell: cell.parts["join"].o.valid),),
    "pad_2x3_1x0_0x1_of_5": (keeps("row", index(0)), keeps("column", index(1)), keeps_valid),
    "slice_3x4_1x0_3x4_1x3": (keeps("row", index(0)), keeps("column", index(1)), keeps_valid),
    "clamp_minus_5_to_100_by_2": (keeps_valid,),
    "offset_20_128_by_2": (keeps_valid,),
    "table_20_9dd98471_by_2": (keeps_valid,),
}


def broken(faults):
    return [pytest.param(n, f, id=f"{n}-{f.__name__}") for n, some in faults.items() for f in some]


def refute(name, fault, folder):
    """Have the properties alone refute a cell with a fault."""
    proof = EVERY[name]
    bench = proof.bench_of(Broken(proof.cell(), fault), invariants=False)
    bench.paths.clear()
    compile_bench(bench, name, folder)
    with pytest.raises(SimulationError, match=r"Assert failed in "):
        solve(name, folder, "-t", str(BOUND))


@pytest.mark.parametrize(("name", "fault"), broken(FAULTS))
def test_broken_cell_is_refuted(name, fault, tmp_path):
    """A cell that is only wrapped is not: see below."""
    refute(name, fault, tmp_path)


@pytest.mark.parametrize(("name", "fault"), broken(KEPT))
def test_cell_that_keeps_a_register_over_a_reset_is_refuted(name, fault, tmp_path):
    """It needs a reset after some cycles: nothing is wrong from power-up to that."""
    refute(name, fault, tmp_path)


def test_every_proof_refutes_at_least_two_faults():
    kinds = {proof.state for proof in EVERY.values()}
    for state in kinds:
        names = [name for name, proof in EVERY.items() if proof.state is state]
        found = [f for name in names for f in (*FAULTS.get(name, ()), *KEPT.get(name, ()))]
        assert len(found) >= 2, names


# Without invariants, the time of a proof grows fourfold with each step of a queue of results, and
# with its depth: a small one has all of its control.
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("skid_buffer", BOUND), ("result_queue_3_2", 8), ("fork_2", BOUND),
        ("pad_2x3_1x0_0x1_of_5", BOUND), ("slice_3x4_1x0_3x4_1x3", BOUND),
        ("clamp_minus_5_to_100_by_2", 6), ("offset_20_128_by_2", 6), ("table_20_9dd98471_by_2", 6),
    ],
)  # fmt: skip
def test_wrapped_cell_is_not_refuted(name, steps, tmp_path):
    proof = EVERY[name]
    bench = proof.bench_of(Broken(proof.cell(), straight), invariants=False)
    compile_bench(bench, name, tmp_path)
    solve(name, tmp_path, "-t", str(steps))


def test_output_that_waits_for_ready_is_refuted(tmp_path):
    def waits(m, broken):
        ours, its = broken.outer("o")
        m.d.comb += [
            ours.valid.eq(its.valid & ours.ready), raw(ours).eq(raw(its)), its.ready.eq(ours.ready),
        ]  # fmt: skip
        broken.straight(m, "i")

    proof = EVERY["skid_buffer"]
    bench = proof.bench_of(Broken(proof.cell(), waits), invariants=False)
    with pytest.raises(SimulationError, match="selection is not empty"):
        compile_bench(bench, "waits", tmp_path)
