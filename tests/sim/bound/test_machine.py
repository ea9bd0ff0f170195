"""Abstract execution of small functions whose longest path is known."""

import pytest
from elftools.elf.elffile import ELFFile

from rlx.support.process import run
from rlx_sim.bound.code import COUNT
from rlx_sim.bound.instruction import UnboundedError
from rlx_sim.bound.machine import Machine
from rlx_sim.toolchain import find
from support.messages import raises

pytestmark = [pytest.mark.qemu, pytest.mark.complete]

STACK = 0x20001000
START = 0x8000

HEAD = ".syntax unified\n.thumb\n.text\n"

BOUNDED = {
    # cmp, branch, the longer side with its branch, return
    "sides": (6, """
        cmp r0, #3; bgt 1f; adds r1, #1; adds r1, #1; b 2f
        1: nop
        2: bx lr"""),
    # 4 rounds of: cmp, IT, add, subs, branch
    "it": (22, """
        movs r2, #4
        1: cmp r0, r1; it lt; addlt r1, #1; subs r2, #1; bne 1b
        bx lr"""),
    # 10 rounds of: load, cmp, branch, nop, subs, branch
    "loop": (62, """
        movs r2, #10
        1: ldrb r3, [r0]; cmp r3, #7; beq 2f; nop
        2: subs r2, #1; bne 1b; bx lr"""),
    # a search that may end early: movs, 10 rounds of 5, return
    "search": (52, """
        movs r2, #10
        1: ldrb r3, [r0]; cmp r3, #7; beq 2f; subs r2, #1; bne 1b
        2: bx lr"""),
    # both sides leave the same count of rounds
    "equal": (11, """
        cmp r0, #0; bne 1f; movs r2, #3; b 2f
        1: movs r2, #3
        2: subs r2, #1; bne 2b; bx lr"""),
    # the first block runs into a loop with two ends; 10 rounds of: ldrb, cmp, branch, nop, strb,
    # subs, branch
    "ends": (72, """
        movs r2, #10
        1: ldrb r3, [r0]; cmp r3, #7; beq 2f; strb r3, [r2]; subs r2, #1; bne 1b; bx lr
        2: nop; strb r3, [r2]; subs r2, #1; bne 1b; bx lr"""),
    # only one side calls: push, cbz, bl, callee (5 and return), pop
    "call": (10, """
        push {r4, lr}; cbz r0, 1f; bl 3f
        1: pop {r4, pc}
        3: nop; nop; nop; nop; nop; bx lr"""),
    # two returns, the second one after a loop of 3 rounds
    "returns": (11, """
        cmp r0, #0; it eq; bxeq lr; movs r2, #3
        1: subs r2, #1; bne 1b; bx lr"""),
    # within a word, one half of which is unknown, the other is 5
    "halves": (17, """
        sub sp, #8; movs r2, #5; strh r0, [sp]; strh r2, [sp, #2]; ldrh r3, [sp, #2]
        1: subs r3, #1; bne 1b; add sp, #8; bx lr"""),
}  # fmt: skip

ENDLESS = {
    "count": "1: subs r0, #1\n bne 1b\n bx lr",
    # the sides leave different counts
    "merged": "cmp r0, #0\n ite eq\n moveq r2, #3\n movne r2, #4\n1: subs r2, #1\n bne 1b\n bx lr",
    "store": "movs r1, #0\n strb r1, [r0]\n bx lr",
    "jump": "bx r0",
    "unknown": "ldrex r1, [r0]\n bx lr",
}


def machine(tmp_path, text):
    source, target = tmp_path / "code.s", tmp_path / "code.o"
    source.write_text(HEAD + text.replace("\n", "\n ") + "\n")
    gcc = find("arm-none-eabi-gcc").command
    run([*gcc, "-mcpu=cortex-m4", "-mthumb", "-c", source, "-o", target], timeout_s=60)
    with target.open("rb") as file:
        code = ELFFile(file).get_section_by_name(".text").data()
    return Machine({START: code}, hooks={})


@pytest.mark.parametrize("name", BOUNDED)
def test_longest_path(tmp_path, name):
    expected, text = BOUNDED[name]
    found = machine(tmp_path, text)
    found.run(START, STACK)
    assert found.registers[COUNT] == expected
    assert found.varies == (name not in ("it", "halves"))


@pytest.mark.parametrize("name", ENDLESS)
def test_refused(tmp_path, name):
    with raises(UnboundedError):
        machine(tmp_path, ENDLESS[name]).run(START, STACK)
