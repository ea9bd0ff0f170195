"""Every integer op, and small networks, as hardware under Amaranth's simulator."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from targets.fpga.harness import drive, to_beats

from rlx.ir import Graph, f32, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    Q_OPS,
    QAdd,
    QAveragePool2d,
    QClamp,
    QConcat,
    QConv2d,
    QDense,
    QMean,
    QMul,
    QPad,
    QReshape,
    QTranspose,
    Window,
)
from rlx.support.errors import EmitError, UnsupportedOpError
from rlx_fpga.architectures.dataflow.lower.rules import RULES
from rlx_fpga.architectures.dataflow.pipeline import Pipeline, Queue, _with_depth
from rlx_fpga.architectures.dataflow.staged import staged_graph
from rlx_fpga.explore.folding import Folding
from rlx_fpga.explore.solver import Amount
from strategies import STRATEGIES, random_graphs
from support.messages import raises

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
        port: np.concatenate([to_beats(run[value.name], pipeline.lanes(value)) for run in runs])
        for port, value in zip(pipeline.input_names, graph.run_inputs, strict=True)
    }
    counts = {
        port: frames * value.type.size // pipeline.lanes(value)
        for port, value in zip(pipeline.output_names, pipeline.program.outputs, strict=True)
    }
    run = drive(pipeline, beats, counts, **options)
    for index, port in enumerate(pipeline.output_names):
        wanted = np.concatenate([outputs[index].reshape(-1) for outputs in expected])
        assert np.array_equal(run.outputs[port].reshape(-1), wanted)
    came = np.min(
        [first_beats(run.taken[port], len(beats[port]), frames) for port in beats], axis=0
    )
    for port, count in counts.items():
        first = first_beats(run.given[port], count, frames)
        assert np.all(first > came), "an output before any input"
    return run


def first_beats(cycles, count, frames):
    """Return the cycle of each frame's first beat, infinity where it has not come.

    Args:
        cycles: When beats came: all of them, or fewer where the last ones decide nothing.
        count: Beats of all frames.
        frames: Frames.
    """
    padded = np.concatenate([cycles, np.full(count - len(cycles), np.inf)])
    return padded[:: count // frames]


def joined(axis, *parts):
    """Return a concatenation of ``"x"``, streams, and ``"c"``, constants, and values for both."""
    graph, rng = Graph("g"), np.random.default_rng(3)
    shape = (1, 2, 3, 2)
    values = [
        graph.input(f"x{n}", i8(*shape)) if part == "x"
        else graph.constant(rng.integers(-128, 128, shape, np.int8))
        for n, part in enumerate(parts)
    ]  # fmt: skip
    graph.output(graph.apply(QConcat(axis=axis), *values))
    return graph, {v.name: rng.integers(-128, 128, shape, np.int8) for v in graph.inputs}


@pytest.mark.parametrize("parts", ["cx", "ccx", "xcx", "cxcx", "xc"])
@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_constants_in_front_wait_for_the_frame(axis, parts, stall):
    graph, inputs = joined(axis, *parts)
    program = staged_graph(graph)
    folds = {name: choices[-1] for name, choices in program.choices().items()}
    run = simulate(Pipeline(program, folds), inputs, stall_in=stall, stall_out=stall, idle=40)
    if not stall:
        beats = len(run.given["o"]) // FRAMES
        assert run.interval(beats) == beats


def test_constants_in_front_of_a_nested_concatenation_wait_too():
    graph = Graph("g")
    x = graph.input("x", i8(1, 2, 3, 2))
    constants = [graph.constant(np.full((1, 2, 3, 2), n, np.int8)) for n in (1, 2)]
    inner = graph.apply(QConcat(axis=1), constants[0], x)
    graph.output(graph.apply(QConcat(axis=1), constants[1], inner, x))
    program = staged_graph(graph)
    folds = {name: choices[-1] for name, choices in program.choices().items()}
    codes = np.arange(12, dtype=np.int8).reshape(1, 2, 3, 2)
    simulate(Pipeline(program, folds), {"x": codes}, stall_out=0.4, idle=40)


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in Q_OPS if op in RULES], ids=lambda op: op.name)
@settings(max_examples=12)
@given(data=st.data())
def test_pipeline_of_one_op_equals_its_definition(op, data):
    case = data.draw(STRATEGIES[op](size=3, batch=2))
    try:
        program = staged_graph(case.graph)
    except UnsupportedOpError:
        return
    choices = program.choices(logic=True)
    folds = {name: data.draw(st.sampled_from(all_)) for name, all_ in choices.items()}
    pipeline = Pipeline(program, folds)
    assert [layer.cell.multipliers for layer in pipeline.layers] == [
        fold.multipliers for fold in folds.values()
    ]
    stall = data.draw(st.sampled_from([0.0, 0.3]))
    simulate(pipeline, case.inputs, stall_in=stall, stall_out=stall, limit=60_000, idle=20)


@pytest.mark.sim
@settings(max_examples=25)
@given(data=st.data())
def test_pipeline_of_a_network_equals_its_definition(data):
    case = data.draw(random_graphs(size=3))
    try:
        program = staged_graph(case.graph)
    except UnsupportedOpError:
        return
    folds = {name: data.draw(st.sampled_from(all_)) for name, all_ in program.choices().items()}
    stall = data.draw(st.sampled_from([0.0, 0.3]))
    simulate(Pipeline(program, folds), case.inputs, stall_in=stall, stall_out=stall, limit=60_000)


def conv(graph, x, outputs, kernel, stride=1, padding=((0, 0), (0, 0)), name="conv", groups=1):
    """Append a convolution with random weights."""
    channels = x.type.shape[-1]
    rng = np.random.default_rng(outputs)
    kernel, stride = ((n, n) if isinstance(n, int) else n for n in (kernel, stride))
    weights = rng.integers(-127, 128, (outputs, *kernel, channels // groups), np.int8)
    bias = rng.integers(-999, 999, outputs, np.int32)
    op = QConv2d(
        window=Window(kernel, stride, padding=padding),
        groups=groups,
        x_zero_point=3,
        rescale=Rescale.of(0.002),
        zero_point=-5,
    )
    return graph.apply(op, x, graph.constant(weights), graph.constant(bias), name=name)


def dense(graph, x, outputs):
    """Append a dense layer with random weights."""
    rng = np.random.default_rng(outputs)
    weights = rng.integers(-127, 128, (outputs, x.type.size), np.int8)
    bias = rng.integers(-999, 999, outputs, np.int32)
    flat = graph.apply(QReshape(shape=(1, x.type.size)), x)
    op = QDense(x_zero_point=3, rescale=Rescale.of(0.002), zero_point=-5)
    return graph.apply(op, flat, graph.constant(weights), graph.constant(bias))


def add(graph, x, y):
    """Append a sum."""
    half = Rescale.of(0.5)
    op = QAdd(
        x_zero_point=-5,
        y_zero_point=-5,
        x_rescale=half,
        y_rescale=half,
        rescale=Rescale.of(2.0**-19),
        zero_point=1,
    )
    return graph.apply(op, x, y, name="add")


SAME = ((1, 1), (1, 1))


def residual(stride):
    """A block of two convolutions with a shortcut, which is a convolution if there is a stride."""
    graph = Graph("residual")
    x = conv(graph, graph.input("x", i8(1, 6, 6, 2)), 4, 3, padding=SAME, name="first")
    padding = ((0, 1), (0, 1)) if stride == 2 else SAME
    y = conv(graph, x, 4, 3, stride, padding, name="second")
    y = conv(graph, y, 4, 3, padding=SAME, name="third")
    short = x if stride == 1 else conv(graph, x, 4, 1, stride, name="short")
    graph.output(add(graph, y, short))
    return graph


def nested():
    """Shortcuts around shortcuts, and a concatenation that takes turns."""
    graph = Graph("nested")
    x = graph.input("x", i8(1, 5, 4, 2))
    inner = add(graph, conv(graph, x, 2, 3, padding=SAME), x)
    outer = add(graph, conv(graph, inner, 2, 3, padding=SAME), x)
    graph.output(graph.apply(QConcat(axis=1), outer, inner, name="concat"), outer)
    return graph


def squeeze():
    """Scale an image by something that needs all of it first."""
    graph = Graph("squeeze")
    x = graph.input("x", i8(1, 4, 4, 4))
    pooled = graph.apply(QAveragePool2d(window=Window((4, 4))), x, name="pool")
    gate = conv(graph, pooled, 4, 1, name="gate")
    op = QMul(x_zero_point=0, y_zero_point=0, rescale=Rescale.of(0.01), zero_point=0)
    graph.output(graph.apply(op, x, gate, name="scale"))
    return graph


GRAPHS = {
    "residual": lambda: residual(1),
    "strided": lambda: residual(2),
    "nested": nested,
    "squeeze": squeeze,
}


def x_of(graph):
    (value,) = graph.inputs
    return {"x": np.random.default_rng(1).integers(-128, 128, value.type.shape, np.int8)}


@pytest.mark.sim
@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("name", GRAPHS)
def test_branches_meet_again_without_deadlock(name, stall):
    graph = GRAPHS[name]()
    program = staged_graph(graph)
    for place in (0, 1):
        folds = {
            stage: sorted(all_, key=lambda fold: fold.cycles)[place * len(all_) // 2]
            for stage, all_ in program.choices().items()
        }
        simulate(Pipeline(program, folds), x_of(graph), 2, stall_in=stall, stall_out=stall)


@pytest.mark.sim
def test_an_input_with_a_shortcut_may_meet_another_input_twice():
    graph = Graph("pair")
    x, y = graph.input("x", i8(1, 6, 6, 2)), graph.input("y", i8(1, 6, 6, 2))
    short = add(graph, conv(graph, x, 2, 3, padding=SAME), x)
    graph.output(add(graph, short, add(graph, x, y)))
    program = staged_graph(graph)
    rng = np.random.default_rng(2)
    inputs = {name: rng.integers(-128, 128, (1, 6, 6, 2), np.int8) for name in "xy"}
    simulate(Pipeline(program, fastest(program, 40)), inputs, 2)


def fastest(program, multipliers):
    """Return the foldings with the shortest interval, or None if there are none."""
    return Folding(program.choices()).fastest(Amount(dsp=multipliers))


@pytest.mark.sim
@pytest.mark.parametrize("name", ["residual", "strided"])
@pytest.mark.parametrize("budget", [30, 60])
def test_pipeline_takes_the_cycles_it_claims(name, budget):
    graph = GRAPHS[name]()
    program = staged_graph(graph)
    pipeline = Pipeline(program, fastest(program, budget))
    run = simulate(pipeline, x_of(graph), 4)
    (output,) = program.outputs
    assert run.interval(output.type.size // pipeline.lanes(output)) == pipeline.interval


@pytest.mark.sim
@pytest.mark.parametrize(
    ("strides", "zero_point", "outputs", "behind", "beat_cycles"),
    [((1,), 0, 16, 0, 8), ((2,), -5, 12, 5, 16)],
    ids=["convolution", "strided convolution, dense"],
)
def test_a_mean_does_not_stop_the_layer_in_front(strides, zero_point, outputs, behind, beat_cycles):
    # Its sums come with the last pixel, faster than the requantizer takes them.
    graph = Graph("sequence")
    x = graph.input("x", i8(1, 1, 16, 4))
    for stride in strides:
        x = conv(graph, x, outputs, (1, 3), (1, stride), ((0, 0), (1, 1)))
    scale = Rescale.of(0.1)
    mean = QMean(axes=(1, 2), x_zero_point=zero_point, rescale=scale, zero_point=3)
    x = graph.apply(mean, x)
    graph.output(dense(graph, x, behind) if behind else x)
    program = staged_graph(graph)
    folds = fastest(program, 9)
    name, choices = next(pair for pair in program.choices().items() if pair[0].endswith("mean"))
    folds[name] = next(one for one in choices if (one.pe, one.beat_cycles) == (1, beat_cycles))
    pipeline = Pipeline(program, folds)
    run = simulate(pipeline, x_of(graph), 4)
    (output,) = program.outputs
    found = run.interval(output.type.size // pipeline.lanes(output))
    assert found == pipeline.interval == pipeline.layers[0].cycles


@pytest.mark.parametrize(
    ("lanes", "reader_lanes", "part", "depth"),
    [
        (4, 4, 2, 0),
        (4, 4, 3, 3),
        (8, 4, 4, 0),
        (8, 4, 5, 3),
        (2, 4, 1, 0),
        (1, 4, 1, 2),
        (2, 4, 3, 3),
    ],
)
def test_a_queue_is_left_out_where_the_register_holds_as_much(lanes, reader_lanes, part, depth):
    # A register holds two beats before a converter; queues are on its wider side.
    queue = Queue("q", 0, lanes, reader_lanes, 16, 8)
    assert _with_depth(queue, Fraction(part, 4)).depth == depth


@pytest.mark.sim
@pytest.mark.parametrize("between", [False, True], ids=["next to it", "behind another layer"])
def test_padding_does_not_stop_the_layer_in_front(between):
    graph = Graph("padded")
    x = graph.input("x", i8(1, 6, 6, 1))
    x = conv(graph, x, 4, 3, padding=SAME)
    x = graph.apply(QClamp(low=0), x) if between else x
    graph.output(graph.apply(QPad(before=(0, 3, 2, 0), after=(0, 4, 1, 0), value=7), x))
    program = staged_graph(graph)
    folds = {
        name: min(all_, key=lambda fold: (fold.products and fold.cycles < 300, fold.cycles))
        for name, all_ in program.choices().items()
    }
    pipeline = Pipeline(program, folds)
    assert pipeline.layers[-1].cycles < pipeline.layers[0].cycles == pipeline.interval
    run = simulate(pipeline, x_of(graph), 6)
    (output,) = program.outputs
    assert run.interval(output.type.size // pipeline.lanes(output)) == pipeline.interval


@pytest.mark.sim
def test_pauses_between_rows_cost_nothing_where_the_next_layer_is_nearly_as_slow():
    # Whole windows come in rows with pauses between them, faster than the depthwise layer takes
    # them, although a frame of them takes longer than one of that layer.
    graph = Graph("rows")
    x = graph.input("x", i8(1, 12, 96, 3))
    x = conv(graph, x, 8, 3, 2, ((0, 1), (0, 1)), name="rows")
    graph.output(conv(graph, x, 8, 3, padding=SAME, name="depthwise", groups=8))
    program = staged_graph(graph)
    wanted = {"rows": (1, 27), "depthwise": (8, 1)}
    folds = {
        name: next(fold for fold in all_ if (fold.pe, fold.simd) == wanted[name])
        for name, all_ in program.choices().items()
    }
    pipeline = Pipeline(program, folds)
    slowest, next_ = (layer.cycles for layer in pipeline.layers)
    assert next_ < slowest < next_ * 4 / 3
    run = simulate(pipeline, x_of(graph), 4)
    (output,) = program.outputs
    assert run.interval(output.type.size // pipeline.lanes(output)) == slowest


@pytest.mark.sim
@settings(max_examples=20)
@given(data=st.data())
def test_no_network_is_faster_than_its_slowest_layer(data):
    """The interval of the report is a lower bound; queues make nearly every network reach it."""
    case = data.draw(random_graphs(size=3))
    budget = data.draw(st.sampled_from([20, 40, 80, 200]))
    try:
        program = staged_graph(case.graph)
    except UnsupportedOpError:
        return
    folds = fastest(program, budget)
    if folds is None:
        return
    pipeline = Pipeline(program, folds)
    run = simulate(pipeline, case.inputs, 5)
    (output,) = program.outputs
    assert run.interval(output.type.size // pipeline.lanes(output)) >= pipeline.interval


@pytest.mark.sim
def test_pipeline_recovers_from_a_reset_in_mid_frame():
    graph = residual(2)
    program = staged_graph(graph)
    pipeline = Pipeline(program, fastest(program, 60))
    simulate(pipeline, x_of(graph), 2, stall_in=0.2, stall_out=0.2, reset_after=333)


def test_program_names_its_stages_like_the_layers():
    names = [stage.name for stage in staged_graph(residual(2)).stages]
    assert names == ["first", "second", "third", "short_2", "add"]


def test_program_leaves_renamings_out():
    graph = Graph("renamed")
    x = graph.input("x", i8(1, 2, 2, 1))
    y = graph.apply(QReshape(shape=(1, 4)), x)
    graph.output(graph.apply(QTranspose(axes=(1, 0)), y))
    pipeline = Pipeline(staged_graph(graph), {})
    assert pipeline.program.stages == ()
    simulate(pipeline, x_of(graph))


def test_program_refuses_parameters():
    graph = Graph("bad")
    graph.param("w", i8(1))
    with raises(EmitError):
        staged_graph(graph)


def test_program_refuses_beats_that_are_too_wide():
    graph = Graph("wide")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(1, 1, 1, 10_000))))
    with raises(EmitError):
        staged_graph(graph)


def test_program_refuses_inputs_that_are_no_codes():
    graph = Graph("bad")
    graph.input("x", f32(1, 2))
    with raises(EmitError):
        staged_graph(graph)


@pytest.mark.slow
@pytest.mark.parametrize("swapped", [False, True])
def test_a_row_may_meet_its_own_column(swapped):
    """Both come from one stream: the column waits in a queue until the row is there whole."""
    graph = Graph("outer")
    x = graph.input("x", i8(13, 1))
    row = graph.apply(QReshape(shape=(13,)), x)
    rescale = Rescale.of(0.5)
    add = QAdd(
        x_zero_point=3, y_zero_point=-4, x_rescale=rescale, y_rescale=rescale,
        rescale=Rescale.of(2**-19), zero_point=1,
    )  # fmt: skip
    graph.output(graph.apply(add, *((x, row) if swapped else (row, x))))
    codes = np.random.default_rng(0).integers(-128, 128, (13, 1), np.int8)
    program = staged_graph(graph)
    for place in (0, -1):
        folds = {name: choices[place] for name, choices in program.choices().items()}
        simulate(Pipeline(program, folds), {"x": codes})


def test_program_refuses_constant_outputs():
    graph = Graph("bad")
    graph.output(graph.constant(np.zeros(2, np.int8), name="zeros"))
    with raises(EmitError):
        staged_graph(graph)
