"""Kinds and registers of instructions, from the text of objdump."""

import pytest

from rlx_sim.cycles.instruction import parse
from rlx_sim.cycles.mnemonics import KINDS
from rlx_sim.cycles.timings import modelled_cores, timings_of


@pytest.mark.parametrize(
    ("text", "kind", "reads", "writes"),
    [
        ("adds r0, #1", "alu", {"r0": "value"}, {"r0", "flags"}),
        ("movs r0, #5", "alu", {}, {"r0", "flags"}),
        ("movw r0, #4660", "alu", {}, {"r0"}),
        ("add.w r0, r1, r2, asr #3", "shifted", {"r1": "value", "r2": "early"}, {"r0"}),
        ("eor.w r0, r1, #8128", "shifted", {"r1": "value"}, {"r0"}),
        ("lsls r0, r1", "shift", {"r0": "value", "r1": "value"}, {"r0", "flags"}),
        ("mov.w r0, r1, asr #16", "shift", {"r1": "early"}, {"r0"}),
        ("cmp r0, #3", "alu", {"r0": "value"}, {"flags"}),
        ("ssat r0, #8, r1, asr #4", "dsp", {"r1": "early"}, {"r0"}),
        ("uxtab r0, r1, r2", "dsp", {"r1": "value", "r2": "early"}, {"r0"}),
        ("bfi r0, r1, #3, #4", "dsp", {"r0": "value", "r1": "early"}, {"r0"}),
        (
            "smlad r0, r1, r2, r3", "multiply-accumulate",
            {"r1": "multiply", "r2": "multiply", "r3": "accumulate"}, {"r0"},
        ),
        (
            "smlal r0, r1, r2, r3", "multiply-accumulate-long",
            {"r0": "accumulate", "r1": "accumulate", "r2": "multiply", "r3": "multiply"},
            {"r0", "r1"},
        ),
        (
            "umull r0, r1, r2, r3", "multiply-long", {"r2": "multiply", "r3": "multiply"},
            {"r0", "r1"},
        ),
        ("ldr.w r3, [r1, r2, lsl #2]", "load", {"r1": "address", "r2": "address"}, {"r3"}),
        ("ldrsb.w r3, [r1], #1", "load-narrow", {"r1": "address"}, {"r1", "r3"}),
        ("ldrd r0, r1, [r2, #8]!", "load-pair", {"r2": "address"}, {"r0", "r1", "r2"}),
        ("str.w r0, [sl, #8]", "store", {"r0": "store", "r10": "address"}, set()),
        (
            "str.w r0, [r1, r2]", "store-indexed",
            {"r0": "store", "r1": "address", "r2": "address"}, set(),
        ),
        ("ldmia.w r0!, {r4, r5}", "load-multiple", {"r0": "address"}, {"r0", "r4", "r5"}),
        ("pop {r4, pc}", "load-multiple", {"sp": "address"}, {"r4", "pc", "sp"}),
        ("bne.n 100 <f+0x4>", "branch", {}, set()),
        ("bls.n 100", "branch", {}, set()),
        ("cbz r0, 2", "branch", {"r0": "value"}, set()),
        ("bl 0 <f>", "call", {}, {"lr"}),
        ("bx lr", "indirect", {"lr": "value"}, {"pc"}),
        ("mov pc, r3", "indirect", {"r3": "value"}, {"pc"}),
        ("vfma.f32 s0, s1, s2", "float-accumulate",
         {"s0": "value", "s1": "value", "s2": "value"}, {"s0"}),
        ("vldr d0, [r1, #8]", "float-load", {"r1": "address"}, {"d0"}),
        ("vldrw.u32 q0, [r0], #16", "vector-load", {"r0": "address"}, {"q0", "r0"}),
        ("vmladava.s8 r0, q0, q1", "vector-multiply",
         {"r0": "value", "q0": "value", "q1": "value"}, {"r0"}),
        ("letp lr, 100", "loop", {"lr": "value"}, set()),
    ],
)  # fmt: skip
def test_kind_and_registers(text, kind, reads, writes):
    mnemonic, operands = text.split(maxsplit=1)
    found = parse(mnemonic, operands)
    assert (found.kind, found.reads, found.writes) == (kind, reads, writes)


def test_conditions_are_read_from_the_flags():
    one = parse("addne", "r0, #1", in_it=True)
    assert (one.mnemonic, one.reads) == ("add", {"r0": "value", "flags": "value"})
    assert one.is_conditional
    assert parse("vmovgt.f32", "s0, s1", in_it=True).kind == "float-move"


def test_addresses_know_their_base_and_offset():
    assert parse("ldr", "r0, [r1, #4]").memory == ("r1", 4)
    assert parse("ldr", "r0, [sl]").memory == ("r10", 0)
    assert parse("ldr", "r0, [r1, r2]").memory is None
    assert parse("ldr", "r0, [r1], #4").base == "r1"
    assert parse("ldmia", "r0!, {r4, r5}").base == "r0"
    assert parse("push", "{r4, r5}").base == "sp"
    assert parse("vpush", "{d8-d9}").words == 4


@pytest.mark.parametrize("core", modelled_cores())
def test_tables_use_known_kinds_and_name_their_sources(core):
    timings = timings_of(core)
    assert set(timings.kinds) <= set(KINDS)
    assert {kind for kind, _ in timings.late} | set(timings.taken_extra) <= set(KINDS)
    assert timings.sources
    assert all(row.source for row in timings.kinds.values())
    for row in timings.kinds.values():
        assert list(row.cycles) == sorted(row.cycles)


def test_extensions_of_a_core_do_not_change_its_timings():
    assert timings_of("cortex-m4+nofp") is timings_of("cortex-m4") or (
        timings_of("cortex-m4+nofp") == timings_of("cortex-m4")
    )
    assert timings_of("cortex-m35p").kinds == timings_of("cortex-m33").kinds
    assert timings_of("cortex-m85") is None
    assert timings_of("source") is None
