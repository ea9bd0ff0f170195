"""Every integer op, and small networks, as hardware under Amaranth's simulator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import STRATEGIES, random_graphs
from targets.fpga.harness import drive, to_beats

from rlx.errors import UnsupportedOpError
from rlx.ir.evaluate import evaluate
from rlx.ops.q import Q_OPS, QPad
from rlx_fpga.pipeline import Pipeline, program_of

FRAMES = 3


def simulate(pipeline, inputs, frames=FRAMES, **options):
    """Run frames of other inputs after that of the case; return outputs and what was expected."""
    graph = pipeline.program.graph
    rng = np.random.default_rng(7)
    runs = [inputs] + [
        {n: rng.integers(-128, 128, x.shape, np.int8) for n, x in inputs.items()}
        for _ in range(frames - 1)
    ]
    expected = [evaluate(graph, run) for run in runs]
    beats = {
        port: np.concatenate([to_beats(run[value.name], lanes) for run in runs])
        for port, value, lanes in zip(
            pipeline.input_names, graph.inputs, pipeline.input_lanes, strict=True
        )
    }
    counts = {
        port: frames * value.type.size // pipeline.lanes(value)
        for port, value in zip(pipeline.output_names, pipeline.program.outputs, strict=True)
    }
    run = drive(pipeline, beats, counts, **options)
    for index, port in enumerate(pipeline.output_names):
        wanted = np.concatenate([outputs[index].reshape(-1) for outputs in expected])
        assert np.array_equal(run.outputs[port].reshape(-1), wanted)
    return run


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
@settings(max_examples=12)
@given(data=st.data())
def test_pipeline_of_one_op_equals_its_definition(op, data):
    case = data.draw(STRATEGIES[op](size=3, batch=2))
    try:
        program = program_of(case.graph)
    except UnsupportedOpError:
        return
    folds = {name: data.draw(st.sampled_from(all_)) for name, all_ in program.choices().items()}
    pipeline = Pipeline(program, folds)
    stall = data.draw(st.sampled_from([0.0, 0.3]))
    # A padding begins a frame before its first code comes in.
    idle = 0 if op is QPad else 20
    simulate(pipeline, case.inputs, stall_in=stall, stall_out=stall, limit=60_000, idle=idle)


@pytest.mark.sim
@settings(max_examples=40)
@given(data=st.data())
def test_pipeline_of_a_network_equals_its_definition(data):
    case = data.draw(random_graphs(size=3))
    try:
        program = program_of(case.graph)
    except UnsupportedOpError:
        return
    folds = {name: data.draw(st.sampled_from(all_)) for name, all_ in program.choices().items()}
    stall = data.draw(st.sampled_from([0.0, 0.3]))
    simulate(Pipeline(program, folds), case.inputs, stall_in=stall, stall_out=stall, limit=60_000)
