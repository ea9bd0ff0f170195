"""Cycles of short sequences, as Arm's manuals or published measurements state them."""

import pytest

from rlx_sim.cycles.instruction import instructions, parse
from rlx_sim.cycles.pipeline import UnknownTimingError, block_cycles
from rlx_sim.cycles.timings import Bound, timings_of
from support.messages import raises


def block(text, *, size=4):
    """Return the instructions in a text, separated by semicolons."""
    lines = (part.split(maxsplit=1) for part in text.split(";"))
    return [
        parse(name, *operands, address=size * k, size=size)
        for k, (name, *operands) in enumerate(lines)
    ]


def cycles(core, text, *, taken=False, bound=Bound.EXPECTED, size=4):
    return block_cycles(block(text, size=size), timings_of(core), is_taken=taken, bound=bound)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The examples in Arm DDI 0337I and DDI 0439D, section "Load/store timings".
        ("ldr r0, [r1]; ldr r1, [r2]", 3),
        ("ldr r0, [r1, r2]; str r0, [r3, #20]", 3),
        ("ldr r0, [r1, r2]; str r1, [r3, r2]", 3),
        ("ldr r0, [r1, r5]; ldr r1, [r2]; ldr r2, [r3, #4]", 4),
        # The rules of the same section.
        ("str r0, [r1, #4]", 1),
        ("ldrd r0, r1, [r2]", 3),
        ("ldmia r3, {r0, r1, r2}", 4),
        ("stmia r8, {r0-r7}", 9),
        ("push {r4, r5, lr}", 4),
        # The address depends on what was loaded: not pipelined.
        ("ldr r0, [r1]; ldr r2, [r0]", 4),
        # Nothing is pipelined after a store, nor next to LDRD.
        ("str r0, [r1, #4]; ldr r2, [r3]", 3),
        ("ldr r0, [r1]; ldrd r2, r3, [r4]", 5),
        # An address that the instruction before computes waits a cycle; other results do not.
        ("add r0, r0, #4; ldr r1, [r0]", 4),
        ("add r0, r0, #4; add r2, r2, #1; ldr r1, [r0]", 4),
        ("add r0, r0, #4; add r1, r0, #4", 2),
        ("mul r0, r1, r2; add r3, r0, #1", 2),
    ],
)
@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_loads_and_stores_take_what_the_manuals_say(core, text, expected):
    assert cycles(core, text) == expected


@pytest.mark.parametrize("core", ["cortex-m3", "cortex-m4"])
def test_blocking_loads_of_the_program_counter(core):
    # DDI 0337I: at least five cycles, and at least six.
    assert cycles(core, "ldr pc, [r0]", taken=True) == 5
    assert cycles(core, "tbb [pc, r0]", taken=True) == 6


def test_a_branch_refills_the_pipeline():
    # 1 + P with P of 1 to 3.
    text = "subs r0, r0, #1; bne 0"
    assert cycles("cortex-m4", text) == 2
    assert [cycles("cortex-m4", text, taken=True, bound=b) for b in Bound] == [3, 4, 5]
    # 1 + N + P
    assert [cycles("cortex-m4", "pop {r4, pc}", taken=True, bound=b) for b in Bound] == [4, 5, 6]


def test_products_differ_between_m3_and_m4():
    text = "mla r0, r1, r2, r3; smull r4, r5, r6, r7; smlal r4, r5, r6, r7"
    assert cycles("cortex-m4", text) == 3
    assert [cycles("cortex-m3", text, bound=b) for b in Bound] == [9, 12, 14]


def test_a_division_ends_early():
    assert [cycles("cortex-m4", "sdiv r0, r1, r2", bound=b) for b in Bound] == [2, 7, 12]


def test_base_updates_are_pipelined_on_m4_alone():
    other = "ldr r0, [r1], #4; ldr r2, [r3], #4"
    same = "ldr r0, [r1], #4; ldr r2, [r1], #4"
    assert (cycles("cortex-m4", other), cycles("cortex-m4", same)) == (3, 4)
    assert (cycles("cortex-m3", other), cycles("cortex-m3", same)) == (4, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # DDI 0439D, table 7-1, and a cycle more where the next instruction needs the result.
        ("vadd.f32 s0, s1, s2; vadd.f32 s3, s4, s5", 2),
        ("vadd.f32 s0, s1, s2; vadd.f32 s3, s0, s5", 3),
        ("vfma.f32 s0, s1, s2", 3),
        ("vdiv.f32 s0, s1, s2", 14),
        ("vldr s0, [r0]", 2),
        ("vldr d0, [r0]", 3),
        ("vpush {d8-d9}", 5),
    ],
)
def test_floating_point_of_an_m4(text, expected):
    assert cycles("cortex-m4", text) == expected


