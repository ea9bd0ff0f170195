"""Inputs and outputs of emitted programs, and the golden vectors that belong to them."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.driver import driver
from rlx.driver.boundary import Boundary
from rlx.driver.golden import golden_vectors
from rlx.ir import DType, Graph, QuantParams, TensorType, f32
from rlx.ir.module import GraphModule
from rlx.ops.q import QClamp
from rlx.ops.real import RealDequantize, RealQuantize
from rlx.passes.boundaries import PortKind, Ports
from rlx.support.errors import UsageError
from rlx.support.files.golden import Golden
from rlx.targets import load
from support.messages import raises

QUANT = QuantParams.per_tensor(0.5, 3)


def float_ports() -> Graph:
    """Return a network on int8 between float inputs and outputs."""
    graph = Graph("net")
    x = graph.apply(RealQuantize(quant=QUANT), graph.input("x", f32(1, 4)))
    x = graph.apply(QClamp(low=-100), x)
    graph.output(graph.apply(RealDequantize(quant=QUANT), x))
    return graph


@pytest.mark.parametrize(
    ("ports", "inner", "emitted"),
    [
        (Ports(), DType.I8, DType.I8),
        (Ports(PortKind.UINT8), DType.U8, DType.U8),
        (Ports(PortKind.UINT8, inverts=True), DType.I8, DType.U8),
        (Ports(PortKind.FLOAT), DType.F32, DType.F32),
    ],
)
def test_the_program_and_the_graph_inside_have_their_types(ports, inner, emitted):
    graph = float_ports()
    boundary = Boundary.of(graph, ports)
    assert boundary.inner.graph.inputs[0].type.dtype is inner
    assert boundary.emitted.graph.inputs[0].type.dtype is emitted
    assert len(boundary.changes) == (0 if emitted is DType.F32 else 2)
    module = GraphModule.hir(graph)
    assert (boundary.opened(module) is module) == (inner is DType.F32)


def test_vectors_of_the_model_become_those_of_the_program():
    boundary = Boundary.of(float_ports(), Ports())
    x = np.array([[[-65.0, 0.0, 0.5, 70.0]]], np.float32)
    golden = golden_vectors(boundary, {"x": x})
    assert golden.inputs[0].tolist() == [[[-127, 3, 4, 127]]]
    assert golden.outputs[0].tolist() == [[[-100, 3, 4, 127]]]
    same = golden_vectors(boundary, {"x": golden.inputs[0]})
    assert np.array_equal(same.outputs[0], golden.outputs[0])


def test_vectors_of_the_model_are_refused_where_the_program_is_compiled():
    graph = float_ports()
    golden = Golden((np.zeros((2, 1, 4), np.float32),), (np.zeros((2, 1, 4), np.float32),))
    with raises(UsageError):
        driver.compile(GraphModule.hir(graph), load("cortexm"), golden=golden)


def test_nothing_is_written_before_it_is_asked_for(tmp_path):
    compiled = driver.compile(GraphModule.hir(float_ports()), load("cortexm"), frames=2)
    assert compiled.golden.frames == 2
    assert "net.c" in " ".join(compiled.files())
    compiled.write(tmp_path / "out")
    written = {
        p.relative_to(tmp_path / "out").as_posix()
        for p in (tmp_path / "out").rglob("*")
        if p.is_file()
    }
    assert set(compiled.files()) <= written


def test_types_are_compared_with_those_of_each_frame():
    graph = Graph("net")
    graph.output(graph.apply(QClamp(), graph.input("x", TensorType((1, 2), DType.I8, QUANT))))
    golden = Golden((np.zeros((3, 2), np.int8),), (np.zeros((3, 1, 2), np.int8),))
    with raises(UsageError):
        driver.compile(GraphModule.hir(graph), load("cortexm"), golden=golden)
