"""Constant words beside the netlist: which memories are taken, what they are called."""

from __future__ import annotations

import re

import pytest
from amaranth import Fragment, Module, Signal
from amaranth.hdl import Instance, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.cells.constants import Constants
from rlx_fpga.cells.multiply import NetlistPlatform
from rlx_fpga.cells.rom import CyclicRom, Store
from rlx_fpga.packaging.axi import Interface
from rlx_fpga.packaging.netlist import sources_of

WORDS = [5, 0, 7, 1000]
INTERFACE = Interface("net", (), ())


class Layers(Component):
    """Layers of cyclic memories, their words xored."""

    def __init__(self, layers):
        self.layers = layers
        super().__init__({"step": In(1), "o": Out(64)})

    def elaborate(self, platform):
        m = Module()
        found = 0
        for name, roms in self.layers.items():
            m.submodules[name] = layer = Module()
            for part, rom in roms.items():
                layer.submodules[part] = rom
                m.d.comb += rom.step.eq(self.step)
                found = found ^ rom.data
        m.d.comb += self.o.eq(found)
        return m


def two_layers(**options):
    return Layers({
        "n0_conv2d": {"weights_0": CyclicRom(WORDS, 10), "weights_1": CyclicRom(WORDS, 10),
                      "bias": CyclicRom([1, 2], 5, **options)},
        "n1_dense": {"weights_0": CyclicRom(WORDS, 10)},
    })  # fmt: skip


def emitted(component, **options):
    """Return the SystemVerilog of all modules, and the memory files."""
    sources = sources_of(component, INTERFACE, **options)
    return "".join([*sources.modules.values(), sources.core]), sources.memories


def test_files_are_called_by_layer_and_part():
    text, files = emitted(two_layers(), memory_files=True)
    # Equal words of a layer are stored once; other layers have their own.
    assert files == {
        "mem/net_n0_conv2d_weights_0.mem": "005\n000\n007\n3e8\n",
        "mem/net_n0_conv2d_bias.mem": "01\n02\n",
        "mem/net_n1_dense_weights_0.mem": "005\n000\n007\n3e8\n",
    }
    # Memories that are equal but for the layer are one module; the core says which layer's.
    assert text.count('.File(Files), .Part("_weights_0.mem")') == 1
    assert text.count("net_rom #(") == 2
    for layer in ("n0_conv2d", "n1_dense"):
        assert f'#(.Files("mem/net_{layer}")) u_{layer} (' in text
    assert "words[" not in text


def test_banks_are_called_by_their_memory():
    words = [place % 1000 for place in range(2500)]
    design = Layers(
        {"n0_dense": {f"weights_{k}": CyclicRom(words[k:], 40, Store.BANKS) for k in (0, 1)}}
    )
    _, files = emitted(design, memory_files=True)
    assert [*files] == [
        f"mem/net_n0_dense_weights_{k}_bank_{bank}.mem" for k in (0, 1) for bank in (0, 1)
    ]
    assert "".join(files.values()).count("\n") == 2500 + 2499


def test_words_of_lookup_tables_stay_in_the_netlist():
    text, files = emitted(two_layers(store=Store.TABLES), memory_files=True)
    assert "mem/net_n0_conv2d_bias.mem" not in files
    assert re.search(
        r"^module net_n0_conv2d_bias \(\n.*?  \(\* rom_style = \"logic\" \*\)\n"
        r"  reg \[4:0\] words \[0:1\];\n  initial begin\n"
        r"    words\[0\] = 5'h01;\n    words\[1\] = 5'h02;\n  end\n",
        text, re.MULTILINE | re.DOTALL,
    )  # fmt: skip


def test_a_module_for_each_memory_without_files():
    text, files = emitted(two_layers())
    assert files == {}
    assert re.findall(r"^module (net_n\d_\w+?_(?:weights_\d|bias)) ", text, re.MULTILINE) == [
        "net_n0_conv2d_weights_0", "net_n0_conv2d_bias", "net_n1_dense_weights_0",
    ]  # fmt: skip
    assert len(re.findall(r"^    words\[\d+\] = ", text, re.MULTILINE)) == 4 + 2 + 4


def test_names_that_other_modules_have_are_not_taken():
    design = Layers({name: {name: CyclicRom(WORDS, 10)} for name in ("rom", "core")})
    _, files = emitted(design, memory_files=True)
    assert list(files) == ["mem/net_rom_2.mem", "mem/net_core_2.mem"]


@pytest.mark.parametrize("kind", ["written", "two readers", "no clock", "one word", "no bits"])
def test_other_memories_stay(kind):
    width, depth = 0 if kind == "no bits" else 8, 1 if kind == "one word" else 4
    memory = Memory(shape=width, depth=depth, init=[0] * depth)
    domain = "comb" if kind == "no clock" else "sync"
    for _ in range(2 if kind == "two readers" else 1):
        memory.read_port(domain=domain)
    if kind == "written":
        memory.write_port()
    assert Constants("net", in_files=True).take(memory) is None
    platform = NetlistPlatform("net", Constants("net", in_files=True))
    assert not isinstance(Fragment.get(memory, platform), Instance)


def test_negative_words_are_stored_in_their_bits():
    constants = Constants("net", in_files=True)
    m = Module()
    m.submodules.table = memory = Memory(shape=signed(6), depth=3, init=[-1, -32, 31])
    port = memory.read_port()
    m.d.comb += Signal(signed(6), name="read").eq(port.data)
    constants.name(Fragment.get(m, NetlistPlatform("net", constants)))
    assert constants.files == {"mem/net_table.mem": "3f\n20\n1f\n"}
