"""Every tactic and template computes the reference's values, on every compiler."""

import re
from pathlib import Path

import pytest
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

import rlx_cortexm
from rlx.ops.q import Q_OPS
from rlx.ops.real import RealCast, RealDequantize, RealQuantize
from rlx_cortexm.core import CORES
from rlx_cortexm.kernels.rules import candidates
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare

HOSTS = [HostC("gcc", "-O2"), HostC("clang", "-O1")]

LEVELS = ("-O0", "-Og", "-Os", "-O2", "-O3")

HOST_MATRIX = [HostC(compiler, level) for compiler in ("gcc", "clang") for level in LEVELS]
HOST_MATRIX += [HostC("gcc", "-O1", sanitize=True), HostC("gcc", "-O2", offset=1)]

FIRMWARE = [
    *(Qemu(FirmwareBuild(optimization=level)) for level in LEVELS),
    *(Qemu(FirmwareBuild(cpu)) for cpu in ("cortex-m3", "cortex-m7", "cortex-m33", "cortex-m55")),
    *(Unicorn(FirmwareBuild(compiler="zig", optimization=level)) for level in ("-Os", "-O2")),
    # With -O3 GCC computes on the vector unit.
    Qemu(FirmwareBuild("cortex-m55", optimization="-O3")),
    Unicorn(FirmwareBuild("cortex-m0")),
]


def label(simulator):
    build = getattr(simulator, "build", None)
    if isinstance(build, FirmwareBuild):
        return f"{simulator.name}-{build.cpu}-{build.compiler}{build.optimization}"
    return f"{simulator.name}-{simulator.compiler}{simulator.optimization}"


@pytest.fixture(scope="module", params=KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def emitted(request, tmp_path_factory):
    """Folder and golden vectors of each graph."""
    graph = request.param()
    folder = write(tmp_path_factory.mktemp("kernels"), emit_graph(graph))
    return folder, golden_of(graph)


def check(emitted, simulator):
    folder, golden = emitted
    simulation = simulator.simulate(folder, golden, timeout_s=120)
    assert compare(simulator.name, simulation, golden) == []


@pytest.mark.slow
@pytest.mark.parametrize("simulator", HOSTS, ids=label)
def test_host_c_equals_the_reference(emitted, simulator):
    check(emitted, simulator)


@pytest.mark.qemu
@pytest.mark.parametrize("simulator", HOST_MATRIX, ids=label)
def test_every_host_compiler_at_every_level(emitted, simulator):
    check(emitted, simulator)


@pytest.mark.qemu
@pytest.mark.parametrize("simulator", FIRMWARE, ids=label)
def test_firmware_equals_the_reference(emitted, simulator):
    check(emitted, simulator)


def layers_of(node):
    """Return every layer that a node could become, on any core."""
    return [way.lower() for core in CORES.values() for way in candidates(node, core)]


def test_the_kernel_graphs_use_every_template_and_every_op():
    kernels, ops = set(), set()
    for make_graph in KERNEL_GRAPHS:
        graph = make_graph()
        for node in graph.op_nodes:
            ops.add(type(node.op))
            for layer in layers_of(node):
                if layer.kernel is not None:
                    kernels.add(layer.kernel.template)
    folder = Path(rlx_cortexm.__file__).parent / "kernels"
    files = {p.relative_to(folder).as_posix() for p in folder.glob("*/*.c.j2")}
    own = {name for name in files if not name.endswith("/support.c.j2")}
    assert own == {f"{kernel}.c.j2" for kernel in kernels}
    assert ops == {*Q_OPS, RealCast, RealDequantize, RealQuantize}


def test_the_readme_explains_every_kernel_that_its_table_names():
    for make_graph in KERNEL_GRAPHS:
        emission = emit_graph(make_graph())
        legend = emission.files["README.md"].partition("Kernels, as the table names them")[2]
        explained = {word for line in legend.splitlines() for word in line.split("`")[1::2]}
        first = {re.split("[ ,]", text)[0] for text in explained}
        for row in emission.report["layers"]:
            assert row["kernel"] == "nothing" or re.split("[ ,]", row["kernel"])[0] in first


DEGENERATE = re.compile(r"= 0; \w+ < 1; \w+\+\+|(?<!/)\* 1\b|multiple of 1\b|\+= 0;|\w \+ 0\b(?!x)")


@pytest.mark.parametrize("make_graph", KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def test_no_loop_of_one_round_and_no_factor_of_one(make_graph):
    code = emit_graph(make_graph()).files["src/net.c"]
    assert [line for line in code.splitlines() if DEGENERATE.search(line)] == []
