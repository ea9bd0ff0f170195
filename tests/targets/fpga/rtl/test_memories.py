"""Printed memories hold the words that Amaranth's do."""

from __future__ import annotations

import random
import re

import pytest
from amaranth.hdl import Fragment, signed, unsigned
from amaranth.lib.memory import Memory
from targets.fpga.rtl.evaluation import Session, draw

from rlx_fpga.rtl.memories import declaration, signals


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
