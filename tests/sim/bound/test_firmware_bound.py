"""The bound of emitted firmware against the counts of random and extreme inputs."""

import numpy as np
import pytest
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS, emit_graph, write

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


@pytest.mark.parametrize(
    ("name", "cpu"),
    [("classifier", "cortex-m4"), ("reductions", "cortex-m4"), ("classifier", "cortex-m0")],
)
def test_no_input_exceeds_the_bound(tmp_path, name, cpu):
    graph = GRAPHS[name]()
    folder = write(tmp_path / "net", emit_graph(graph, prefix="net", cpu=cpu))
    bound, measured = counts(folder, graph, FirmwareBuild(cpu, "gcc"), tmp_path)
    if bound.instructions is None:
        assert "__divsi3" in bound.reason
        return
    assert max(measured) <= bound.instructions <= 1.01 * max(measured)
    assert not bound.is_exact


@pytest.mark.parametrize("name", ["moves", "depthwise", "conversions"])
def test_the_bound_is_the_count_without_data_dependent_branches(tmp_path, name):
    graph = GRAPHS[name]()
    folder = write(tmp_path / "net", emit_graph(graph, prefix="net", cpu="cortex-m4"))
    bound, measured = counts(folder, graph, FirmwareBuild("cortex-m4", "gcc"), tmp_path)
    assert {bound.instructions} == set(measured)
    assert bound.is_exact


def test_vector_instructions_are_refused(tmp_path):
    graph = GRAPHS["moves"]()
    folder = write(tmp_path / "net", emit_graph(graph, prefix="net", cpu="cortex-m55"))
    build = FirmwareBuild("cortex-m55", "gcc")
    bound = instruction_bound(build.build(folder, tmp_path / "build"))
    assert bound.instructions is None
    assert bound.reason == "vector instructions (MVE) are not modelled"
