"""States in memories of the dataflow core, from a reset on."""

import json
from pathlib import Path

import numpy as np
import pytest

from rlx.driver.driver import compile as compile_for
from rlx.driver.reference import reference_outputs
from rlx.frontends.tflite.frontend import load
from rlx.ir import Graph, GraphModule, i8
from rlx.ops.q import QClamp, QConcat, QMaximum, QSlice
from rlx.support.errors import EmitError
from rlx_fpga.architectures.dataflow.design import design_of
from rlx_fpga.options import FpgaOptions
from rlx_fpga.target import TARGET
from rlx_sim.hardware.fpga import VerilatorHarness
from rlx_sim.hardware.stream import Stalls
from support.messages import raises
from support.networks.recurrent import Svdf, run_tflm_steps
from support.networks.streaming import run_steps, wake_word

SIMULATION_S = 300


def step() -> Graph:
    """A window over the last rows, whose states have other lanes than their readers."""
    graph = Graph("net")
    x = graph.input("x", i8(1, 2, 3))
    rows = graph.state("rows", i8(1, 4, 3), initial=9)
    before = graph.state("before", i8(1, 2, 3), initial=-8)
    joined = graph.apply(QConcat(axis=1), rows, graph.apply(QMaximum(), x, before))
    after = graph.apply(QSlice(start=(0, 2, 0), stop=(1, 6, 3), step=(1, 1, 1)), joined)
    graph.output(joined, after, x, names=["y", "rows", "before"])
    return graph


def test_frames_follow_one_another_with_stalls(tmp_path: Path) -> None:
    compiled = compile_for(GraphModule.mir(step()), TARGET, frames=12)
    compiled.write(tmp_path / "net")
    harness = VerilatorHarness(Stalls(seed=5, inputs=60, outputs=60))
    simulation = harness.simulate(tmp_path / "net", compiled.golden, timeout_s=SIMULATION_S)
    np.testing.assert_array_equal(simulation.outputs[0], compiled.golden.outputs[0])


def test_a_wake_word_equals_tflm_for_500_steps(tmp_path: Path) -> None:
    data, network = wake_word(1)
    samples = network.samples(500)
    module = GraphModule.mir(load(data).graph)
    options = FpgaOptions(optimize="size", io="uint8")
    vectors = {"features": samples}
    compiled = compile_for(module, TARGET, options=options, vectors=vectors)
    np.testing.assert_array_equal(compiled.golden.outputs[0], run_steps(data, samples))
    compiled.write(tmp_path / "net")
    harness = VerilatorHarness(Stalls(seed=1))
    simulation = harness.simulate(tmp_path / "net", compiled.golden, timeout_s=SIMULATION_S)
    np.testing.assert_array_equal(simulation.outputs[0], compiled.golden.outputs[0])


def test_an_svdf_layer_with_a_state_of_int8_equals_tflm_for_200_steps(tmp_path: Path) -> None:
    layer = Svdf("int8", units=3, rank=2, memory=4)
    data, samples = layer.build(3), layer.samples(3, 200)
    module = GraphModule.mir(load(data).graph)
    compiled = compile_for(module, TARGET, vectors={"x": samples})
    np.testing.assert_array_equal(compiled.golden.outputs[0], run_tflm_steps(data, samples))
    compiled.write(tmp_path / "net")
    harness = VerilatorHarness(Stalls(seed=1))
    simulation = harness.simulate(tmp_path / "net", compiled.golden, timeout_s=SIMULATION_S)
    np.testing.assert_array_equal(simulation.outputs[0], compiled.golden.outputs[0])


def test_the_loop_through_a_state_bounds_the_interval() -> None:
    graph = Graph("net")
    x, state = graph.input("x", i8(1, 1, 2)), graph.state("s", i8(1, 1, 2))
    following = graph.apply(QMaximum(), x, state)
    graph.output(following, following, names=["y", "s"])
    pipeline = design_of(graph, FpgaOptions()).pipeline
    assert pipeline.loops["s"] > 2
    assert pipeline.interval == pipeline.loops["s"]
    assert design_of(step(), FpgaOptions()).pipeline.loops.keys() == {"rows"}


def test_a_chain_of_layers_with_states_takes_its_interval(tmp_path: Path) -> None:
    # A layer that joins a state with new rows reads the state first: the rows are queued meanwhile.
    data, network = wake_word(1)
    vectors = {"features": network.samples(40)}
    options = FpgaOptions(io="uint8")
    module = GraphModule.mir(load(data).graph)
    compiled = compile_for(module, TARGET, options=options, vectors=vectors)
    compiled.write(tmp_path / "net")
    simulation = VerilatorHarness().simulate(
        tmp_path / "net", compiled.golden, timeout_s=SIMULATION_S
    )
    np.testing.assert_array_equal(simulation.outputs[0], compiled.golden.outputs[0])
    report = json.loads((tmp_path / "net" / "report.json").read_text())
    assert simulation.interval == report["interval"] == 12


@pytest.mark.parametrize("architecture", ["engine", "parallel"])
def test_other_architectures_keep_no_states(architecture: str) -> None:
    with raises(EmitError):
        compile_for(
            GraphModule.mir(step()),
            TARGET,
            options=FpgaOptions(architecture=architecture),
            frames=1,
        )


def test_an_output_of_states_alone_is_refused() -> None:
    graph = Graph("net")
    x, state = graph.input("x", i8(1, 4)), graph.state("s", i8(1, 4))
    graph.output(graph.apply(QClamp(low=0), state), x, names=["y", "s"])
    with raises(EmitError):
        design_of(graph, FpgaOptions())


def test_the_reference_is_one_sequence() -> None:
    graph = step()
    x = np.arange(12, dtype=np.int8).reshape(2, 1, 2, 3)
    (y,) = reference_outputs(graph, (x,)).outputs
    assert y[0, 0, :4].tolist() == [[9, 9, 9]] * 4
    assert y[1, 0, 2:4].tolist() == x[0, 0].tolist()
