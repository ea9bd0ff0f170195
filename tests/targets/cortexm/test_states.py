"""States in a struct of the caller: written in place or copied, from a reset on."""

from pathlib import Path

import numpy as np
import pytest
from targets.cortexm.graph_builder import emit_graph, write

from rlx.driver.reference import random_inputs, reference_outputs
from rlx.frontends.tflite.frontend import load
from rlx.ir import DType, Graph, TensorType, Value, i8
from rlx.ops.q import QConcat, QMaximum, QSlice
from rlx.support.errors import EmitError
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from support.messages import raises
from support.networks.recurrent import Lstm, Svdf, run_tflm_steps
from support.networks.streaming import run_steps, wake_word

RUNNING_TIMEOUT_S = 120


def output(graph: Graph, **values: Value) -> None:
    """Append outputs by name."""
    graph.output(*values.values(), names=list(values))


def swapped() -> Graph:
    """States that get each other's values: one has to wait in the arena."""
    graph = Graph("net")
    x = graph.input("x", i8(1, 8))
    a, b = (graph.state(n, i8(1, 8), initial=k) for n, k in (("a", -7), ("b", 100)))
    output(graph, y=graph.apply(QMaximum(), x, a), a=b, b=a)
    return graph


def delayed() -> Graph:
    """Delay of three steps, and an int32 value that is only kept."""
    graph = Graph("net")
    x = graph.input("x", i8(1, 5))
    begins = {"1": 0, "2": 3, "3": -1}
    one, two, three = (graph.state(n, i8(1, 5), initial=k) for n, k in begins.items())
    kept = graph.state("kept", TensorType((3,), DType.I32), initial=70_000)
    output(graph, y=graph.apply(QMaximum(), three, x), **{"1": x, "2": one, "3": two}, kept=kept)
    return graph


def windowed() -> Graph:
    """A window over the last rows, an output that is a next value too, and a constant one."""
    graph = Graph("net")
    x = graph.input("x", i8(1, 2, 3))
    rows = graph.state("rows", i8(1, 4, 3), initial=9)
    joined = graph.apply(QConcat(axis=1), rows, x)
    last = QSlice(start=(0, 2, 0), stop=(1, 6, 3), step=(1, 1, 1))
    after = graph.apply(last, joined)
    unused = graph.state("unused", i8(1, 2))
    constant = graph.constant(np.array([[4, 5]], np.int8))
    output(graph, y=joined, last=after, rows=after, unused=constant)
    assert unused.name == "unused"
    return graph


@pytest.mark.parametrize("make", [swapped, delayed, windowed], ids=lambda make: make.__name__)
@pytest.mark.parametrize("io", ["caller", "arena"])
def test_every_kind_of_next_value(tmp_path: Path, make: object, io: str) -> None:
    graph = make()
    golden = reference_outputs(graph, random_inputs(graph, 12))
    folder = write(tmp_path / "net", emit_graph(graph, io=io))
    simulation = HostC(optimization="-O1", sanitize=True).simulate(
        folder, golden, timeout_s=RUNNING_TIMEOUT_S
    )
    for actual, expected in zip(simulation.outputs, golden.outputs, strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("seed", range(3))
def test_wake_words_equal_tflm_for_500_steps_under_qemu(tmp_path: Path, seed: int) -> None:
    data, network = wake_word(seed)
    samples = network.samples(500)
    expected = run_steps(data, samples)
    graph = load(data).graph
    golden = reference_outputs(graph, (samples,))
    np.testing.assert_array_equal(golden.outputs[0], expected)
    folder = write(tmp_path / "net", emit_graph(graph))
    simulation = Qemu(FirmwareBuild("cortex-m4")).simulate(
        folder, golden, timeout_s=RUNNING_TIMEOUT_S
    )
    np.testing.assert_array_equal(simulation.outputs[0], expected)


@pytest.mark.parametrize("kind", [Svdf, Lstm], ids=["svdf", "lstm"])
@pytest.mark.parametrize("seed", range(6))
def test_recurrent_layers_equal_tflm_run_by_run_under_qemu(
    tmp_path: Path, kind: type[Svdf | Lstm], seed: int
) -> None:
    layer = kind.drawn(seed)
    data, samples = layer.build(seed), layer.samples(seed, 200)
    expected = run_tflm_steps(data, samples)
    golden = reference_outputs(load(data).graph, (samples,))
    np.testing.assert_array_equal(golden.outputs[0], expected)
    folder = write(tmp_path / "net", emit_graph(load(data).graph))
    for simulator in (HostC(optimization="-O1", sanitize=True), Qemu(FirmwareBuild("cortex-m4"))):
        simulation = simulator.simulate(folder, golden, timeout_s=RUNNING_TIMEOUT_S)
        np.testing.assert_array_equal(simulation.outputs[0], expected)


def test_the_header_declares_a_struct_and_a_reset() -> None:
    emission = emit_graph(swapped())
    header = emission.files["include/net.h"]
    assert (
        "typedef struct {\n"
        "  int8_t a[8]; /* i8[1, 8] */\n"
        "  int8_t b[8]; /* i8[1, 8] */\n"
        "} net_state_t;\n"
    ) in header
    assert "int32_t net_reset(net_state_t *state);" in header
    assert (
        "int32_t net_run(const int8_t *input, int8_t *output, net_state_t *state, void *arena);"
        in (" ".join(header.split()))
    )
    assert emission.report["states"] == [{"name": "a", "bytes": 8}, {"name": "b", "bytes": 8}]
    source = emission.files["src/net.c"]
    assert "  memset(state->a, -7, sizeof(state->a));\n" in source
    assert "net_reset(&state);" in emission.files["README.md"]


def test_the_value_before_the_run_is_no_output() -> None:
    graph = Graph("net")
    x = graph.input("x", i8(1, 4))
    output(graph, y=graph.state("s", i8(1, 4)), s=x)
    with raises(EmitError):
        emit_graph(graph)


def test_the_self_test_runs_from_a_reset_on(tmp_path: Path) -> None:
    from rlx.driver.driver import compile as compile_for
    from rlx.ir import GraphModule
    from rlx_cortexm.options import CortexMOptions
    from rlx_cortexm.target import TARGET

    module = GraphModule.mir(windowed())
    options = CortexMOptions(self_test=5)
    compiled = compile_for(module, TARGET, options=options, frames=9)
    compiled.write(tmp_path / "net")
    simulation = HostC().simulate(tmp_path / "net", compiled.golden, timeout_s=RUNNING_TIMEOUT_S)
    np.testing.assert_array_equal(simulation.outputs[1], compiled.golden.outputs[1])
