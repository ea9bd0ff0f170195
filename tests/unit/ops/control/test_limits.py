"""Limits of a file with loops: beyond them it is refused before anything runs."""

import numpy as np
import pytest

import rlx
from rlx.ir.file import to_file_bytes
from rlx.ir.inspect import inspect_graph, node_macs
from rlx.ops.control import Scan, While
from rlx.support.errors import FrontendError
from rlx.support.limits import Limits
from rlx.tracing import Graph
from support.messages import raises


@pytest.fixture
def loaded(tmp_path):
    """Return a function that writes a graph to a file and reads it back."""

    def load(graph, **limits):
        path = tmp_path / "model.rlx"
        path.write_bytes(to_file_bytes(graph.module))
        return rlx.load(path, limits=Limits(**limits))

    return load


def looped(*lengths, shape=(2,)):
    """Return a graph of scans inside scans."""

    def run(value, rest):
        if not rest:
            return value + 1.0
        return rlx.scan(lambda c, _: (run(c, rest[1:]), None), value, length=rest[0])[0]

    graph = Graph("looped")
    graph.output(run(graph.input("x", shape), lengths))
    return graph


def test_iterations_count_as_operations(loaded):
    assert loaded(looped(5, 7), operations=70).graph.outputs
    with pytest.raises(FrontendError, match=r"one frame takes 70 operations; the limit is 69\n"):
        loaded(looped(5, 7), operations=69)


def test_a_short_file_can_not_stand_for_endless_work(loaded):
    with pytest.raises(FrontendError, match=r"one frame takes \d+ operations; the limit is"):
        loaded(looped(*[1 << 20] * 8))


def test_a_length_is_a_dimension(loaded):
    with raises(FrontendError):
        loaded(looped(9_000_000))
    graph = Graph("bounded")
    x = graph.input("x", ())
    graph.output(rlx.while_loop(lambda v: v < 1.0, lambda v: v, x, max_iterations=1 << 30))
    with raises(FrontendError):
        loaded(graph)


def products(loop):
    """Return a graph whose loop multiplies matrices of 3 times 3."""
    graph = Graph("products")
    w = graph.input("w", (3, 3))
    graph.output(loop(lambda c: c @ w, w))
    return graph.graph


def test_multiply_accumulates_are_those_of_all_iterations():
    scan = products(lambda body, w: rlx.scan(lambda c, _: (body(c), None), w, length=5)[0])
    assert inspect_graph(scan).macs == 5 * 27
    bounded = products(
        lambda body, w: rlx.while_loop(lambda c: c.max() > 0.0, body, w, max_iterations=4)
    )
    assert inspect_graph(bounded).macs == 4 * 27
    endless = products(lambda body, w: rlx.while_loop(lambda c: c.max() > 0.0, body, w))
    assert inspect_graph(endless).macs is None
    choice = products(lambda body, w: rlx.if_(w.max() > 0.0, lambda: body(body(w)), lambda: w))
    assert inspect_graph(choice).macs == 2 * 27
    (node,) = (n for n in endless.nodes if isinstance(n.op, While))
    assert node_macs(node) is None


def test_constants_in_bodies_count(loaded):
    graph = Graph("constants")
    x = graph.input("x", (4,))
    table = np.ones((8, 4), np.float32)
    last, _ = rlx.scan(lambda c, _: (c + x.builder.innermost.constant(table)[0], None), x, length=3)
    graph.output(last)
    found = inspect_graph(graph.graph)
    assert found.constants == 32
    assert isinstance(graph.graph.nodes[-1].op, Scan)
    assert found.nodes[-1].constant_bytes == 128
