"""Files of a folder: modules in order and each in use, comments of layers, rows of the README."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from rlx.ir import Graph, i8
from rlx.ops.q import QClamp
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures.choice import build
from rlx_fpga.cells.concat import Concat
from rlx_fpga.devices import device
from rlx_fpga.packaging.axi import Interface, StreamPort
from rlx_fpga.packaging.netlist import (
    counted_parts,
    design_files,
    layer_comments,
    readme,
    sources_of,
)
from support.networks.dense_designs import DESIGNS, dense


def port(name, member, direction, lanes=3):
    return StreamPort(
        name=name, member=member, direction=direction, shape=(1, 12), bits=8, lanes=lanes
    )


def interface():
    return Interface(
        "net",
        (port("s0_axis", "i0", "in"), port("s1_axis", "i1", "in")),
        (port("m_axis", "o", "out"),),
    )


REPORT = {
    "interval": 48, "device": "ecp5-25k", "fps": 2.5, "clock_mhz": 75.0,
    "columns": ["name", "op", "cycles"],
    **{key: 1 for name in ("lut", "ff", "dsp", "bram") for key in (name, f"{name}_percent")},
    "layers": [{"name": "block/Add", "instance": "block_Add", "op": "q.add", "cycles": 48},
               {"name": "n1_reshape", "op": "q.reshape", "cycles": 0}],
}  # fmt: skip


@cache
def sources(name, *, memory_files):
    core = build(dense(), FpgaOptions(**DESIGNS[name]))
    return sources_of(core.component, Interface("net", (), ()), memory_files=memory_files)


@pytest.mark.parametrize("memory_files", [False, True])
@pytest.mark.parametrize("name", ["files", "netlist", "engine"])
def test_modules_come_before_those_that_use_them_and_none_is_unused(name, memory_files):
    found = sources(name, memory_files=memory_files)
    texts = [*found.modules.values(), found.core]
    defined = [re.findall(r"^module (\w+)", text, re.M) for text in texts]
    assert all(len(names) == 1 for names in defined), "a file has one module"
    names = [name for (name,) in defined]
    assert list(found.modules) == [f"rtl/cells/{name}.sv" for name in names[:-1]]
    used = [set(re.findall(r"^ *(net_\w+)(?: #\(| u_)", text, re.M)) for text in texts]
    for place, needed in enumerate(used):
        # The module that reads memory files is one for all.
        assert needed - {"net_rom"} <= set(names[:place])
    assert set().union(*used, {"net_core"}) >= set(names)


@pytest.mark.parametrize("name", ["files", "netlist", "engine"])
def test_memory_files_are_those_that_modules_read(name):
    found = sources(name, memory_files=True)
    stems = re.findall(r'"(mem/\w+)"', "".join([*found.modules.values(), found.core]))
    assert found.memories
    for path in found.memories:
        assert any(path.startswith(stem) for stem in stems), path
    assert not sources(name, memory_files=False).memories


def test_parts_are_the_instances_of_the_core_without_clock_and_reset():
    found = sources("files", memory_files=True)
    assert [part.name for part in found.parts] == re.findall(r"\bu_(\w+) \(", found.core)
    for part in found.parts:
        names = [signal.name for signal in part.signals]
        assert not {"clk", "rst"} & set(names)
        ways = {signal.name: signal.direction for signal in part.signals}
        assert ways.get("in_valid", "in") == ways.get("out_ready", "in") == "in"
        assert ways.get("in_ready", "out") == ways.get("out_valid", "out") == "out"


def test_cells_are_counted_for_layers_with_an_instance_or_for_what_they_share():
    assert counted_parts(REPORT, {"parts": ["queue", "block_Add"]}) == ["block_Add"]
    assert counted_parts(REPORT, {"parts": ["array", "queue"]}) == ["array", "queue"]
    assert counted_parts(REPORT, {}) == []


def test_comments_of_a_layer_say_types_pace_and_node():
    graph = Graph("g")
    x = graph.input("x", i8(1, 4, 2))
    first = graph.apply(QClamp(low=-50), x)
    graph.output(graph.apply(QClamp(high=9), first))
    layers = [
        {"name": "a", "pe": 2, "simd": 9, "cycles": 12345},
        {"name": "b", "pe": None, "cycles": 7},
    ]
    nodes = [node for node in graph.nodes if isinstance(node.op, QClamp)]
    comments = layer_comments(nodes, {"layers": layers, "sources": {"a": "conv\n*/1"}})
    head = "(q.clamp): int8[1,4,2] -> int8[1,4,2]"
    assert comments["a"][:2] == [f"a {head}", "pe 2 x simd 9, 12,345 cycles per frame"]
    assert comments["b"] == [f"b {head}", "7 cycles per frame"]
    assert comments["a"][2] == "node of the model: conv__/1"
    assert layer_comments((), {"layers": layers}) == {}


@pytest.mark.parametrize(
    ("interval", "idle"), [(1, 100_000), (25_000, 100_000), (25_001, 100_004), (10**6, 4 * 10**6)]
)
def test_a_bench_waits_for_four_frames_at_least(interval, idle):
    files = design_files(
        Concat(3, (2, 2)), interface(), {**REPORT, "interval": interval}, device("ecp5-25k")
    )
    for path in ("tb/net_tb.sv", "tb/test_net.py"):
        assert re.search(rf"\b{idle}\b", files[path].replace("_", "")), path


def test_rows_of_the_readme_have_the_node_in_the_third_column():
    origins = ["net.onnx node 3 Add 'block`/Add'", "net.onnx node 4 Relu"]
    added = {**REPORT["layers"][0], "origins": origins}
    report = {**REPORT, "layers": [added, {"name": "n1_reshape", "op": "q.reshape"}]}
    text = readme(replace(interface(), modules=()), report, device("ecp5-25k"))
    rows = [
        line.split("|")[1:-1] for line in text.splitlines() if line.startswith(("| n", "| block"))
    ]
    cells = [[cell.strip() for cell in row] for row in rows]
    assert ["name", "op", "node of the model", "cycles"] in cells
    added, reshaped = (
        next(row for row in cells if row[0] == n) for n in ("block/Add", "n1_reshape")
    )
    assert added[1] == "q.add"
    assert added[2] == "`net.onnx node 3 Add 'block_/Add'`"
    assert added[3] == "48"
    assert reshaped == ["n1_reshape", "q.reshape", "", ""]
