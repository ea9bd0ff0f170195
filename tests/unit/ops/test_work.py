"""Work of nodes: arithmetic counted one by one, bytes of operands and results."""

import numpy as np
import pytest

from rlx.ir import DType, Graph, Op, TensorType, f32, i8, i32
from rlx.ir.graph import Source
from rlx.ops import real
from rlx.ops.control import If, Scan
from rlx.ops.fused import FusedElementwise
from rlx.ops.nn import NnAttention, NnConv, NnSoftmax
from rlx.ops.q import QSlice
from rlx.ops.work import Work, host_bytes, node_work
from support.networks.ir_samples import SAMPLES


def work_of(op, *types):
    graph = Graph("g")
    operands = [graph.input(f"x{i}", t) for i, t in enumerate(types)]
    return node_work(graph.append(op, *operands))


def test_matrix_products():
    found = work_of(real.RealMatmul(), f32(5, 3, 4), f32(5, 4, 7))
    assert found == Work(5 * 3 * 4 * 7, 0, 4 * (5 * 3 * 4 + 5 * 4 * 7), 4 * 5 * 3 * 7)
    assert found.flops == 2 * 5 * 3 * 4 * 7
    assert found.nbytes == found.read + found.written


def test_attention_has_both_products():
    heads, queries, keys, depth, width = 2, 5, 7, 3, 4
    found = work_of(
        NnAttention(), f32(heads, queries, depth), f32(heads, keys, depth), f32(heads, keys, width)
    )
    products = heads * queries * keys * depth, heads * queries * keys * width
    assert found.macs == sum(products)
    # Of the scores maximum, difference, exponential, sum and quotient; the queries are scaled.
    assert found.operations == 5 * heads * queries * keys + heads * queries * depth
    assert found.written == 4 * heads * queries * width


@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_count_what_they_multiply(groups):
    conv = NnConv(groups=groups, window=real.SpatialWindow(kernel=(3, 3)))
    found = work_of(conv, f32(1, 6, 5, 4), f32(8, 3, 3, 4 // groups), f32(8))
    assert found.macs == 4 * 3 * 8 * 3 * 3 * (4 // groups)
    assert found.operations >= 4 * 3 * 8  # the bias


def test_elementwise_ops_count_what_they_make():
    assert work_of(real.RealAdd(), f32(3, 4), f32(4)).operations == 12
    assert work_of(NnSoftmax(axis=-1), f32(2, 8)).operations == 5 * 16


def test_reductions_count_what_they_read_and_pools_their_taps():
    assert work_of(real.RealReduceSum(axes=(0,)), f32(6, 7)).operations == 42
    assert work_of(real.RealCumsum(axis=0), f32(6, 7)).operations == 42
    window = real.SpatialWindow(kernel=(2, 3))
    assert work_of(real.RealMaxPool(window=window), f32(1, 5, 5, 2)).operations == 4 * 3 * 2 * 6


def test_what_only_moves_has_no_arithmetic():
    assert work_of(real.RealTranspose(axes=(1, 0)), f32(3, 4)) == Work(0, 0, 48, 48)
    assert work_of(real.RealReverse(axes=(0,)), f32(3, 4)).flops == 0


def test_a_part_is_read_and_not_the_whole():
    rows = work_of(real.RealGather(axis=0), f32(1000, 8), i32(3))
    assert rows == Work(0, 0, 3 * 4 + 3 * 8 * 4, 3 * 8 * 4)
    assert work_of(QSlice(start=(0, 2), stop=(4, 3), step=(1, 1)), i8(4, 100)).read == 4


def test_an_operand_that_is_read_twice_counts_once():
    graph = Graph("g")
    x = graph.input("x", f32(8))
    assert node_work(graph.append(real.RealMul(), x, x)).read == 32


def test_scatter_copies_unless_it_works_in_place():
    graph = Graph("g")
    operands = [graph.input(f"x{i}", t) for i, t in enumerate((f32(10, 4), i32(2), f32(2, 4)))]
    node = graph.append(real.RealScatter(axis=0), *operands)
    assert node_work(node) == Work(0, 0, 160 + 8 + 32, 160)
    assert node_work(node, in_place=True) == Work(0, 0, 8 + 32, 32)


def test_elements_below_8_bits_take_a_byte():
    assert host_bytes(TensorType((5,), DType.I4)) == 5


def test_sources_do_nothing():
    graph = Graph("g")
    graph.input("x", f32(8))
    assert node_work(graph.nodes[0]) == Work()


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_op_of_the_samples_has_its_bytes(make):
    for node in make().op_nodes:
        if all(t.is_static for t in (*node.types, *(o.type for o in node.operands))):
            work = node_work(node)
            assert work.written == sum(host_bytes(t) for t in node.types)
            assert work.macs >= 0
            assert isinstance(node.op, Op)
            assert not isinstance(node.op, Source)
            assert np.isfinite(work.flops)


def test_a_fused_op_computes_its_body_and_moves_operands_and_results_only():
    body = Graph("body")
    a, b = body.input("a0", f32(4, 8)), body.input("a1", f32(4, 8))
    body.output(body.apply(real.RealExp(), body.apply(real.RealMul(), a, b)))
    assert work_of(FusedElementwise(body=body), f32(4, 8), f32(4, 8)) == Work(0, 64, 256, 128)


def test_a_scan_computes_its_body_for_each_element():
    body = Graph("body")
    total, x = body.input("a0", f32(4)), body.input("a1", f32(4))
    body.output(body.apply(real.RealAdd(), total, body.apply(real.RealExp(), x)))
    scan = Scan(body=body, carries=1, scanned=1, length=7)
    assert work_of(scan, f32(4), f32(7, 4)) == Work(0, 7 * 8, 16 + 112, 16)


def test_what_the_data_decide_is_not_known():
    bodies = []
    for op in (real.RealExp(), real.RealNeg()):
        body = Graph("body")
        body.output(body.apply(op, body.input("a0", f32(4))))
        bodies.append(body)
    branch = If(then_body=bodies[0], else_body=bodies[1])
    assert work_of(branch, TensorType((), DType.BOOL), f32(4)) is None
