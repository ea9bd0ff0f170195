"""Stack bounds from call graphs; object sizes are tested with the firmware that they belong to."""

import pytest

from rlx.errors import SimulationError
from rlx_sim.elf import StackBound, stack_bound

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


def bound(tmp_path, *graphs):
    paths = []
    for index, graph in enumerate(graphs):
        paths.append(tmp_path / f"{index}.ci")
        paths[-1].write_text(graph)
    return stack_bound(paths)


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
    with pytest.raises(SimulationError, match=r"^emitted C: the stack of leaf has no fixed size$"):
        bound(tmp_path, GRAPH.replace("16 bytes (static)", "16 bytes (dynamic)"))
    assert bound(tmp_path, GRAPH.replace("16 bytes (static)", "16 bytes (dynamic,bounded)"))
