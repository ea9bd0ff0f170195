"""Interface of an emitted network to firmware: symbols, macros, sections, stack, self-test."""

import re

import pytest
from elftools.elf.elffile import ELFFile
from targets.cortexm.graph_builder import emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.driver import driver
from rlx.ir import Graph, GraphModule, Stage, i8
from rlx.ops.q import QClamp, QMaximum, QTable
from rlx.support.errors import SimulationError, UsageError
from rlx.support.files.golden import Golden
from rlx.support.process import run
from rlx.support.text.tables import Figures
from rlx.targets import target
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.emitter import STACK_BYTES
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import WARNINGS, HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from support import require_program
from support.messages import raises

FRAMES = 4
TIMEOUT_S = 120


def network(name="net", names=("x", "a", "b")):
    graph = Graph(name)
    table = QTable(table=tuple(-c if c > -128 else 127 for c in range(-128, 128)))
    a = graph.apply(table, graph.input(names[0], i8(2, 8)), name=names[1])
    graph.output(graph.apply(QClamp(low=0), a, name=names[2]), names=names[:1])
    return graph


def emitted(place, graph, golden=None, **options):
    """Return the folder of ``graph`` with its golden vectors, as ``rlx emit`` writes it."""
    driver.emit(
        GraphModule(graph, Stage.MIR), target.load("cortexm"), place,
        options=CortexMOptions(prefix="net", **options), golden=golden or golden_of(graph, FRAMES),
    )  # fmt: skip
    return place


def objects(folder, place, *flags):
    """Compile the network's own files for the host and return the objects."""
    found = []
    for source in sorted((folder / "src").glob("*.c")):
        found.append(place / f"{source.stem}.o")
        command = [require_program("gcc"), *WARNINGS, "-O1", *flags, "-I", str(folder / "include")]
        run([*command, "-c", str(source), "-o", str(found[-1])], timeout_s=TIMEOUT_S)
    return found


def symbols(path):
    """Return name, kind and binding of each symbol that an object defines or wants."""
    with path.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return sorted(
            (s.name, s["st_info"]["type"], s["st_info"]["bind"], s["st_shndx"] == "SHN_UNDEF")
            for s in table.iter_symbols()
        )


def sections(paths):
    """Return the names of the sections that hold something."""
    found = set()
    for path in paths:
        with path.open("rb") as file:
            found |= {s.name for s in ELFFile(file).iter_sections() if s["sh_size"]}
    return found


HOSTILE = [
    ("main", ("memcpy", "int", "return")),
    ("*/ int evil(void) { return 0; } /*", ("\n#define net_run evil\n", "??/", "\\")),
    ("net", ("net_run", "arena", "INT32_MAX")),
    ("\u202etxet", ("%s%n", '"); system("x', "x" * 5000)),
]


def _no_table(symbol):
    name, *rest = symbol
    return re.sub(r"_entries_\w+", "_entries", name), *rest


@pytest.mark.parametrize(("name", "names"), HOSTILE, ids=range(len(HOSTILE)))
def test_names_of_the_model_reach_no_symbol(tmp_path, name, names):
    found = []
    for place, graph in (("benign", network()), ("hostile", network(name, names))):
        folder = write(tmp_path / place, emit_graph(graph))
        found.append([symbol for path in objects(folder, tmp_path) for symbol in symbols(path)])
    benign, hostile = found
    # Tables are called after their layers; else the symbols are the same.
    assert [rest for _, *rest in sorted(benign, key=_no_table)] == [
        rest for _, *rest in sorted(hostile, key=_no_table)
    ]
    visible = {name for name, _, bind, wanted in hostile if bind == "STB_GLOBAL" and not wanted}
    assert all(re.fullmatch(r"net_(run|entries_[a-z0-9_]+)", name) for name in visible), visible


