"""When results come follows from when operands come and what layers need of them."""

import numpy as np
import pytest
from targets.fpga.architectures.dataflow.test_pipeline import SAME, conv, simulate

from rlx.ir import Graph, i8
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense, QMaxPool2d, Window
from rlx_fpga.architectures.dataflow.latency import (
    EVEN,
    Demand,
    StageTiming,
    arrival_curves,
    at_once,
    by_pixel,
    fill,
)
from rlx_fpga.architectures.dataflow.pipeline import Pipeline
from rlx_fpga.architectures.dataflow.staged import staged_graph

# A window of two rows over an image of four: three rows of results.
WINDOW = by_pixel([2, 3, 4], 4, 1)


def last(*timings, inputs=100):
    return arrival_curves(timings, {-1: inputs})[len(timings) - 1].end


def test_what_gives_as_it_takes_is_late_by_its_registers_only():
    assert last(StageTiming((-1,), EVEN, 80, 7)) == 107


def test_what_gives_as_it_takes_but_slower_sets_the_time():
    assert last(StageTiming((-1,), EVEN, 300, 7)) == 307


def test_what_needs_everything_begins_at_the_end():
    assert last(StageTiming((-1,), at_once(), 60, 1)) == 161
    assert last(StageTiming((-1,), at_once(started=0.9), 60, 1)) == 107
    # Two images: the second one is awaited while the first is worked on.
    assert last(StageTiming((-1,), at_once().repeated(2), 60, 1)) == 131


@pytest.mark.parametrize(("cycles", "end"), [(30, 110), (90, 140), (300, 350)])
def test_a_window_waits_for_rows_or_rows_wait_for_it(cycles, end):
    assert last(StageTiming((-1,), WINDOW, cycles, 0)) == end


def test_of_several_operands_the_latest_counts():
    short, long = StageTiming((-1,), EVEN, 100, 5), StageTiming((-1,), at_once(), 50, 5)
    both = StageTiming((0, 1), EVEN, 10, 1)
    assert last(short, long, both) == 156


def test_queues_delay_the_operand_behind_them_only():
    both = StageTiming((-1, -2), EVEN, 10, 1, (3, 50))
    assert arrival_curves([both], {-1: 100, -2: 20})[0].end == 104
    assert arrival_curves([both], {-1: 20, -2: 100})[0].end == 151
    assert both.only({-1}) == StageTiming((-1,), EVEN, 10, 1, (3,))
    assert StageTiming((-1, -2), EVEN, 10, 1).only({-2}) == StageTiming((-2,), EVEN, 10, 1)


def test_results_come_evenly_between_steps():
    quick = StageTiming((-1,), at_once(), 40, 0)
    assert (
        last(quick, StageTiming((0,), Demand(np.array([0.5]), np.zeros(1), np.zeros(1)), 100, 0))
        == 220
    )


def test_fill_is_that_of_the_longest_way():
    timings = [
        StageTiming((-1,), WINDOW, 10, 0),
        StageTiming((-1,), at_once(), 10, 0),
        StageTiming((0, 1), EVEN, 10, 0),
        StageTiming((2,), WINDOW, 10, 0),
    ]
    assert fill(timings, [0]) == 0.5
    assert fill(timings, [3]) == 1.5
    assert fill(timings, [-1]) == 0


@pytest.mark.parametrize("count", [1, 2, 5])
def test_images_of_a_frame_follow_one_another(count):
    """Each has its share of the input, of the work and of the results."""
    for found in (WINDOW.repeated(count), by_pixel([2, 3, 4], 4, count)):
        for one, parts in (
            (WINDOW.needed, found.needed), (WINDOW.work, found.work),
            (WINDOW.results, found.results),
        ):  # fmt: skip
            wanted = [(index + part) / count for index in range(count) for part in one]
            assert parts == pytest.approx(wanted)


def test_results_arrive_as_their_operand_did():
    """A curve with a bend, and between its points the straight line."""
    demand = Demand(np.array([0.75, 1]), np.array([0, 0.5]), np.array([0, 0.25]))
    quick = StageTiming((-1,), demand, 40, 0)
    found = arrival_curves([quick, StageTiming((0,), EVEN, 1, 3)], {-1: 80})
    parts, times = np.array([0.1, 0.25, 0.4, 0.625, 1]), np.array([68.0, 80, 84, 90, 100])
    assert found[0].arrived(parts) == pytest.approx(times)
    assert found[1].arrived(parts) == pytest.approx(times + 3)


