"""Pictures of graphs."""

import re

import pytest
from ir_samples import SAMPLES, clamp_graph, network, several_results

from rlx.ir.dot import to_dot


def test_picture_of_a_small_graph():
    assert to_dot(clamp_graph()) == (
        "digraph {\n"
        "  node [shape=box, fontname=monospace];\n"
        '  n0 [label="%0 core.input\\nx", shape=oval];\n'
        '  n1 [label="%1 q.clamp\\nrelu"];\n'
        '  n0 -> n1 [label="i8[1, 4] q(0.5, -3)"];\n'
        '  out0 [label="y", shape=oval];\n'
        '  n1 -> out0 [label="i8[1, 4] q(0.5, -3)"];\n'
        "}\n"
    )


def test_constants_are_counted_not_drawn():
    text = to_dot(network())
    assert "core.constant" not in text
    assert '  n3 [label="%3 q.conv2d\\nconv\\n2 constants"];' in text
    assert "n1 ->" not in text


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_every_line_is_one_statement(make):
    """Also with hostile names: quotes are closed, nothing follows the semicolon."""
    string = r'"(?:[^"\\\n]|\\.)*"'
    statement = rf"  (node|n\d+|out\d+)( -> (n|out)\d+)? \[(label={string}|[a-z=, ])+\];"
    lines = to_dot(make()).splitlines()
    assert (lines[0], lines[-1]) == ("digraph {", "}")
    assert [line for line in lines[1:-1] if not re.fullmatch(statement, line)] == []
    assert to_dot(several_results()).isascii()
