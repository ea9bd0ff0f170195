"""Layers in stripes of rows, where a small arena is wanted."""

import pytest
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, planned, write
from targets.cortexm.kernel_graphs import RELU

from rlx.ir import Graph, i8
from rlx.ops.q import QConcat, QMaxPool2d, QReshape, QSlice, Window
from rlx.support.errors import DoesNotFitError
from rlx_cortexm import TARGET, CortexMOptions
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare

TIMEOUT_S = 120


def tower():
    """Return a graph with an image that becomes large in the middle."""
    builder = GraphBuilder("tower")
    a = builder.layer(builder.input(1, 32, 16, 4), 16, (3, 3), **RELU)
    b = builder.layer(a, 16, (3, 3), groups=16, **RELU)
    c = builder.layer(b, 24, (1, 1), **RELU)
    builder.node(QMaxPool2d(window=Window((2, 2), (2, 2))), c)
    return builder.graph


def stripes(module):
    return [n for n in module.graph.op_nodes if isinstance(n.op, QConcat)]


def estimate(graph, **options):
    chosen = CortexMOptions(**options)
    return TARGET.estimate(planned(graph, **options), chosen)


@pytest.mark.slow
@pytest.mark.parametrize("io", ["caller", "arena"])
def test_the_arena_is_smaller_and_weights_are_stored_once(io):
    before, after = (estimate(tower(), optimize=o, io=io) for o in ("balanced", "ram"))
    assert before["arena_bytes"] > 32 * 16 * (16 + 24)
    assert after["arena_bytes"] < 0.7 * before["arena_bytes"]
    assert after["constant_bytes"] < 1.5 * before["constant_bytes"]
    assert not stripes(planned(tower(), io=io))
    # Neither the rows that are read nor those that are joined are copied.
    free = {row["op"] for row in after["layers"] if row["kernel"] == "nothing"}
    assert "q.concat" in free
    assert io == "arena" or "q.slice" in free


def test_a_graph_of_views_alone_needs_no_stripes():
    graph = Graph("views")
    graph.output(graph.apply(QReshape(shape=(2, 4)), graph.input("x", i8(1, 8))))
    assert TARGET.estimate(planned(graph, optimize="ram"), CortexMOptions(optimize="ram"))


def test_a_limit_is_met_with_the_fewest_instructions():
    smallest = estimate(tower(), optimize="ram")
    usual = estimate(tower())
    middle = (smallest["arena_bytes"] + usual["arena_bytes"]) // 2
    found = estimate(tower(), ram=middle)
    assert found["arena_bytes"] <= middle
    assert found["instructions"] <= smallest["instructions"]


def test_what_no_stripes_make_fit_is_refused():
    with pytest.raises(DoesNotFitError) as caught:
        estimate(tower(), ram=1024)
    wanted = int(str(caught.value).rpartition("ram=")[2])
    assert estimate(tower(), ram=wanted)["arena_bytes"] <= wanted


SIMULATORS = [HostC("gcc", "-O1", sanitize=True), pytest.param(Qemu(), marks=pytest.mark.qemu)]


@pytest.mark.slow
@pytest.mark.parametrize("io", ["caller", "arena"])
@pytest.mark.parametrize("simulator", SIMULATORS, ids=lambda s: s.name)
def test_the_bits_are_the_same(tmp_path, simulator, io):
    graph = tower()
    emission = emit_graph(graph, optimize="ram", io=io)
    assert any(row["op"] == "q.concat" for row in emission.report["layers"])
    golden = golden_of(graph)
    folder = write(tmp_path, emission)
    assert compare("", simulator.simulate(folder, golden, timeout_s=TIMEOUT_S), golden) == []


def test_slices_of_inputs_and_joins_in_outputs_cost_nothing(tmp_path):
    builder = GraphBuilder("parts")
    x = builder.input(1, 4, 4, 4)
    rows = [
        builder.graph.apply(QSlice(start=(0, i, 0, 0), stop=(1, i + 2, 4, 4), step=(1, 1, 1, 1)), x)
        for i in range(3)
    ]
    pool = QMaxPool2d(window=Window((2, 1)))
    builder.node(QConcat(axis=1), *(builder.graph.apply(pool, r) for r in rows))
    emission = emit_graph(builder.graph)
    assert [r["op"] for r in emission.report["layers"] if r["instructions"]] == ["q.max_pool2d"] * 3
    assert emission.report["arena_bytes"] == 4
    golden = golden_of(builder.graph)
    folder = write(tmp_path, emission)
    simulation = HostC("gcc", "-O1", sanitize=True).simulate(folder, golden, timeout_s=TIMEOUT_S)
    assert compare("", simulation, golden) == []