@pytest.mark.slow
@pytest.mark.parametrize("make_graph", KERNEL_GRAPHS, ids=lambda make_graph: make_graph.__name__)
def test_every_kernel_wants_the_c_library_alone_and_writes_no_global(tmp_path, make_graph):
    built = objects(write(tmp_path / "net", emit_graph(make_graph())), tmp_path)
    assert not sections(built) & {".data", ".bss"}
    shared = [(name, undefined) for path in built for name, _, bind, undefined in symbols(path)
              if bind == "STB_GLOBAL"]  # fmt: skip
    foreign = {name for name, _ in shared if not name.startswith("net_")}
    assert foreign <= {"memcpy", "memset", "_GLOBAL_OFFSET_TABLE_"}
    assert all(undefined for name, undefined in shared if name in foreign)


def test_sections_are_placed_by_macros(tmp_path):
    folder = write(tmp_path / "net", emit_graph(network(), static_arena=True))
    placed = objects(
        folder, tmp_path,
        '-DNET_WEIGHTS_SECTION=__attribute__((section(".far")))',
        '-DNET_CODE_SECTION=__attribute__((section(".fast")))',
        '-DNET_ARENA_SECTION=__attribute__((section(".bss.arena")))',
    )  # fmt: skip
    assert {".far", ".fast", ".bss.arena"} <= sections(placed)
    assert not {".far", ".fast", ".bss.arena"} & sections(objects(folder, tmp_path))


def test_settings_come_from_a_header(tmp_path):
    folder = write(tmp_path / "net", emit_graph(network()))
    (tmp_path / "mine.h").write_text(
        '#define NET_CODE_SECTION __attribute__((section(".fast")))\n'
        "#define NET_LAYER_HOOK(index, name) extern_hook(index, name)\n"
        "void extern_hook(int index, const char *name);\n"
    )
    found = objects(folder, tmp_path, '-DNET_CONFIG="mine.h"', "-I", str(tmp_path))
    assert ".fast" in sections(found)
    assert "extern_hook" in {name for path in found for name, *_ in symbols(path)}


def test_arena_limit_is_checked_by_the_compiler(tmp_path):
    folder = write(tmp_path / "net", emit_graph(KERNEL_GRAPHS[0]()))
    header = (folder / "include" / "net.h").read_text()
    need = int(re.search(r"^#define NET_ARENA_BYTES (\d+)$", header, re.M)[1])
    objects(folder, tmp_path, f"-DNET_ARENA_LIMIT={need}")
    with pytest.raises(SimulationError, match="net needs more arena than NET_ARENA_LIMIT"):
        objects(folder, tmp_path, f"-DNET_ARENA_LIMIT={need - 1}")


def test_header_gives_version_hash_and_bytes(tmp_path):
    emission = emit_graph(KERNEL_GRAPHS[0]())
    macros = dict(re.findall(r"^#define (NET_\w+) (\S.*)$", emission.files["include/net.h"], re.M))
    assert re.fullmatch(r'"\d+\.\d+\.\d+"', macros["NET_RLX_VERSION"])
    assert re.fullmatch(r'"[0-9a-f]{64}"', macros["NET_MODEL_HASH"])
    assert macros["NET_MODEL_ID"] == f"UINT32_C(0x{macros['NET_MODEL_HASH'][1:9]})"
    assert int(macros["NET_CONSTANT_BYTES"]) == emission.report["constant_bytes"]
    assert int(macros["NET_STACK_BYTES"]) == STACK_BYTES


@pytest.mark.qemu
@pytest.mark.parametrize(
    ("cpu", "level"), [("cortex-m4", "-O0"), ("cortex-m4", "-O2"), ("cortex-m0", "-O3")]
)
def test_stack_of_every_kernel_is_within_the_macro(tmp_path, cpu, level):
    for index, make_graph in enumerate(KERNEL_GRAPHS):
        folder = write(tmp_path / str(index), emit_graph(make_graph()))
        firmware = FirmwareBuild(cpu, optimization=level).build(folder, tmp_path / f"build{index}")
        assert firmware.stack.unknown == ()
        assert firmware.stack.bytes <= STACK_BYTES


