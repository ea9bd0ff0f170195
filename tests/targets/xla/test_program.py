"""Programs: what they keep on the device, states, errors, times."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ir import DType, Graph, TensorType, f32
from rlx.ir.evaluate import IndexRangeError, evaluate
from rlx.ops import q, real
from rlx.ops.control import Scan
from rlx.ops.numerics.fixed_point import Rescale
from rlx.runtime import CompileOptions, Session
from rlx_xla.buffers import MAX_PACKED_BYTES, Packing
from support.messages import raises

XLA = CompileOptions(backend="xla")
I32 = DType.I32


def compiled(graph, **options):
    return Session("cpu", CompileOptions(backend="xla", **options)).compile(graph)


def test_small_arrays_share_a_buffer_and_large_ones_have_their_own():
    f4, i1 = np.dtype(np.float32), np.dtype(np.int8)
    large = MAX_PACKED_BYTES // 4
    packing = Packing.of(
        {"a": ((2, 3), f4), "large": ((large,), f4), "b": ((4,), f4), "c": ((5,), i1),
         "d": ((), f4), "none": ((0, 2), f4)}
    )  # fmt: skip
    assert list(zip(packing.sizes, packing.dtypes, strict=True)) == [
        (11, f4), (large, f4), (5, i1),
    ]  # fmt: skip
    random = np.random.default_rng(1)
    arrays = {k: random.integers(-9, 9, p.shape).astype(packing.dtypes[p.buffer])
              for k, p in packing.parts.items()}  # fmt: skip
    unpacked = packing.unpack(packing.pack(arrays))
    for key, array in arrays.items():
        np.testing.assert_array_equal(np.asarray(unpacked[key]), array)


def accumulator():
    """A state that adds up its inputs, and twice the sum as an output."""
    graph = Graph("accumulator")
    total = graph.state("total", f32(3))
    x = graph.input("x", f32(3))
    following = graph.apply(real.RealAdd(), total, x)
    graph.output(graph.apply(real.RealAdd(), following, following), following,
                 names=["twice", "total"])  # fmt: skip
    return graph


def test_states_are_kept_from_run_to_run():
    program = compiled(accumulator())
    kept = []
    for step in range(3):
        twice, total = program.run({"x": np.full(3, step + 1)})
        kept.append(total)
        np.testing.assert_array_equal(twice, 2 * total)
    assert [t[0] for t in kept] == [1, 3, 6]
    raw = program.run_raw({"x": np.ones(3, np.float32)})[1]
    program.bind_state("total", np.zeros(3, np.float32))
    assert raw[0] == 7
    assert program.run({"x": np.ones(3)})[1].tolist() == [1, 1, 1]
    copy = program.clone()
    copy.run({"x": np.ones(3)})
    assert program.read_state("total").tolist() == [1, 1, 1]
    assert copy.read_state("total").tolist() == [2, 2, 2]


def test_parameters_may_be_set_again():
    graph = Graph("scaled")
    scale = graph.param("scale", f32(3))
    graph.output(graph.apply(real.RealMul(), graph.input("x", f32(3)), scale))
    program = compiled(graph)
    for value in (2, 5):
        program.set_param("scale", np.full(3, value, np.float32))
        assert program.run({"x": np.ones(3)})[0].tolist() == [value] * 3


def test_weights_that_are_inputs_are_rearranged_in_the_program():
    graph = Graph("dense")
    x = graph.input("x", TensorType((2, 6), DType.I8))
    w = graph.input("w", TensorType((4, 6), DType.I4))
    bias = graph.input("bias", TensorType((4,), I32))
    op = q.QDense(x_zero_point=-7, rescale=Rescale.of(0.02), zero_point=3)
    graph.output(graph.apply(op, x, w, bias))
    random = np.random.default_rng(3)
    inputs = {
        "x": random.integers(-128, 128, (2, 6)).astype(np.int8),
        "w": random.integers(-8, 8, (4, 6)).astype(DType.I4.numpy),
        "bias": random.integers(-99, 99, 4).astype(np.int32),
    }
    (found,) = compiled(graph).run_typed(inputs)
    np.testing.assert_array_equal(found, evaluate(graph, inputs)[0])


def test_values_of_four_bits_come_out_as_such():
    graph = rlx.trace("narrow", lambda x: x.cast(DType.I4), TensorType((3,), I32))
    program = compiled(graph)
    (y,) = program.run_raw({"x": np.array([7, 8, -9], np.int32)})
    assert y.dtype == DType.I4.numpy
    assert y.astype(int).tolist() == [7, -8, 7]
    assert not y.flags.writeable


def gather():
    graph = Graph("gather")
    rows = graph.constant(np.arange(4, dtype=np.float32))
    graph.output(graph.apply(real.RealGather(), rows, graph.input("index", TensorType((2,), I32)),
                             name="rows"))  # fmt: skip
    return graph


def test_an_index_outside_of_its_axis_is_an_error():
    program = compiled(gather())
    assert program.run({"index": np.array([-4, 3])})[0].tolist() == [0, 3]
    for index in (4, -5):
        with raises(IndexRangeError):
            program.run({"index": np.array([0, index])})


def test_so_is_one_in_a_loop():
    body = Graph("body")
    carry = body.input("carry", f32(4))
    index = body.input("index", TensorType((), I32))
    body.output(carry, body.apply(real.RealGather(), carry, index))
    graph = Graph("loop")
    first = graph.input("x", f32(4))
    indices = graph.input("indices", TensorType((3,), I32))
    graph.output(*graph.append(Scan(body=body, carries=1, scanned=1, length=3), first,
                               indices).results)  # fmt: skip
    program = compiled(graph)
    x = np.arange(4)
    assert program.run({"x": x, "indices": np.array([0, 3, 1])})[1].tolist() == [0, 3, 1]
    with raises(IndexRangeError):
        program.run({"x": x, "indices": np.array([0, 4, 1])})


def test_numbers_that_are_not_finite_are_named():
    graph = Graph("log")
    scale = graph.param("scale", f32(2))
    product = graph.apply(real.RealMul(), graph.input("x", f32(2)), scale)
    graph.output(graph.apply(real.RealLog(), product, name="y"))
    program = compiled(graph, check_finite=True)
    program.set_param("scale", np.ones(2, np.float32))
    program.run({"x": np.ones(2)})
    with raises(FloatingPointError):
        program.run({"x": np.zeros(2)})


def test_a_run_has_one_time_for_all_nodes():
    report = compiled(rlx.trace("f", lambda x: (x + x).exp() * x, f32(2))).profile(
        {"x": np.ones(2)}, runs=2
    )
    assert len(report.nodes) == 1


def test_batches_and_sizes_are_compiled_as_they_come():
    graph = rlx.trace("double", lambda x: x + x, f32(rlx.Dim("n"), 2))
    program = compiled(graph)
    for size in (1, 3):
        assert program.run({"x": np.ones((size, 2))})[0].tolist() == [[2, 2]] * size
    sample = compiled(rlx.trace("double", lambda x: x + x, f32(1, 2)))
    assert sample.run({"x": np.ones((3, 2))})[0].tolist() == [[2, 2]] * 3


def test_its_programs_are_compared_with_numpy():
    program = compiled(rlx.trace("double", lambda x: x + x, TensorType((5,), DType.I8)))
    program.run({"x": np.ones(5, np.int8)})
    assert program._program(()).comparison.outputs == 1
