"""Stack bounds from call graphs and from machine code."""

import pytest

from rlx.support.errors import SimulationError
from rlx_sim.firmware.disassembly import Disassembly, FunctionCode, read_functions
from rlx_sim.firmware.stack import StackBound, stack_bound
from support.messages import raises

GRAPH = """graph: { title: "net.c"
node: { title: "net.c:leaf" label: "leaf\\nnet.c:3:13\\n16 bytes (static)\\n0 dynamic objects" }
node: { title: "net.c:other" label: "other\\nnet.c:5:13\\n24 bytes (static)\\n0 dynamic objects" }
node: { title: "net_run" label: "net_run\\nnet.c:9:9\\n40 bytes (static)\\n0 dynamic objects" }
node: { title: "memcpy" label: "memcpy\\n<built-in>" shape : ellipse }
edge: { sourcename: "net_run" targetname: "net.c:leaf" label: "net.c:11:3" }
edge: { sourcename: "net_run" targetname: "net.c:other" label: "net.c:12:3" }
edge: { sourcename: "net.c:other" targetname: "memcpy" label: "net.c:6:3" }
}
"""


def bound(tmp_path, *graphs, disassembly=None, others=()):
    paths = []
    for index, graph in enumerate(graphs):
        paths.append(tmp_path / f"{index}.ci")
        paths[-1].write_text(graph)
    return stack_bound(paths, disassembly, others)


def test_bound_is_the_deepest_chain(tmp_path):
    assert bound(tmp_path, GRAPH) == StackBound(64, ("net_run", "other", "memcpy"), ("memcpy",))


def test_bound_joins_files(tmp_path):
    caller = (
        'node: { title: "top" label: "top\\na.c:1:1\\n8 bytes (static)" }\n'
        'edge: { sourcename: "top" targetname: "net_run" label: "a.c:2:2" }\n'
        'node: { title: "net_run" label: "net_run\\n<external>" }\n'
    )
    found = bound(tmp_path, caller, GRAPH)
    assert found == StackBound(72, ("top", "net_run", "other", "memcpy"), ("memcpy",))


def test_no_call_graph_gives_no_bound(tmp_path):
    assert bound(tmp_path) is None


def test_recursion_is_refused(tmp_path):
    circle = GRAPH.replace('targetname: "memcpy"', 'targetname: "net_run"')
    with pytest.raises(
        SimulationError, match=r"^emitted C: (net_run|other) calls itself, directly or not$"
    ):
        bound(tmp_path, circle)


def test_frame_without_a_fixed_size_is_refused(tmp_path):
    with raises(SimulationError):
        bound(tmp_path, GRAPH.replace("16 bytes (static)", "16 bytes (dynamic)"))
    assert bound(tmp_path, GRAPH.replace("16 bytes (static)", "16 bytes (dynamic,bounded)"))


MACHINE_CODE = """
firmware.elf:     file format elf32-littlearm


Disassembly of section .text:

00000100 <memcpy>:
 100:\tpush\t{r4, r5, lr}
 102:\tvpush\t{d8-d9}
 106:\tbl\t200 <divide>
 10a:\tvpop\t{d8-d9}
 10e:\tldmia.w\tsp!, {r4, r5, pc}
 112:\tnop
 114:\t.word\t0x20000000

00000200 <divide>:
 200:\tstmdb\tsp!, {r4, r5, r6, r7, r8, lr}
 204:\tsub.w\tsp, sp, #4
 208:\tstrd\tip, lr, [sp, #-16]!
 20c:\tcbz\tr1, 220 <divide+0x20>
 20e:\tadd\tsp, #20

00000220 <divide_by_zero>:
 220:\tsub\tsp, #8
 222:\tb.n\t222 <divide_by_zero+0x2>

00000300 <alloca>:
 300:\tsub.w\tsp, sp, r3
 304:\tbx\tlr
"""


def test_frames_and_calls_of_machine_code():
    assert read_functions(MACHINE_CODE) == {
        0x100: FunctionCode(12 + 16, frozenset([0x200])),
        # The end of divide runs into what follows.
        0x200: FunctionCode(24 + 4 + 16, frozenset([0x220])),
        0x220: FunctionCode(8, frozenset()),
        0x300: FunctionCode(None, frozenset()),
    }


def test_bound_counts_library_functions(tmp_path):
    addresses = {"memcpy": 0x100, "divide": 0x200, "divide_by_zero": 0x220}
    machine = Disassembly(read_functions(MACHINE_CODE), addresses)
    path = ("net_run", "other", "memcpy", "divide", "divide_by_zero")
    assert bound(tmp_path, GRAPH, disassembly=machine) == StackBound(64 + 28 + 44 + 8, path, ())


def test_a_frame_set_from_a_register_stays_unknown(tmp_path):
    machine = Disassembly(read_functions(MACHINE_CODE), {"memcpy": 0x300})
    found = bound(tmp_path, GRAPH, disassembly=machine)
    assert (found.bytes, found.unknown) == (64, ("memcpy",))


def test_functions_of_the_rest_of_the_program_stay_out(tmp_path):
    machine = Disassembly(read_functions(MACHINE_CODE), {"memcpy": 0x100, "divide": 0x200})
    rest = tmp_path / "main.ci"
    rest.write_text('node: { title: "memcpy" label: "memcpy\\nmain.c:3:3\\n8 bytes (static)" }\n')
    found = bound(tmp_path, GRAPH, disassembly=machine, others=[rest])
    assert (found.bytes, found.unknown) == (64, ("memcpy",))