@pytest.mark.qemu
@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
def test_no_run_takes_more_stack_than_the_bound(tmp_path, level):
    for index, make_graph in enumerate(KERNEL_GRAPHS):
        graph = make_graph()
        folder = write(tmp_path / str(index), emit_graph(graph))
        simulator = Qemu(FirmwareBuild(optimization=level))
        firmware = simulator.build.build(folder, tmp_path / f"build{index}")
        run = simulator.run(firmware, golden_of(graph), tmp_path, timeout_s=120)
        assert 0 < run.stack_bytes <= firmware.stack.bytes


SIMULATORS = [HostC(), HostC(sanitize=True), pytest.param(Qemu(), marks=pytest.mark.qemu)]


@pytest.mark.slow
@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_self_test_passes(tmp_path, simulator):
    graph = KERNEL_GRAPHS[2]()
    golden = golden_of(graph, FRAMES)
    folder = emitted(tmp_path / "net", graph, golden, self_test=2)
    text = (folder / "src" / "net_self_test.c").read_text()
    assert "#define NET_FRAMES 2\n" in text
    assert "net_self_test.c" in (folder / "CMakeLists.txt").read_text()
    assert compare("", simulator.simulate(folder, golden, timeout_s=TIMEOUT_S), golden) == []


def test_self_test_reports_the_frame_that_differs(tmp_path):
    golden = golden_of(network(), FRAMES)
    wrong = golden.outputs[0].copy()
    wrong[1, 0, 3] ^= 1
    folder = emitted(tmp_path / "net", network(), Golden(golden.inputs, (wrong,)), self_test=3)
    (folder / "main.c").write_text(
        '#include "net.h"\n#include <stdio.h>\n'
        "static uint8_t arena[NET_ARENA_BYTES + 1] __attribute__((aligned(4)));\n"
        'int main(void) { printf("%d %d\\n", (int)net_self_test(arena),\n'
        "                        (int)net_self_test(arena + 1)); return 0; }\n"
    )
    sources = [*sorted((folder / "src").glob("*.c")), folder / "main.c"]
    command = [require_program("gcc"), *WARNINGS, "-I", folder / "include", *sources]
    run([*command, "-o", tmp_path / "program"], timeout_s=TIMEOUT_S)
    assert run([tmp_path / "program"], timeout_s=10).stdout == "2 -2\n"


@pytest.mark.qemu
def test_self_test_is_not_counted(tmp_path):
    graph = network()
    sizes = []
    for frames in (0, 3):
        folder = emitted(tmp_path / str(frames), graph, self_test=frames)
        sizes.append(FirmwareBuild().build(folder, tmp_path / f"built{frames}").sizes)
    assert sizes[0] == sizes[1]


def test_self_test_is_left_out_unless_it_is_wanted(tmp_path):
    folder = emitted(tmp_path / "net", network())
    assert not list(folder.rglob("*self_test*"))
    assert "self_test" not in (folder / "include" / "net.h").read_text()
    with raises(UsageError):
        CortexMOptions(self_test=-1)


def test_states_are_in_the_readme_and_the_report():
    graph = Graph("net")
    x, state = graph.input("x", i8(1, 4)), graph.state("memory", i8(1, 4))
    following = graph.apply(QMaximum(), x, state)
    graph.output(following, names=["memory"])
    graph.output(graph.apply(QClamp(low=0), following), names=["y"])
    for io in ("caller", "arena"):
        emission = emit_graph(graph, io=io)
        assert emission.report["states"] == [{"name": "memory", "bytes": 4}]
        assert (
            " * The network keeps states from run to run, in a net_state_t of yours:"
            " see net_reset.\n"
        ) in emission.files["include/net.h"]
        assert "earlier runs in `state`: `memory`." in emission.files["README.md"]
        (figures,) = (part for part in TARGET.view(emission.report, CortexMOptions()) if
                      isinstance(part, Figures))  # fmt: skip
        (states,) = (one for one in figures.figures if one.label == "states")
        assert (states.value, states.note) == (4, "RAM in a struct of yours: memory")
    assert "states" not in emit_graph(network()).report
