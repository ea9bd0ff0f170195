"""Printed memories hold the words that Amaranth's do."""

from __future__ import annotations

import random
import re

import pytest
from amaranth import ClockDomain
from amaranth.hdl import Fragment, signed, unsigned
from amaranth.lib.memory import Memory
from targets.fpga.rtl.evaluation import Session, draw

from rlx_fpga.rtl.expressions import Expressions
from rlx_fpga.rtl.memories import declaration, ports, signals


def instance(memory, *, writes=0):
    memory.read_port(domain="comb")
    for _ in range(writes):
        memory.write_port()
    return Fragment.get(memory, None)


@pytest.mark.parametrize("shape", [unsigned(1), signed(3), unsigned(4), signed(8), unsigned(33)])
@pytest.mark.parametrize("kind", ["random", "few", "equal", "short"])
def test_words_are_read_back(shape, kind):
    pick = random.Random(f"{shape} {kind}")
    words = [draw(pick, shape) for _ in range(6)]
    if kind != "random":
        words = {"few": [*words[:1] * 5, 0], "equal": words[:1] * 6, "short": words[:2]}[kind]
    array, *block = declaration(instance(Memory(shape=shape, depth=6, init=words)), "words")
    session = Session({})
    session.run(array)
    assert (block[0], block[-1]) == ("initial begin", "end")
    session.run("\n".join(["begin", *block[1:]]))
    for place in range(6):
        word = words[place] if place < len(words) else 0
        assert session.bits(f"words[{place}]") == (word & (1 << shape.width) - 1, shape.width)
    digits = re.findall(rf"{shape.width}'h(\w+);", "\n".join(block))
    assert {len(one) for one in digits} == {-(-shape.width // 4)}


def test_attributes_are_printed_and_ports_are_numbered_where_there_are_several():
    memory = Memory(shape=4, depth=4, init=[], attrs={"ram_style": "block", "keep": 1})
    found = instance(memory, writes=2)
    assert declaration(found, "words")[0] == (
        '(* ram_style = "block", keep = 1 *) logic [3:0] words [0:3];'
    )
    names = [name for name, _ in signals(found)]
    assert {"write0_address", "write1_data", "write1_enable", "read_address"} <= set(names)
    assert len(set(names)) == len(names)


def clocked(words, state):
    """Return the word that a port reads, and all after an edge; the second port to write wins."""
    after = list(words)
    for part in range(3):
        if state["write0_enable"] >> part & 1:
            mask, at = 3 << 2 * part, state["write0_address"]
            after[at] = after[at] & ~mask | state["write0_data"] & mask
    if not state["write1_enable"]:
        return words[state["read_address"]], after
    after[state["write1_address"]] = state["write1_data"]
    hit = state["write1_address"] == state["read_address"]
    return state["write1_data"] if hit else words[state["read_address"]], after


def test_parts_of_a_word_are_written_and_what_is_written_is_forwarded():
    pick = random.Random(3)
    memory = Memory(shape=6, depth=4, init=[])
    memory.write_port(granularity=2)
    memory.read_port(transparent_for=(memory.write_port(),))
    found = Fragment.get(memory, None)
    found.add_domains(ClockDomain("sync"))
    inputs = dict(signals(found))
    session = Session({**inputs, "clk": found.domains["sync"].clk})
    session.run(declaration(found, "words")[0])
    expressions = Expressions(session.names.of, session.names.free)
    text = "\n".join(ports(found, "words", expressions, session.names.of))
    blocks = re.findall(r"^always\w* @\(posedge clk\) (begin\n.*?^end)$", text, re.M | re.S)
    assert len(blocks) == 3
    words = [0] * 4
    for place in range(4):
        session.run(f"words[{place}] = 0;")
    for _ in range(40):
        state = {name: draw(pick, unsigned(len(signal))) for name, signal in inputs.items()}
        for name, number in state.items():
            session.run(f"{name} = {number};")
        # The port that reads sees the words before the edge.
        for block in (blocks[2], blocks[0], blocks[1]):
            session.run(block.replace(" <= ", " = "))
        seen, words = clocked(words, state)
        assert not state["read_enable"] or session.bits("read_data")[0] == seen
        assert [session.bits(f"words[{place}]")[0] for place in range(4)] == words
