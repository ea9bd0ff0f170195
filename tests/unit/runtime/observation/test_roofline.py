"""Lower bounds of time, and what they are made of."""

import json
import math

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, GraphModule, f32
from rlx.memory import to_lir
from rlx.ops import real
from rlx.runtime import needs
from rlx.runtime.observation.machine import Machine, measure_machine
from rlx.runtime.observation.roofline import Bound, roofline
from rlx.support.errors import TargetNotFoundError, UsageError
from support.messages import raises

FLAT = Machine(name="flat", flops={"f32": 1e9}, bandwidth=((1 << 40, 1e9),))
"""A nanosecond for each operation, and for each byte."""


def product(rows=8, inner=16, columns=4):
    graph = Graph("product")
    x = graph.input("x", f32(rows, inner))
    w = graph.constant(np.ones((inner, columns), np.float32))
    graph.output(graph.apply(real.RealExp(), graph.apply(real.RealMatmul(), x, w, name="dense")))
    return graph


def machine(**changes):
    own = {"name": "m", "flops": {"f32": 1e9}, "bandwidth": ((1 << 40, 1e9),)}
    return Machine(**{**own, **changes})


def test_each_node_has_its_arithmetic_and_its_bytes():
    found = roofline(product(), FLAT)
    dense, exp = found.nodes
    assert (dense.macs, dense.flops) == (8 * 16 * 4, 2 * 8 * 16 * 4)
    assert dense.nbytes == 4 * (8 * 16 + 16 * 4 + 8 * 4)
    assert dense.compute_s == pytest.approx(1024e-9)
    assert dense.memory_s == pytest.approx(896e-9)
    assert dense.seconds == pytest.approx(1024e-9)
    assert (dense.bound, exp.bound) == (Bound.COMPUTE, Bound.MEMORY)
    assert exp.seconds == pytest.approx(256e-9)
    assert found.seconds == pytest.approx(1280e-9)
    assert found.macs == 512
    assert found.share(Bound.COMPUTE) == pytest.approx(0.8)
    assert found.of(dense.node) is dense
    assert found.of(product().nodes[0]) is None


def test_a_call_takes_its_time():
    found = roofline(product(), machine(overhead_s=1e-3))
    assert [n.bound for n in found.nodes] == [Bound.OVERHEAD, Bound.OVERHEAD]
    assert found.seconds == pytest.approx(2e-3 + 1280e-9)


def test_weights_come_from_where_all_weights_fit():
    graph = Graph("two")
    x = graph.input("x", f32(1, 4))
    for fill in (1, 2):
        w = graph.constant(np.full((4, 4), fill, np.float32))
        x = graph.apply(real.RealMatmul(), x, w)
    graph.output(x)
    cached = machine(bandwidth=((100, 1e12), (1 << 40, 1e9)))
    first, _ = roofline(graph, cached).nodes
    # 128 bytes of weights do not fit in the 100 of the cache, 32 of input and output do.
    assert first.memory_s == pytest.approx(64 / 1e9 + 32 / 1e12)


def test_views_take_no_time_and_in_place_updates_only_theirs():
    graph = Graph("cache")
    table = graph.apply(real.RealExp(), graph.input("table", f32(100, 8)))
    row = graph.apply(real.RealReshape(shape=(1, 8)), graph.input("x", f32(8)))
    place = graph.constant(np.array([3], np.int32))
    graph.output(graph.apply(real.RealScatter(axis=0), table, place, row))

    def nbytes(in_place):
        module = to_lir(GraphModule.mir(graph), in_place=in_place, ports_inside=True)
        found = roofline(module, FLAT)
        assert [n.node.op.name for n in found.nodes] == ["real.exp", "real.scatter"]
        return found.nodes[1].nbytes

    assert nbytes(lambda node: (0,) if isinstance(node.op, real.RealScatter) else ()) == 4 + 32 + 32
    assert nbytes(lambda node: ()) == 2 * 100 * 8 * 4 + 4 + 32


def test_arithmetic_is_as_fast_as_its_element_type():
    fast = machine(flops={"f32": 1e9, "f64": 5e8, "i8": 4e9})
    speeds = [fast.peak(t) for t in (DType.F32, DType.F64, DType.I64, DType.I8, DType.F16)]
    assert speeds == [1e9, 5e8, 5e8, 4e9, 1e9]


def test_what_people_and_programs_read():
    found = roofline(product(), FLAT)
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert data["us"] == pytest.approx(1.28)
    assert data["nodes"][0]["bound"] == "compute"
    assert "dense" in str(found)
    assert repr(found) == (
        "<Roofline of 'product' on flat: at least 1.28 us, 512 MACs; compute 80 %, memory 20 %,"
        " overhead 0 %>"
    )
    assert "<table" in found._repr_html_()
    assert Machine.from_json(data["machine"]) == FLAT


def test_a_machine_is_measured():
    found = measure_machine()
    assert set(found.flops) == {"f32", "f64"}
    assert all(math.isfinite(r) and r > 0 for _, r in found.bandwidth)
    assert 0 < found.overhead_s < 1e-3
    assert Machine.from_json(json.loads(json.dumps(found.as_json()))) == found


@pytest.mark.parametrize(
    "changes",
    [
        {"flops": {"f64": 1e9}},
        {"bandwidth": ()},
        {"flops": {"f32": 0.0}},
        {"bandwidth": ((9, 1e9), (3, 1e9))},
        {"overhead_s": -1.0},
    ],
)
def test_machines_that_cannot_be(changes):
    with raises(UsageError):
        machine(**changes)


@pytest.mark.parametrize("data", [{}, {"name": "x"}, {"name": "x", "flops": 3, "bandwidth": []}])
def test_a_description_that_is_none(data):
    with pytest.raises(UsageError, match=r"^machine: expected the description of a machine: "):
        Machine.from_json(data)


def test_sizes_must_be_known():
    graph = Graph("open")
    graph.output(graph.apply(real.RealExp(), graph.input("x", f32(rlx.Dim("n"), 3))))
    with raises(UsageError):
        roofline(graph, FLAT)
    with raises(UsageError):
        rlx.pick_device(graph, [FLAT])


def test_the_fastest_available_device_is_picked():
    slow = machine(name="slow", flops={"f32": 1e6})
    gpu = machine(name="gpu", device="cuda", flops={"f32": 1e15})
    choice = rlx.pick_device(product(), [slow, gpu, FLAT])
    assert (str(choice.device), choice.machine) == ("cpu", FLAT)
    # Fused: 1,024 operations of the product and 32 of the exponential, no value between them.
    assert choice.reason == ("flat takes 1.056 us at least; slow 1,056 us; gpu: no cuda here")
    assert choice.roofline.seconds == pytest.approx(1056e-9)


def test_of_equal_devices_the_first_is_picked():
    assert rlx.pick_device(product(), [machine(name="a"), machine(name="b")]).machine.name == "a"


@pytest.mark.usefixtures("only_cpu")
def test_no_device_is_picked_where_none_can_run_it(monkeypatch):
    gpu = machine(name="gpu", device="cuda")
    with raises(TargetNotFoundError):
        rlx.pick_device(product(), [gpu])
    with raises(UsageError):
        rlx.pick_device(product(), ["cpu"])
    with raises(UsageError):
        rlx.pick_device(product(), [])
    monkeypatch.setattr(needs, "devices", lambda: ())
    with raises(TargetNotFoundError):
        rlx.pick_device(product(), [FLAT])