def test_a_stream_may_pause():
    """Data that is there has arrived before; the rest comes after the pause."""
    halves = at_once().repeated(2)
    found = arrival_curves([StageTiming((-1,), halves, 20, 0)], {-1: 100})[0]
    half = np.array([0.5])
    assert (found.arrived(half), found.resumed(half)) == (60, 100)
    assert found.arrived(np.array([0.75])) == found.resumed(np.array([0.75])) == 105
    # One that reads in step pauses too, unless it is still busy.
    for cycles, resumed in ((0, 103), (90, 103), (150, 128)):
        stages = [StageTiming((-1,), halves, 20, 0), StageTiming((0,), EVEN, cycles, 3)]
        assert arrival_curves(stages, {-1: 100})[1].resumed(half) == resumed


def test_each_input_arrives_in_its_own_time():
    stages = [StageTiming((-1,), EVEN, 5, 1), StageTiming((-2,), EVEN, 5, 1)]
    found = arrival_curves(stages, {-1: 70, -2: 30})
    assert (found[0].end, found[1].end) == (71, 31)


def test_what_is_held_back_is_that_of_the_longest_way_to_the_latest_result():
    timings = [StageTiming((-1,), at_once(), 1, 0), StageTiming((-1,), WINDOW, 1, 0)]
    assert fill(timings, [0, 1]) == fill(timings, [1, 0]) == 1
    assert fill(timings, [1]) == 0.5
    assert fill(timings, []) == fill([], [-1]) == 0
    # Two images: half a frame must be there before the first of its results.
    assert fill([StageTiming((-1,), at_once().repeated(2), 1, 0)], [0]) == 0.5


def values(*shape):
    return np.random.default_rng(len(shape)).integers(-128, 128, shape, np.int8)


def dense(terms, outputs):
    """Return a graph of one dense layer and a value for its input."""
    graph = Graph("g")
    x = graph.input("x", i8(1, terms))
    rng = np.random.default_rng(outputs)
    weights = graph.constant(rng.integers(-127, 128, (outputs, terms), np.int8))
    bias = graph.constant(rng.integers(-999, 999, outputs, np.int32))
    op = QDense(rescale=Rescale.of(0.002), x_zero_point=3, zero_point=-5)
    graph.output(graph.apply(op, x, weights, bias))
    return graph, {"x": values(1, terms)}


def separable():
    """Return a graph like the first layers of a MobileNet."""
    graph = Graph("g")
    x = graph.input("x", i8(1, 12, 12, 2))
    y = conv(graph, x, 4, 3, 2, ((0, 1), (0, 1)))
    y = conv(graph, conv(graph, y, 4, 3, 1, SAME, groups=4), 8, 1)
    y = conv(graph, conv(graph, y, 8, 3, 2, SAME, groups=8), 12, 1)
    graph.output(graph.apply(QMaxPool2d(window=Window((2, 2), (2, 2))), y))
    return graph, {"x": values(1, 12, 12, 2)}


def pool(height, width, stride):
    """Return a graph of a pooling layer, whose windows leave out rows that are left over."""
    graph, shape = Graph("g"), (1, height, width, 2)
    window = Window((2, 2), (stride, stride))
    graph.output(graph.apply(QMaxPool2d(window=window), graph.input("x", i8(*shape))))
    return graph, {"x": values(*shape)}


@pytest.mark.parametrize(
    ("graph", "inputs"), [dense(48, 10), dense(32, 7), pool(5, 5, 2), pool(7, 6, 3), pool(4, 4, 1)]
)
def test_the_predicted_latency_is_that_of_the_simulation(graph, inputs):
    """To the cycle, but for one where a layer has no window before its multipliers."""
    program = staged_graph(graph)
    ((name, folds),) = program.choices(logic=True).items()
    for fold in folds[:: len(folds) // 12 + 1]:
        pipeline = Pipeline(program, {name: fold})
        direct = "window" not in pipeline.layers[0].cell.cells
        assert simulated(pipeline, inputs) == pipeline.latency + direct, fold


def test_layers_after_one_another_are_as_late_as_predicted():
    """Within 8 cycles, but for padding behind a frame of which registers hold whole windows."""
    graph, inputs = separable()
    program, rng = staged_graph(graph), np.random.default_rng(5)
    choices = program.choices(logic=True)
    for _ in range(6):
        folds = {name: found[rng.integers(len(found))] for name, found in choices.items()}
        pipeline = Pipeline(program, folds)
        late = simulated(pipeline, inputs) - pipeline.latency
        held = any("replay" in layer.cell.cells for layer in pipeline.layers)
        assert -8 <= late <= (24 if held else 8), folds


def simulated(pipeline, inputs):
    """Return the cycles from the first beat of a frame, which is alone, to the last result."""
    run = simulate(pipeline, inputs, frames=1)
    return run.given["o"][-1] - run.taken["i"][0] + 1
