"""Nothing forgotten: what every op must have, whoever wrote it."""

import enum
import inspect
import math
import re
import types
import typing
from dataclasses import MISSING, fields, is_dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rlx.ir import Dim, Graph, Op, QuantParams, f32, rebuild
from rlx.ir.file import load, save
from rlx.ir.graph import Source
from rlx.ir.hash import structural_hash
from rlx.ir.inspect import inspect_graph
from rlx.ir.macs import MACS
from rlx.ir.module import GraphModule
from rlx.ir.parser import parse_graph, parse_op
from rlx.ir.plain import annotations_of, codec
from rlx.ir.printer import format_graph, format_op
from rlx.ir.verify import verify
from rlx.ops import ALL_OPS
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.ops.real import RealMul
from rlx.support.errors import RlxError
from strategies import STRATEGIES
from support.networks.ir_dims import dims

OURS = [cls for cls in Op.registry.values() if cls.__module__.startswith("rlx.")]
COMPUTING = [cls for cls in OURS if not issubclass(cls, Source)]


def every(classes):
    return pytest.mark.parametrize(
        "cls", sorted(classes, key=lambda c: c.name), ids=lambda c: c.name
    )


def test_every_op_is_exported():
    assert set(ALL_OPS) == set(COMPUTING)
    assert len(ALL_OPS) == len(set(ALL_OPS))


@every(OURS)
def test_op_is_a_frozen_keyword_only_dataclass(cls):
    assert is_dataclass(cls)
    assert cls.__dataclass_params__.frozen
    assert all(f.kw_only for f in fields(cls))
    assert "__slots__" in cls.__dict__


@every(OURS)
def test_op_is_named_like_its_class(cls):
    dialect, _, name = cls.name.partition(".")
    assert dialect in ("core", "fused", "nn", "q", "real")
    prefix = "" if dialect == "core" else dialect
    found = cls.__name__.lower().replace("average", "avg")
    assert found == f"{prefix}{name.replace('_', '').replace('average', 'avg')}"


@every(OURS)
def test_docstring_tells_operands_results_and_attributes(cls):
    # What a family shares may be told by its base class.
    family = [c for c in cls.__mro__ if c is not Op and issubclass(c, Op)]
    text = "\n".join(inspect.cleandoc(c.__dict__["__doc__"]) for c in family)
    for part in ("operand", "result"):
        assert re.search(rf"\b{part}s?(:|,| the| and)", text, re.IGNORECASE), f"{part} not told"
    own = [f.name for f in fields(cls)]
    if own and "attributes: as" not in text:
        assert "Attributes:" in text
        section = text.partition("Attributes:")[2]
        assert not [name for name in own if f"\n    {name}:" not in section]


@every(OURS)
def test_attributes_can_be_written(cls):
    for name, annotation in annotations_of(cls).items():
        if not (cls.name == "core.constant" and name == "value"):
            codec(annotation)


def region(size, number):
    """Return a small graph, such as an op may hold."""
    graph = Graph("region")
    x = graph.input("x", f32(size))
    graph.output(graph.apply(RealMul(), x, graph.constant(np.float32(number))), names=["y"])
    return graph


WORDS = st.text(max_size=8)
KNOWN = {
    int: st.integers(-(2**40), 2**40) | st.integers(-3, 9),
    bool: st.booleans(),
    str: WORDS,
    float: st.floats(allow_nan=False),
    type(None): st.none(),
    Dim: WORDS.map(Dim) | dims,
    Graph: st.builds(region, st.integers(0, 9), st.floats(-9, 9, width=32)),
    QuantParams: st.builds(
        QuantParams.per_tensor, st.floats(1e-9, 1e9), st.integers(-128, 127)
    ),
    Rescale: st.builds(
        # Multiples of 2^7 are float32 numbers.
        lambda pairs, rounding: Rescale(
            tuple(m & -128 for m, _ in pairs), tuple(s for _, s in pairs), rounding
        ),
        st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-31, 30)), min_size=1),
        st.sampled_from(Rounding),
    ),
}  # fmt: skip


def values(annotation):
    """Return a strategy of the values that an annotation allows."""
    if annotation in KNOWN:
        return KNOWN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values(a) for a in arguments])
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple:
        return tuples(arguments)
    is_enum = issubclass(annotation, enum.Enum)
    return st.sampled_from(annotation) if is_enum else instances(annotation)


def tuples(arguments):
    """Return a strategy of tuples."""
    if arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=20).map(tuple)
    return st.tuples(*(values(a) for a in arguments))


def instances(cls):
    """Return a strategy of instances of a dataclass; what it refuses is not drawn."""

    def build(arguments):
        try:
            return cls(**arguments)
        except (ValueError, RlxError):
            return None

    given_ = {name: values(annotation) for name, annotation in annotations_of(cls).items()}
    return st.fixed_dictionaries(given_).map(build).filter(lambda built: built is not None)


@every(COMPUTING)
@settings(max_examples=6, suppress_health_check=[HealthCheck.filter_too_much])
@given(data=st.data())
def test_any_attributes_print_and_parse_back(cls, data):
    op = data.draw(instances(cls))
    assume(not any(isinstance(v, float) and math.isnan(v) for v in op.attributes().values()))
    assert parse_op(format_op(op)) == op
    assert type(parse_op(format_op(op))) is cls


@every(COMPUTING)
def test_defaults_print_and_parse_back(cls):
    if all(f.default is not MISSING for f in fields(cls)):
        assert parse_op(cls.name) == cls()


@every(COMPUTING)
def test_op_has_a_strategy(cls):
    assert cls in STRATEGIES


@every(STRATEGIES)
@settings(max_examples=4)
@given(data=st.data())
def test_graph_of_an_op_survives_everything(cls, data, tmp_path_factory):
    graph = data.draw(STRATEGIES[cls](size=3)).graph
    assert any(type(n.op) is cls for n in graph.nodes)
    module = GraphModule.hir(graph)
    verify(module)
    text = format_graph(graph)
    path = tmp_path_factory.mktemp("file") / "model.rlx"
    save(module, path)
    copies = parse_graph(text), load(path).graph, rebuild(graph, lambda new, node, operands: None)
    for copy in copies:
        assert format_graph(copy) == text
        assert structural_hash(copy) == structural_hash(graph)
    assert inspect_graph(graph).macs is not None


@every(COMPUTING)
def test_macs_are_counted_or_refused_with_a_reason(cls):
    assert MACS.knows(cls)
