"""Names that emitted C defines: each once, whatever a network puts together."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from campaign.compile import HOST, MORE
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS, depthwise

from rlx.support.process import run
from rlx_sim.firmware.firmware import CPUS
from rlx_sim.firmware.host_c import WARNINGS
from support import ROOT, require_program

TEMPLATES = (
    ROOT / "templates" / "cortexm",
    ROOT / "targets" / "cortexm" / "rlx_cortexm" / "kernels",
)
DEFINITION = re.compile(
    r"^(?:\{\{ macro \}\}_(?:INLINE|KERNEL)|static)\b[^;(]*?[ *]((?:\w|\{\{ \w+ \}\})+)\(",
    re.MULTILINE,
)
LOCAL = re.compile(r"^(?:NET_(?:INLINE|KERNEL)|static)\b[^;(]*?[ *]net_(\w+)\(", re.MULTILINE)
ROLES = "bias|channels|entries|exponentials|factors|slopes|weights"
SHARED = re.compile(r"\bnet(_\w+)")


def defined(text: str) -> set[str]:
    """Return the functions that a template defines, parameters as they are written.

    Names that are a parameter altogether are left out: no two of their values are equal.
    """
    return set(DEFINITION.findall(text)) - {"{{ name }}"}


def test_no_function_is_defined_by_two_templates() -> None:
    counts = Counter(
        name
        for folder in TEMPLATES
        for path in folder.rglob("*.c.j2")
        if path.parent.name != "firmware"
        for name in defined(path.read_text())
    )
    # The search must find what it is for.
    assert {"fill_bytes", "fill_words", "unpack_planes4", "dot4_{{ i }}"} <= set(counts)
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m55"])
def test_no_prefix_makes_a_shared_name_a_local_one(cpu):
    """A file-local name that ends like a shared one would be that one with its start as prefix."""
    local, shared = set(), set()
    for make_graph in KERNEL_GRAPHS:
        files = emit_graph(make_graph(), cpu=cpu, self_test=0, package=()).files
        text = "".join(str(files[n]) for n in files if n.startswith(("src/", "include/")))
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
        code = "".join(str(files[n]) for n in files if n.endswith("src/net.c"))
        own = set(LOCAL.findall(code))
        local |= {numbered(name) for name in own}
        shared |= {numbered(name) for name in SHARED.findall(text) if name[1:] not in own}
    assert {"conv2d_#", "depthwise_#", "requantize_folded"} <= local
    # Functions, too, must not be one with a table.
    assert {f"_{name}" for name in local} & shared == set()
    assert {"_run", "_channel"} <= shared
    assert any(name.startswith("_weights_") for name in shared)
    # A table is called after its role and a layer, which may have any name.
    assert [name for name in local if re.search(rf"_(?:{ROLES})_[a-z]", name)] == []
    assert [name for name in local if name.endswith(tuple(shared))] == []
    assert [name for name in local if name.endswith(tuple(f"_{other}" for other in local))] == []


def numbered(name: str) -> str:
    """Return a name with # for each number."""
    return re.sub(r"\d+\b", "#", name)


def mixed() -> GraphBuilder:
    """A network with depthwise layers on planes and convolutions by vectors, both padded."""
    builder = GraphBuilder("mixed")
    builder.conv((1, 6, 7, 8), 8, (3, 3), groups=8)
    builder.conv((1, 6, 7, 8), 16, (3, 3))
    return builder


def apart() -> GraphBuilder:
    """Depthwise layers of which no tap reads some words of inputs, or words far behind."""
    builder = GraphBuilder("apart")
    for kernel, stride in (((1, 1), (1, 3)), ((1, 1), (3, 3)), ((3, 1), (1, 5)), ((1, 2), (2, 7))):
        builder.conv((1, 9, 23, 4), 4, kernel, groups=4, stride=stride, padding=((0, 0), (0, 0)))
    # The last line of a window is more than 4,095 bytes behind the first.
    builder.conv((1, 40, 121, 4), 4, (3, 1), groups=4, dilation=(18, 1))
    return builder


def edges() -> GraphBuilder:
    """Depthwise layers with windows inside the image and windows that stick out of it."""
    builder = GraphBuilder("edges")
    builder.conv((1, 2, 9, 11), 11, (1, 2), groups=11, stride=(2, 2), zero_point=-14)
    builder.conv((1, 2, 9, 11), 11, (1, 2), groups=11)
    builder.conv((1, 5, 9, 11), 11, (2, 2), groups=11, stride=(2, 2))
    return builder


@pytest.mark.slow
@pytest.mark.parametrize("cpu", [HOST, "cortex-m3", "cortex-m4", "cortex-m55"])
@pytest.mark.parametrize("network", [mixed, apart, edges, None])
def test_any_mix_of_kernels_compiles(network, cpu, tmp_path):
    graph = depthwise() if network is None else network().graph
    usual = "depthwise" if network is edges else "planes along"
    turn = iter(("planes", "mve") if network is mixed else (usual,) * 99)

    def choose(candidates):
        return named(next(turn))(candidates)

    with chosen_by(choose) as chosen:
        core = "cortex-m3" if cpu == HOST else cpu
        emission = emit_graph(graph, cpu=core, self_test=0, package=())
    assert any(c.name.startswith(("planes", "depthwise")) for c in chosen)
    folder = write(tmp_path, emission)
    machine = () if cpu == HOST else (f"-mcpu={cpu}", *CPUS[cpu].gcc, "-mthumb")
    compiler = require_program("gcc" if cpu == HOST else "arm-none-eabi-gcc")
    sources = sorted((folder / "src").glob("*.c"))
    command = [
        compiler,
        *machine,
        *WARNINGS,
        *MORE,
        "-Wunused-macros",
        "-O2",
        "-c",
        "-I",
        folder / "include",
    ]
    done = run([*command, *sources], cwd=tmp_path, timeout_s=120, check=False)
    assert (done.stdout, done.stderr) == ("", "")
