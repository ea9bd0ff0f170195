"""Mapping of memories as Yosys's ``memory_libmap`` decides, on both sides of every change."""

import json
import subprocess
from itertools import pairwise
from random import Random

import pytest

from rlx_fpga.cost.memories import Ram, mapping_of
from rlx_fpga.packaging.synthesis import find_yosys

COMMANDS = {
    "ecp5": "synth_ecp5 -run begin:map_ffs",
    "ice40": "synth_ice40 -run begin:map_ffs",
    "xc7": "synth_xilinx -noiopad -run begin:map_ffram",
}
CELLS = {
    "block": ("DP16KD", "PDPW16KD", "SB_RAM40_4K", "RAMB"),
    "lut": ("TRELLIS_DPR16X4", "RAM32", "RAM64"),
}
WIDTHS = (1, 2, 4, 8, 9, 16, 18, 36, 72)
KINDS = ("written", "collision-free", "read-only")


def ram(kind, width, depth):
    read_only = kind == "read-only"
    return Ram(
        width, depth, read_only, synchronous=True, collision_free=kind == "collision-free",
        distinct=width if read_only else 0,
    )  # fmt: skip


def changes(kind, width, family):
    """Return the depths on both sides of every change of the predicted mapping."""
    kinds = [(depth, mapping_of(ram(kind, width, depth), family).kind) for depth in range(2, 2500)]
    return [
        depth
        for (before, one), (after, other) in pairwise(kinds)
        if one != other
        for depth in (before, after)
    ]


def verilog(name, kind, width, depth):
    """Return a module with one memory that has a read port and, unless read-only, a write port."""
    address, word = (depth - 1).bit_length() - 1, width - 1
    attribute = "(* no_rw_check *)" if kind == "collision-free" else ""
    if kind == "read-only":
        contents = f'initial $readmemh("{name}.mem", mem);'
    else:
        contents = "always @(posedge clk) if (we) mem[wa] <= d;"
    return f"""
        module {name}(
          input clk, we, input [{address}:0] wa, ra, input [{word}:0] d, output reg [{word}:0] q
        );
          {attribute} reg [{word}:0] mem [0:{depth - 1}];
          {contents}
          always @(posedge clk) q <= mem[ra];
        endmodule
    """


def mapped(folder, family, memories):
    """Return the mapping of each memory by Yosys."""
    pick, text = Random(family), ""
    for index, (kind, width, depth) in enumerate(memories):
        name = f"m{index}"
        text += verilog(name, kind, width, depth)
        words = (f"{pick.getrandbits(width):x}\n" for _ in range(depth))
        (folder / f"{name}.mem").write_text("".join(words))
    (folder / "memories.v").write_text(text)
    script = "read_verilog memories.v\n"
    for index in range(len(memories)):
        script += f"design -save all\nhierarchy -top m{index}\n{COMMANDS[family]} -top m{index}\n"
        script += f"tee -q -o m{index}.json stat -json\ndesign -load all\n"
    (folder / "run.ys").write_text(script)
    subprocess.run([*find_yosys().command, "-q", "-s", "run.ys"], cwd=folder, check=True)
    return [_kind(json.loads((folder / f"m{n}.json").read_text())) for n in range(len(memories))]


def _kind(report):
    found = report["design"]["num_cells_by_type"]
    return next(
        (kind for kind, names in CELLS.items() if any(cell.startswith(names) for cell in found)),
        "logic",
    )


@pytest.mark.synth
@pytest.mark.parametrize("family", COMMANDS)
def test_memories_change_their_kind_where_they_do_for_yosys(family, tmp_path):
    memories = [
        (kind, width, depth)
        for kind in KINDS
        for width in WIDTHS
        for depth in changes(kind, width, family)
    ]
    memories = Random(family).sample(memories, 14)
    wanted = [mapping_of(ram(*one), family).kind for one in memories]
    assert {*wanted} >= {"block", "logic"}
    found = mapped(tmp_path, family, memories)
    assert dict(zip(memories, found, strict=True)) == dict(zip(memories, wanted, strict=True))
