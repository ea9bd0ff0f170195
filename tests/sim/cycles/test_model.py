"""Cycles of traces: executions of blocks, wrong predictions, waits for the flash."""

import pytest

from rlx_cortexm.parts import Flash
from rlx_sim.cycles.instruction import instructions
from rlx_sim.cycles.model import CycleModel, UnknownCodeError
from rlx_sim.cycles.qemu_trace import read_log
from rlx_sim.cycles.timings import Bound, timings_of
from rlx_sim.cycles.trace import Interval, Trace
from support.messages import raises

# A loop of ten rounds between a block before and a block after.
_CODE = """
 0:\tmovs\tr0, #10
 2:\tnop
 4:\tldr.w\tr1, [r2, #4]
 8:\tsubs\tr0, #1
 a:\tbne.n\t4 <loop>
 c:\tbx\tlr
 e:\tnop
"""
_TRACE = Trace(
    blocks=((0, 4), (4, 8), (12, 2)),
    intervals=(
        Interval(
            pairs=((-1, 0, 1), (0, 1, 1), (1, 1, 9), (1, 2, 1)),
            line_changes={4: 10, 8: 10, 16: 6, 32: 1},
            lines={4: 10, 8: 5, 16: 3, 32: 1},
        ),
    ),
)


NO_WAITS = Flash()


def model(core, flash=NO_WAITS, bound=Bound.EXPECTED):
    code = {one.address: one for one in instructions(_CODE)}
    return CycleModel(code, timings_of(core), flash, bound)


def cycles(core, flash=NO_WAITS, bound=Bound.EXPECTED):
    return model(core, flash, bound).cycles(_TRACE, _TRACE.intervals[0])


def test_each_execution_of_a_block_counts():
    # movs, nop; ldr 2, subs 1, bne 1 in each round and 2 more in the nine that go back.
    assert cycles("cortex-m4") == 2 + 10 * 4 + 9 * 2
    assert cycles("cortex-m4", bound=Bound.MIN) == 2 + 10 * 4 + 9
    assert cycles("cortex-m0plus") == 2 + 10 * 4 + 9
    assert cycles("cortex-m0") == 2 + 10 * 4 + 9 * 2


def test_the_last_round_of_a_loop_is_predicted_wrongly():
    # movs with nop; ldr with subs, then bne.
    assert cycles("cortex-m7") == 1 + 10 * 2 + 8
    assert cycles("cortex-m7", bound=Bound.MIN) == 1 + 10 * 2 + 6


def test_lines_of_code_are_waited_for():
    # Lines of eight bytes: the loop lies in 0 to 7 and 8 to 15. The first line is read once for the
    # first block; each round but the first jumps back to it; each round reads the second one.
    waits = 3
    expected = cycles("cortex-m4") + waits * (1 + 9 + 10)
    constants = 10 * waits
    assert cycles("cortex-m4", Flash(waits, 8)) == expected + constants
    # Four cycles for eight bytes hide three waits of a line that follows, not those of a jump.
    assert cycles("cortex-m4", Flash(waits, 8, prefetch=True)) == (
        cycles("cortex-m4") + waits * 9 + constants
    )


def test_caches_read_each_line_once():
    waits = 3
    cached = Flash(waits, 8, code_cache_bytes=64, data_cache_bytes=40)
    assert cycles("cortex-m4", cached) == cycles("cortex-m4") + waits * (2 + 5)
    # Five lines of constants do not fit into 32 bytes.
    small = Flash(waits, 8, code_cache_bytes=64, data_cache_bytes=32)
    assert cycles("cortex-m4", small) == cycles("cortex-m4") + waits * (2 + 10)
    # A cache of one line keeps the one that is waited for longest: the second.
    one = Flash(waits, 8, code_cache_bytes=8, data_cache_bytes=40)
    assert cycles("cortex-m4", one) == cycles("cortex-m4") + waits * (1 + 10 + 5)


def test_no_wait_states_need_no_lines():
    assert cycles("cortex-m4", Flash(0, 16, code_cache_bytes=64)) == cycles("cortex-m4")


def test_unknown_code_is_refused():
    trace = Trace(blocks=((64, 2), (66, 2)), intervals=())
    with raises(UnknownCodeError):
        model("cortex-m4").cycles(trace, Interval(((0, 1, 1),), {}, {}))


@pytest.mark.parametrize(
    ("flash", "text"),
    [
        (Flash(), "memory without wait states"),
        (Flash(1, 8), "flash with 1 wait state for 64 bits"),
        (
            Flash(4, 8, prefetch=True, code_cache_bytes=1024, data_cache_bytes=256),
            "flash with 4 wait states for 64 bits, prefetch, cache of code, cache of constants",
        ),
    ],
)
def test_memory_in_words(flash, text):
    assert str(flash) == text


def test_traces_are_read_as_they_are_written(tmp_path):
    file = tmp_path / "trace.json"
    file.write_text(
        '{"blocks": [[0, 4], [4, 8]], "intervals": [{"pairs": [[-1, 0, 1], [0, 1, 3]],'
        ' "line_changes": {"4": 2}, "lines": {"4": 1}}]}',
        encoding="utf-8",
    )
    assert Trace.read(file) == Trace(
        ((0, 4), (4, 8)), (Interval(((-1, 0, 1), (0, 1, 3)), {4: 2}, {4: 1}),)
    )


def test_traces_are_read_from_the_log_of_qemu():
    log = """\
----------------
IN: main
0x00000100:  4b17       ldr      r3, [pc, #0x5c]
0x00000102:  f44f 22e0  mov.w    r2, #0x70000

Trace 0: 0x7f0000000100 [0080044a/00000100/00000150/ff020200] main
----------------
IN: platform_counter
0x00000200:  6818       ldr      r0, [r3]
0x00000202:  4770       bx       lr

Trace 0: 0x7f0000000200 [0080044a/00000200/00000150/ff020200] platform_counter
Trace 0: 0x7f0000000100 [0080044a/00000100/00000150/ff020200] main
Trace 0: 0x7f0000000200 [0080044a/00000200/00000150/ff020200] platform_counter
"""
    assert read_log(log.splitlines(), 0x200) == Trace(
        blocks=((0x100, 6), (0x200, 4)),
        intervals=(
            Interval(((-1, 0, 1), (0, 1, 1)), {}, {}),
            Interval(((1, 0, 1), (0, 1, 1)), {}, {}),
        ),
    )
