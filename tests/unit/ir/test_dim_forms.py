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
    ("text", "message"),
    [
        ("f32[n +]", "column 8: expected a number or a symbol, not ']'"),
        ("f32[* n]", "column 5: expected a number or a symbol, not '*'"),
        ("f32[n --- 1]", "column 9: expected a number or a symbol, not '-'"),
        ("f32[n 1]", "column 7: expected ',', not '1'"),
        ("f32[n + 1.5]", "column 9: expected an integer, not '1.5'"),
        ("f32[1 - 2]", "column 5: a dimension must lie in [0, 2147483647], not -1"),
        ("f32[-n]", "column 5: a dimension must not be negative, not -n"),
        ("f32[-n * m - 3]", "column 5: a dimension must not be negative, not -m * n - 3"),
        ("f32[n * 2147483648]",
         "column 9: a dimension must lie in [0, 2147483647], not 2147483648"),
        ("f32[65536 * 65536 * n]", "column 11: a number in a dimension is beyond 2147483647"),
        (f"f32[n{' * n' * MAX_DEGREE}]",
         "column 5: a dimension multiplies 9 symbols; at most 8 are allowed"),
        (f"f32[{LONG}]",
         "column 5: a dimension has 17 terms; at most 16 are allowed"),
        (f"f32[{'9' * 401} * n]", "column 5: a number has more than 400 characters"),
        ("f32[n / 2]", "column 7: '/' begins nothing that is known here"),
        ("f32[(n + 1)]", "column 5: expected a number or a symbol, not '('"),
    ],
)  # fmt: skip
def test_text_that_is_refused(text, message):
    with pytest.raises(TextFormError) as e:
        parse_type(text)
    assert str(e.value).partition("\n")[0] == f"line 1, {message}"
    assert e.value.hint


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[true + 1]", "column 22: only whole numbers and symbols make a dimension, not 'true'"),
        ("[1.5 * n]", "column 22: only whole numbers and symbols make a dimension, not '1.5'"),
        ("[[1] + 1]", "column 22: only whole numbers and symbols make a dimension, not '['"),
        ("[D(n=1) + 1]", "column 22: only whole numbers and symbols make a dimension, not 'D'"),
    ],
)
def test_attributes_that_are_refused(value, message):
    with pytest.raises(TextFormError) as e:
        parse_op(f"real.reshape {{shape={value}}}")
    assert str(e.value).partition("\n")[0] == f"line 1, {message}"


def test_long_texts_are_refused_at_once_or_stay_small():
    chain = " + ".join(["n"] * 20_000)
    assert parse_type(f"f32[{chain}]") == f32(20_000 * Dim("n"))
    for text in ("2147483647 * " * 20_000 + "n", "n * " * 20_000 + "n", "-" * 20_000 + "n"):
        with pytest.raises(TextFormError):
            parse_type(f"f32[{text}]")


NEEDS = 'it needs a name alone, or terms alone such as [[4, "batch"], [1]] for 4 * batch + 1'


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, NEEDS),
        ({"name": 3}, NEEDS),
        ({"name": "n", "terms": []}, NEEDS),
        ({"name": "n", "colour": 1}, NEEDS),
        ({"terms": "n + 1"}, NEEDS),
        ({"terms": [[]]}, NEEDS),
        ({"terms": [["n"]]}, NEEDS),
        ({"terms": [[True, "n"]]}, NEEDS),
        ({"terms": [[1.0, "n"]]}, NEEDS),
        ({"terms": [[1, 2]]}, NEEDS),
        ({"terms": [[1, *"abcdefghi"]]}, NEEDS),
        ({"terms": [[1, "n"]]}, 'n must be written as {"name": "n"}'),
        ({"terms": [[1], [1, "n"]]}, 'n + 1 must be written as {"terms": [[1, "n"], [1]]}'),
        ({"terms": [[1, "n", "m"]]}, 'm * n must be written as {"terms": [[1, "m", "n"]]}'),
        ({"terms": [[2, "n"], [0]]}, '2 * n must be written as {"terms": [[2, "n"]]}'),
        ({"terms": [[2]]}, "2 must be written as 2"),
        ({"terms": []}, "0 must be written as 0"),
        ({"terms": [[1, f"n{i:02}"] for i in range(17)]},
         "it has 17 terms; at most 16 are allowed"),
    ],
    ids=str,
)  # fmt: skip
def test_records_that_are_refused(fields, message):
    with pytest.raises(PlainError) as e:
        codec(Dim).decode(from_json({"@": "Dim", **fields}))
    assert str(e.value) == f"is no Dim: {message}"
