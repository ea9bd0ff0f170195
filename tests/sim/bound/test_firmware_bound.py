"""The bound of emitted firmware against the counts of random and extreme inputs."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, write
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS

from rlx.ops.q import QArgmax, QMaxPool2d, Window
from rlx.support.files.golden import Golden
from rlx_sim.bound.firmware_bound import instruction_bound
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.unicorn_runner import Unicorn

pytestmark = [pytest.mark.qemu, pytest.mark.complete]

GRAPHS = {make.__name__: make for make in KERNEL_GRAPHS}


def frames_of(graph, count, seed=0):
    """Return random frames, and those of the lowest, the highest and alternating values."""
    rng = np.random.default_rng(seed)
    inputs = [extremes(value, rng, count) for value in graph.inputs]
    outputs = [np.zeros((count, *v.type.static_shape), v.type.dtype.numpy) for v in graph.outputs]
    return Golden(tuple(inputs), tuple(outputs))


def extremes(value, rng, count):
    shape, dtype = (count, *value.type.static_shape), value.type.dtype.numpy
    if dtype.kind == "f":
        frames = rng.normal(0, 4, shape).astype(dtype)
        low, high = -1e9, 1e9
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        frames = rng.integers(low, high, shape, dtype, endpoint=True)
    frames[0], frames[1] = low, high
    flat = frames[2].reshape(-1)
    flat[::2], flat[1::2] = low, high
    frames[3] = 0
    return frames


def counts(folder, graph, build, tmp_path, frames=50):
    firmware = build.build(folder, tmp_path / "build")
    run = Unicorn(build).run(firmware, frames_of(graph, frames), tmp_path, timeout_s=100)
    return instruction_bound(firmware), run.instructions


EXACT = [("moves", "cortex-m4"), ("depthwise", "cortex-m4"), ("conversions", "cortex-m4"),
         ("moves", "cortex-m0")]  # fmt: skip
"""Graphs whose firmware takes the same count for every input."""

ABOVE = {
    ("convolutions", "cortex-m4"): 1.0, ("classifier", "cortex-m4"): 1.001,
    ("reductions", "cortex-m4"): 1.001, ("bridges", "cortex-m4"): 1.13,
    ("casts", "cortex-m4"): 1.13,
    # Eight products that may each be near a half, which takes 1620 instructions.
    ("arithmetic", "cortex-m4"): 1.52, ("classifier", "cortex-m0"): 1.04,
    # A division counts as one of a dividend of 32 bits.
    ("reductions", "cortex-m0"): 1.7, ("arithmetic", "cortex-m0"): 1.25,
}  # fmt: skip
"""Largest ratio of the bound to the largest count of the frames here."""

UNBOUNDED = {
    ("bridges", "cortex-m0"): "a loop depends on the input, at __aeabi_fdiv",
}


def emitted(tmp_path, name, cpu):
    graph = GRAPHS[name]()
    return graph, write(tmp_path / "net", emit_graph(graph, prefix="net", cpu=cpu))


@pytest.mark.parametrize(("name", "cpu"), ABOVE)
def test_no_input_exceeds_the_bound(tmp_path, name, cpu):
    graph, folder = emitted(tmp_path, name, cpu)
    bound, measured = counts(folder, graph, FirmwareBuild(cpu, "gcc"), tmp_path)
    assert max(measured) <= bound.instructions <= ABOVE[name, cpu] * max(measured)
    assert min(measured) < max(measured)
    assert not bound.is_exact


@pytest.mark.parametrize(("name", "cpu"), EXACT)
def test_the_bound_is_the_count_without_data_dependent_branches(tmp_path, name, cpu):
    graph, folder = emitted(tmp_path, name, cpu)
    bound, measured = counts(folder, graph, FirmwareBuild(cpu, "gcc"), tmp_path)
    assert {bound.instructions} == set(measured)
    assert bound.is_exact


@pytest.mark.parametrize(("name", "cpu"), UNBOUNDED)
def test_graphs_without_a_bound(tmp_path, name, cpu):
    _, folder = emitted(tmp_path, name, cpu)
    bound = instruction_bound(FirmwareBuild(cpu, "gcc").build(folder, tmp_path / "build"))
    assert bound.instructions is None
    assert bound.reason.startswith(UNBOUNDED[name, cpu])


@pytest.mark.parametrize("cpu", ["cortex-m4", "cortex-m0"])
@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (QArgmax(axis=-1), (4, 9)),
        (QArgmax(axis=0), (4, 9)),
        (QMaxPool2d(window=Window((3, 3), (1, 1)), low=-10, high=10), (1, 5, 5, 3)),
    ],
)
def test_maxima(tmp_path, op, shape, cpu):
    builder = GraphBuilder("maxima")
    builder.node(op, builder.input(*shape))
    folder = write(tmp_path / "net", emit_graph(builder.graph, prefix="net", cpu=cpu))
    bound, measured = counts(folder, builder.graph, FirmwareBuild(cpu, "gcc"), tmp_path)
    # A Cortex-M4 selects without branches.
    assert bound.is_exact == (cpu == "cortex-m4")
    assert max(measured) <= bound.instructions
    if bound.is_exact:
        assert {bound.instructions} == set(measured)


def test_vector_instructions_are_refused(tmp_path):
    graph = GRAPHS["moves"]()
    folder = write(tmp_path / "net", emit_graph(graph, prefix="net", cpu="cortex-m55"))
    build = FirmwareBuild("cortex-m55", "gcc")
    bound = instruction_bound(build.build(folder, tmp_path / "build"))
    assert bound.instructions is None
    assert bound.reason == "vector instructions (MVE) are not modelled"
