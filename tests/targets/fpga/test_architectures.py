"""Random networks on every architecture: equal to the reference, whatever pauses or resets come.

Each architecture is driven through the interface that all have: a core with streams for the inputs
and outputs of a graph. A fault in one of them alone, in the order of a stream's elements, in the
place where a frame ends or in what a reset leaves behind, is found here for each.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets.fpga.harness import drive

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QAdd, QClamp, QConv2d, QDense, QMaxPool2d, QReshape, Window
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures import ARCHITECTURES, architecture
from strategies import random_graphs

pytestmark = [pytest.mark.slow, pytest.mark.sim]

REFUSED = (DoesNotFitError, EmitError, UnsupportedOpError)
LIMIT = 60_000


def built(graph, name, **options):
    """Return the core of a graph."""
    chosen = FpgaOptions(architecture=name, device="zu7ev", **options)
    return architecture(name).build(GraphModule(graph, Stage.MIR), chosen)


def check(core, frames, **options):
    """Drive a core with ``frames``, each codes by input's name; compare with the reference."""
    expected = [evaluate(core.graph, frame) for frame in frames]
    beats = {
        port.member: np.concatenate([f[port.value.name].reshape(-1, port.lanes) for f in frames])
        for port in core.inputs
    }
    counts = {
        port.member: len(frames) * port.value.type.size // port.lanes for port in core.outputs
    }
    run = drive(core.component, beats, counts, limit=LIMIT, **options)
    for place, port in enumerate(core.outputs):
        wanted = np.concatenate([outputs[place].reshape(-1) for outputs in expected])
        assert np.array_equal(run.outputs[port.member].reshape(-1), wanted), port.member


def random_frames(graph, count, seed=0):
    """Return frames of random codes; ends of the range are frequent."""
    rng = np.random.default_rng(seed)

    def codes(shape):
        x = rng.integers(-128, 128, shape)
        return np.where(rng.random(shape) < 0.2, rng.choice([-128, 127]), x).astype(np.int8)

    return [{v.name: codes(v.type.static_shape) for v in graph.inputs} for _ in range(count)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_random_networks_begin_anew_after_a_reset(name):
    """Two frames, interrupted in some cycle of the first or second, then again from the start."""
    taken = []

    @settings(max_examples=14, suppress_health_check=list(HealthCheck))
    @given(
        case=random_graphs(size=2, batch=1),
        stalls=st.tuples(st.sampled_from([0.0, 0.4]), st.sampled_from([0.0, 0.4])),
        cycles=st.integers(1, 400),
        seed=st.integers(0, 99),
    )
    def run(case, stalls, cycles, seed):
        try:
            core = built(case.graph, name)
        except REFUSED:
            return
        frames = random_frames(core.graph, 2, seed)
        check(core, frames, stall_in=stalls[0], stall_out=stalls[1], reset_after=cycles, seed=seed)
        taken.append(case)

    run()
    assert len(taken) >= 3, "hardly any network was built"


def image(shape):
    """Return a convolution with a shortcut and a pool."""
    rng = np.random.default_rng(sum(shape))
    channels = shape[-1]
    graph = Graph("image")
    x = graph.input("x", i8(*shape))
    w = graph.constant(rng.integers(-127, 128, (channels, 2, 2, channels)).astype(np.int8))
    b = graph.constant(rng.integers(-500, 500, channels).astype(np.int32))
    op = QConv2d(window=Window.same(shape[1:3], (2, 2)), x_zero_point=-3, zero_point=7,
                 rescale=Rescale.of(*(0.003 + 0.001 * rng.random(channels))))  # fmt: skip
    half = Rescale.of(0.5)
    add = QAdd(x_zero_point=-3, y_zero_point=7, x_rescale=half, y_rescale=half,
               rescale=Rescale.of(0.9 * 2.0**-19), zero_point=0)  # fmt: skip
    y = graph.apply(add, x, graph.apply(op, x, w, b))
    graph.output(graph.apply(QMaxPool2d(window=Window((1, 2), (1, 1))), y), names=["y"])
    return graph


def classifier(inputs, outputs, terms=1):
    """Return dense layers, whose accumulators are as wide as ``terms`` allow."""
    graph = Graph("classifier")
    y = graph.apply(QReshape(shape=(1, inputs)), graph.input("x", i8(1, 1, inputs)))
    for count, size in ((inputs, inputs), (inputs, outputs)):
        w = graph.constant(np.full((size, count), -128, np.int8))
        b = graph.constant(np.resize([1 << 28, -(1 << 28), 3], size).astype(np.int32))
        op = QDense(x_zero_point=127, rescale=Rescale.of(2.0**-20 * terms), zero_point=-128)
        y = graph.apply(op, y, w, b)
    graph.output(y, names=["y"])
    return graph


SMALL = {
    "one pixel of one channel": lambda: image((1, 1, 2, 1)),
    "one row": lambda: image((1, 1, 5, 3)),
    "one column of two": lambda: image((1, 4, 2, 1)),
    "a frame of one value": lambda: classifier(1, 1),
    "one result": lambda: classifier(5, 1, terms=3),
    "extreme accumulators": lambda: classifier(3, 4),
}


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("make", SMALL)
def test_extreme_sizes(name, make):
    """One channel, one pixel, one beat in a frame: counters of one value, ends that are starts."""
    graph = SMALL[make]()
    core = built(graph, name)
    check(core, random_frames(core.graph, 5), stall_in=0.3, stall_out=0.3)


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("cycles", [1, 2, 5, 11, 40, 97])
def test_frame_is_interrupted(name, cycles):
    """At cycles of the start, the middle and the end of a frame, on a fixed network."""
    core = built(image((1, 3, 4, 2)), name)
    check(core, random_frames(core.graph, 3, cycles), stall_out=0.2, reset_after=cycles)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_two_outputs_are_taken_at_their_own_pace(name):
    """An output whose consumer sleeps must not lose or repeat beats of the other."""
    graph = Graph("two")
    x = graph.input("x", i8(1, 4))
    y = graph.apply(QClamp(low=-7, high=100), x)
    w = graph.constant(np.eye(4, dtype=np.int8) * 64)
    b = graph.constant(np.arange(4, dtype=np.int32))
    dense = QDense(x_zero_point=0, rescale=Rescale.of(0.03), zero_point=1)
    graph.output(y, graph.apply(dense, y, w, b), names=["clamped", "dense"])
    core = built(graph, name)
    check(core, random_frames(core.graph, 8), stall_out=0.7)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_report_and_nodes_are_those_of_the_graph(name):
    core = built(image((1, 3, 4, 2)), name)
    assert [port.value for port in core.inputs] == list(core.graph.inputs)
    assert [port.value for port in core.outputs] == list(core.graph.outputs)
    ops = {node.op.name for node in core.nodes}
    assert ops <= {node.op.name for node in core.graph.op_nodes}
    assert len(core.report["layers"]) == len(core.nodes)
    assert core.report["interval"] >= 1
