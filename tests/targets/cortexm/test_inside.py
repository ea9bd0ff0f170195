"""Inputs and outputs in the arena: ``--io arena``."""

import re

import numpy as np
import pytest
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, planned, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS, classifier

from rlx.cli import main
from rlx.ops.q import QClamp
from rlx.support.errors import EmitError, UsageError
from rlx.support.process import run
from rlx_cortexm import CortexMOptions
from rlx_sim.firmware.host_c import WARNINGS, HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from support import ROOT, require_program
from support.messages import raises

TIMEOUT_S = 120
SIMULATORS = [HostC("gcc", "-O1", sanitize=True), pytest.param(Qemu(), marks=pytest.mark.qemu)]


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
@pytest.mark.parametrize("make_graph", KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def test_the_same_bits_as_with_arrays_of_the_caller(tmp_path, make_graph, simulator):
    graph = make_graph()
    folder = write(tmp_path / "net", emit_graph(graph, io="arena"))
    golden = golden_of(graph)
    assert compare("", simulator.simulate(folder, golden, timeout_s=TIMEOUT_S), golden) == []


USE = """\
#include <stdio.h>
#include "net.h"
static uint8_t arena[NET_ARENA_BYTES] __attribute__((aligned(NET_ARENA_ALIGN)));
int main(void)
{
  for (int k = 0; k < NET_INPUT_BYTES; k++) {
    net_input(arena)[k] = (int8_t)(k - 7);
  }
  printf("%d %d %d", (int)net_run(NULL), (int)net_run(arena + 1), (int)net_run(arena));
  for (int k = 0; k < NET_OUTPUT_BYTES; k++) {
    printf(" %d", net_output(arena)[k]);
  }
  return 0;
}
"""


def test_the_header_says_where_they_are(tmp_path):
    builder = GraphBuilder("net")
    clamped = builder.graph.apply(QClamp(low=0, high=5), builder.input(16))
    builder.graph.output(clamped)
    emission = emit_graph(builder.graph, io="arena")
    folder = write(tmp_path, emission)
    header = emission.files["include/net.h"]
    assert "#define NET_INPUT_OFFSET 0\n" in header
    assert "#define NET_OUTPUT_OFFSET 0\n" in header
    assert emission.report["arena_bytes"] == 16
    assert "net_input(arena)" in emission.files["README.md"]
    (folder / "main.c").write_text(USE)
    sources = [*sorted((folder / "src").glob("*.c")), folder / "main.c"]
    command = [require_program("gcc"), *WARNINGS, "-I", folder / "include", *sources]
    run([*command, "-o", tmp_path / "program"], timeout_s=TIMEOUT_S)
    printed = run([tmp_path / "program"], timeout_s=10).stdout.split()
    assert printed == ["-1", "-2", "0", *map(str, np.clip(np.arange(16) - 7, 0, 5))]


def test_the_arena_holds_ports_while_they_are_needed():
    outside, inside = (planned(classifier(), io=io).plan for io in ("caller", "arena"))
    ports = [*classifier().inputs, *classifier().outputs]
    needed = sum(v.type.nbytes for v in ports)
    assert outside.arena_bytes <= inside.arena_bytes < outside.arena_bytes + needed


def test_self_test_and_command_line(tmp_path, capsys):
    out = tmp_path / "net"
    digits = ROOT / "examples" / "digits" / "digits.rlx"
    arguments = ["emit", str(digits), "--target", "cortexm", "-o", str(out), "--io", "arena"]
    assert main([*arguments, "--self-test", "2", "--frames", "3"]) == 0
    text = (out / "src" / "digits_self_test.c").read_text()
    assert re.search(r"memcpy\(digits_input\(arena\), ", text)
    assert main(["verify", str(out), "--with", "host"]) == 0
    capsys.readouterr()


def test_constants_have_no_place():
    builder = GraphBuilder("net")
    builder.node(QClamp(), builder.input(4))
    builder.graph.output(builder.constant(3), names=["k"])
    with raises(EmitError):
        emit_graph(builder.graph, io="arena")
    with raises(UsageError):
        CortexMOptions(io="stack")
