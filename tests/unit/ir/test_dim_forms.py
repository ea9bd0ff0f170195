"""The text form and the file form of dimensions that are expressions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlx.ir import Dim, Graph, GraphModule, TensorType, f32
from rlx.ir.dims import MAX_DEGREE, MAX_TERMS, is_negative
from rlx.ir.file import read, to_file_bytes
from rlx.ir.hash import structural_hash
from rlx.ir.parser import parse_graph, parse_op, parse_type
from rlx.ir.plain import PlainError, codec, from_json, to_json
from rlx.ir.printer import format_graph, format_op, format_type
from rlx.ops.real import RealReshape
from rlx.support.errors import TextFormError
from support.messages import raises
from support.networks.ir_dims import dims

PAST, BATCH, LENGTH = Dim("past"), Dim("batch"), Dim("length")


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (PAST + 1, "past + 1"),
        (1 + PAST, "past + 1"),
        (LENGTH * BATCH, "batch * length"),
        (BATCH * (LENGTH + 4) - 1, "batch * length + 4 * batch - 1"),
        (5 - PAST, "-past + 5"),
        (BATCH * -3, "-3 * batch"),
        (BATCH * BATCH * 2 + BATCH, "2 * batch * batch + batch"),
        (np.int64(2) * PAST + np.int32(3), "2 * past + 3"),
        ((6 * BATCH * LENGTH + 4 * BATCH) // (2 * BATCH), "3 * length + 2"),
        (Dim("a b") * 2 + Dim("true"), '2 * "a b" + "true"'),
    ],
    ids=str,
)
def test_text(dim, text):
    assert format_type(f32(dim, 3)) == f"f32[{text}, 3]"
    op = RealReshape(shape=(dim, 3))
    assert format_op(op) == f"real.reshape {{shape=[{text}, 3]}}"
    assert parse_op(format_op(op)) == op


def test_a_symbol_is_written_as_ever():
    op = RealReshape(shape=(BATCH, 3))
    assert format_op(op) == 'real.reshape {shape=[Dim(name="batch"), 3]}'
    assert to_json(codec(Dim).encode(BATCH)) == {"@": "Dim", "name": "batch"}
    assert repr(BATCH) == "Dim(name='batch')"
    assert str(f32(BATCH, PAST + 1)) == "f32[batch, past + 1]"


@given(st.lists(dims.filter(lambda d: not is_negative(d)), min_size=1, max_size=3))
def test_text_and_file_read_back(shape):
    type_ = f32(*shape)
    assert parse_type(format_type(type_)) == type_
    op = RealReshape(shape=tuple(shape))
    assert parse_op(format_op(op)) == op
    written = codec(TensorType).encode(type_)
    assert codec(TensorType).decode(from_json(to_json(written))) == type_


def test_a_file_reads_back(tmp_path):
    graph = Graph("g")
    x = graph.input("x", f32(BATCH, PAST + 1, 6))
    y = graph.apply(RealReshape(shape=(BATCH * (PAST + 1), 2, 3)), x)
    graph.output(y, names=["y"])
    data = to_file_bytes(GraphModule.mir(graph))
    assert b'{\\"@\\":\\"Dim\\",\\"terms\\":[[1,\\"batch\\",\\"past\\"],[1,\\"batch\\"]]}' in data
    path = tmp_path / "g.rlx"
    path.write_bytes(data)
    again = read(path)
    assert to_file_bytes(again) == data
    assert again.graph.outputs[0].type == f32(BATCH * PAST + BATCH, 2, 3)
    text = format_graph(graph)
    assert "{shape=[batch * past + batch, 2, 3]} : f32[batch * past + batch, 2, 3]" in text
    assert format_graph(parse_graph(text)) == text
    assert structural_hash(parse_graph(text)) == structural_hash(again.graph)


@pytest.mark.parametrize(
    ("text", "dim"),
    [
        ("n-1", Dim("n") - 1),
        ("n -- 1", Dim("n") + 1),
        ("2*n+ n", 3 * Dim("n")),
        ("3 - 1", 2),
        ("-1 + n", Dim("n") - 1),
        ("n * -2 + 3 * n", Dim("n")),
        ("- n + 2 * n", Dim("n")),
        ('"a b" * 0 + 4', 4),
    ],
)
def test_spellings_that_are_read(text, dim):
    assert parse_type(f"f32[{text}]") == f32(dim)
    assert parse_op(f"real.reshape {{shape=[{text}]}}") == RealReshape(shape=(dim,))


LONG = " + ".join(f"n{i}" for i in range(MAX_TERMS + 1))


@pytest.mark.parametrize(
    "text",
    [
        "f32[n +]",
        "f32[* n]",
        "f32[n --- 1]",
        "f32[n 1]",
        "f32[n + 1.5]",
        "f32[1 - 2]",
        "f32[-n]",
        "f32[-n * m - 3]",
        "f32[n * 2147483648]",
        "f32[65536 * 65536 * n]",
        f"f32[n{' * n' * MAX_DEGREE}]",
        f"f32[{LONG}]",
        f"f32[{'9' * 401} * n]",
        "f32[n / 2]",
        "f32[(n + 1)]"
    ],
)  # fmt: skip
def test_text_that_is_refused(text):
    with raises(TextFormError):
        parse_type(text)


@pytest.mark.parametrize(
    "value",
    ["[true + 1]", "[1.5 * n]", "[[1] + 1]", "[D(n=1) + 1]"],
)
def test_attributes_that_are_refused(value):
    with raises(TextFormError):
        parse_op(f"real.reshape {{shape={value}}}")


def test_long_texts_are_refused_at_once_or_stay_small():
    chain = " + ".join(["n"] * 20_000)
    assert parse_type(f"f32[{chain}]") == f32(20_000 * Dim("n"))
    for text in ("2147483647 * " * 20_000 + "n", "n * " * 20_000 + "n", "-" * 20_000 + "n"):
        with pytest.raises(TextFormError):
            parse_type(f"f32[{text}]")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": 3},
        {"name": "n", "terms": []},
        {"name": "n", "colour": 1},
        {"terms": "n + 1"},
        {"terms": [[]]},
        {"terms": [["n"]]},
        {"terms": [[True, "n"]]},
        {"terms": [[1.0, "n"]]},
        {"terms": [[1, 2]]},
        {"terms": [[1, *"abcdefghi"]]},
        {"terms": [[1, "n"]]},
        {"terms": [[1], [1, "n"]]},
        {"terms": [[1, "n", "m"]]},
        {"terms": [[2, "n"], [0]]},
        {"terms": [[2]]},
        {"terms": []},
        {"terms": [[1, f"n{i:02}"] for i in range(17)]}
    ],
    ids=str,
)  # fmt: skip
def test_records_that_are_refused(fields):
    with raises(PlainError):
        codec(Dim).decode(from_json({"@": "Dim", **fields}))