@pytest.mark.parametrize(
    ("text", "taken", "m0", "m0plus"),
    [
        # DDI 0432C and DDI 0484C, table 3-1.
        ("muls r0, r1", False, 1, 1),
        ("ldr r0, [r1]; ldr r2, [r3]", False, 4, 4),
        ("ldmia r0!, {r1, r2}", False, 3, 3),
        ("bne 0", False, 1, 1),
        ("bne 0", True, 3, 2),
        ("bl 0", True, 4, 3),
        ("bx lr", True, 3, 2),
        ("pop {r4, pc}", True, 6, 5),
    ],
)
def test_tables_of_the_small_cores(text, taken, m0, m0plus):
    assert cycles("cortex-m0", text, taken=taken) == m0
    assert cycles("cortex-m0plus", text, taken=taken) == m0plus


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Pairs that boards show: see the sources in timings.toml.
        ("add r0, r1, r2; add r3, r4, r5", 1),
        ("add r0, r1, r2; add r3, r0, r5", 2),
        ("smlad r0, r1, r2, r0; ldr r3, [r4]", 1),
        ("smlad r0, r1, r2, r0; smlad r3, r4, r5, r3", 2),
        ("smlad r0, r1, r2, r0; smlad r0, r4, r5, r0", 2),
        ("smlad r0, r1, r2, r0; str r3, [r4]", 2),
        ("ldr r0, [r1]; str r2, [r3]", 1),
        ("ldr r0, [r1]; str r0, [r3]", 1),
        ("str r0, [r1]; str r2, [r3]", 2),
        # Odd and even words are in two banks; other addresses may be in the same.
        ("ldr r0, [r1]; ldr r2, [r1, #4]", 1),
        ("ldr r0, [r1]; ldr r2, [r1, #8]", 2),
        ("ldr r0, [r1]; ldr r2, [r3]", 2),
        # A product needs a loaded word a cycle later than an addition does.
        ("ldr r0, [r1]; add r2, r0, r3", 2),
        ("ldr r0, [r1]; smlad r2, r0, r3, r2", 3),
        ("ldrb r0, [r1]; add r2, r0, r3", 3),
        ("mul r0, r1, r2; add r3, r0, r4", 3),
        # At most one shifted operand, and the extracting instruction first.
        ("add r0, r1, r2, lsl #2; add r3, r4, r5, lsl #2", 2),
        ("sxtb16 r0, r1; add r2, r3, r4", 1),
        ("add r2, r3, r4; sxtb16 r0, r1", 2),
        # Registers in pairs, and nothing besides.
        ("ldmia r3, {r0, r1, r2}", 2),
        ("ldrd r0, r1, [r2]; add r3, r4, r5", 2),
    ],
)
def test_an_m7_issues_two_instructions(text, expected):
    assert cycles("cortex-m7", text) == expected


def test_a_predicted_branch_pairs_on_an_m7():
    assert cycles("cortex-m7", "subs r0, r0, #1; bne 0", taken=True) == 1


@pytest.mark.parametrize(
    ("text", "taken", "expected"),
    [
        # The examples of the measurements: subs 1, bne 2 taken or 0 not taken.
        ("subs r7, #1; bne 0", True, 3),
        ("subs r7, #1; bne 0", False, 1),
        ("subs r7, #1; add r0, r1; bne 0", True, 3),
        ("subs r7, #1; ldmia r6!, {r0, r1, r2, r3}; bne 0", True, 6),
        ("ldr r0, [r1]; add r2, r0", False, 3),
        ("ldr r0, [r1]; str r0, [r2]", False, 2),
        ("ldrd r0, r1, [r2]", False, 2),
    ],
)
def test_an_m33_pairs_narrow_instructions_with_branches(text, taken, expected):
    assert cycles("cortex-m33", text, taken=taken, size=2) == expected
    if "bne" in text and not taken:
        assert cycles("cortex-m33", text, taken=taken, size=4) == expected + 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Two beats each; they overlap where the next instruction needs another unit.
        ("vldrw.u32 q0, [r0]; vadd.i32 q1, q2, q3; vmul.i32 q4, q5, q6; vstrw.32 q7, [r1]", 4),
        ("vldrw.u32 q0, [r0]; vldrw.u32 q1, [r1]; vadd.i32 q2, q3, q4", 4),
        ("vmlava.s8 r0, q0, q1; vmlava.s8 r2, q0, q2; vmlava.s8 r4, q0, q3", 5),
        ("vldrb.s8 q0, [r0]; vmladava.s8 r2, q1, q2; vldrb.s8 q1, [r1]", 3),
    ],
)
def test_vector_instructions_of_an_m55_overlap(text, expected):
    assert cycles("cortex-m55", text) == expected


def test_an_instruction_without_timing_is_refused():
    with raises(UnknownTimingError):
        cycles("cortex-m0", "sdiv r0, r1, r2")


def test_a_listing_gives_the_same_as_its_instructions():
    listing = """
00000100 <f>:
     100:\tb570      \t; not an instruction of this form
     100:\tpush\t{r4, r5, r6, lr}
     102:\tldr.w\tr3, [r0, #4]
     106:\tit\tlt
     108:\taddlt\tr3, #1
     10a:\tpop\t{r4, r5, r6, pc}
     10c:\t.word\t0x12345678
     110:\tbl\t100 <f>
     114:\t.word\t0x12345678
     118:\tbl\t100 <f>
"""
    found, calls = (list(instructions(listing))[k] for k in (slice(1, 6), slice(6, 8)))
    assert [one.end for one in calls] == [0x114, 0x11C]
    assert [(one.kind, one.size) for one in found] == [
        ("store-multiple", 2), ("load", 4), ("it", 2), ("alu", 2), ("load-multiple", 2),
    ]  # fmt: skip
    assert block_cycles(found, timings_of("cortex-m4"), is_taken=True) == 5 + 2 + 1 + 1 + 5 + 2
