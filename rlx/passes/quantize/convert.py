"""The conversion of calibrated float graphs to graphs of exact integer ops.

First every value gets parameters: given ones, carried through data movement
(``rlx.passes.quantize.params``). Then each node is converted: a unary function becomes a table of
its 256 values, other ops have rules (``rlx.passes.quantize.rules``), and ops without either are
written in simpler ops by the fitting engine (``rlx.passes.fit``), whose parts are asked for in
turn.

Scales in the graph itself (``real.quantize`` and ``real.dequantize`` nodes, such as ONNX's) are
used unchanged, and weights that are dequantized constants keep their very integers: so one
conversion serves calibrated and quantized models. Integer ops among float ones stay unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from rlx.ir import DType, Graph, Param, Refusal, Rewriter, RuleTable
from rlx.ops.control import Scan
from rlx.ops.nn import NN_OPS, NnConv, NnLinear, NnQuantized
from rlx.ops.numerics.fixed_point import Rounding
from rlx.ops.real import (
    RealCast,
    RealConv,
    RealDequantize,
    RealDiv,
    RealMatmul,
    RealMul,
    RealQuantize,
    Ties,
)
from rlx.passes import Fitted, Outcome, fit
from rlx.passes.fit import MOVES
from rlx.passes.quantize import resizes
from rlx.passes.quantize.functions import argument, function_table, rounds, table_op
from rlx.passes.quantize.islands import floats_within
from rlx.passes.quantize.known import known, stays
from rlx.passes.quantize.params import Needed, Resolver
from rlx.passes.quantize.per_channel import without_channel_scales
from rlx.passes.quantize.quotients import softmax_of
from rlx.passes.quantize.rules import (
    RULES,
    Conversion,
    NodeConversion,
    boundary,
    integers,
    place_of,
    quant_of,
    stepped,
)
from rlx.passes.quantize.scheme import WeightScheme, activation_problem, with_float32_scale
from rlx.passes.quantize.signs import sign_params
from rlx.support.errors import QuantizationError, UnsupportedOpError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Node, Origin, QuantParams, Value
    from rlx.passes.fit import Rewrite

MEANINGS: RuleTable[Rewrite] = RuleTable("quantization")
"""Layers on quantized values, written as layers between dequantize and quantize nodes."""


@MEANINGS.rule(*(op for op in NN_OPS if issubclass(op, NnQuantized)))
def meaning(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """nn.quantized_op(x...) -> quantize(nn.op(dequantize(x)...))."""
    return cast("NnQuantized", node.op).decompose_meaning(new, *operands)


@MEANINGS.rule(RealDiv)
def quotient(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """``x / y`` -> x * (1 / y), with a function of y; a softmax where it is one."""
    softmax = softmax_of(new, *operands)
    if softmax is not None:
        return softmax
    one = new.constant(np.ones((), node.types[0].dtype.numpy))
    return new.apply(RealMul(), operands[0], new.apply(RealDiv(), one, operands[1]))


@MEANINGS.rule(*MOVES)
def moved(new: Graph, node: Node, operands: tuple[Value, ...]) -> Value:
    """real.op(x...) of quantized values -> quantize(real.op(dequantize(x)...))."""
    numbers = (
        x if x.type.quant is None else new.apply(RealDequantize(quant=x.type.quant), x)
        for x in operands
    )
    (type_,) = node.types
    assert type_.quant is not None
    source = operands[0].node.op
    ties = source.ties if isinstance(source, RealQuantize) else Ties.EVEN
    op = RealQuantize(quant=type_.quant, dtype=type_.dtype, ties=ties)
    return new.apply(op, new.apply(node.op, *numbers))


@dataclass(frozen=True, slots=True)
class LayerRow:
    """Conversion of one node of the float graph.

    Attributes:
        name: Its name.
        op: Its op.
        path: Path of its conversion: unchanged, as a table, or written in other ops.
        integer_ops: Names of the integer ops that replace it.
        bits: Bits of its weights; None if it has none.
    """

    name: str
    op: str
    path: str
    integer_ops: tuple[str, ...]
    bits: int | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """An integer graph, and the float nodes and values that it replaces.

    Attributes:
        graph: It begins with ``real.quantize`` of each input and ends with ``real.dequantize``.
        values: Integer value of each value of the float graph that has one to compare with. Those
            whose range is that of the clamp after them have none. The type has the parameters.
        sources: For each integer op of the graph, the name of the float node that it replaces.
        layers: Conversion of each converted node, in order.
        bounded: Places of layers with weights whose range nothing says: theirs is that of the
            largest sums that the weights allow, which is wider than the occurring values.
    """

    graph: Graph
    values: Mapping[Value, Value]
    sources: Mapping[Node, str]
    layers: tuple[LayerRow, ...]
    bounded: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, Value]:
        """Integer value by the name of the float node, for nodes of one result and a name."""
        return {
            value.name: made
            for value, made in self.values.items()
            if value.name and len(value.node.types) == 1
        }


def prepare(graph: Graph) -> Fitted:
    """Return ``graph`` in the ops that are converted, so that calibration sees every value.

    Ops without an integer form are written in simpler ops. ``convert`` of the result changes
    nothing more, and its ``values`` map those of ``graph``.

    Raises:
        UnsupportedOpError: Something has no integer form; the message names all of it.
    """
    _check_sources(graph)
    _check_resizes(graph)
    plain = without_channel_scales(graph)
    claim = _refusal_beside_integers if floats_within(graph) else refusal
    fitted = fit(plain.graph, "quantization", claim, rewrites=MEANINGS)
    bad = [e for e in fitted.report.entries if e.path is Outcome.REFUSED]
    lines = [*map(str, bad), *_table_problems(fitted.graph)]
    if lines:
        hints = dict.fromkeys(e.hint for e in bad if e.hint is not None)
        raise UnsupportedOpError(
            f"quantization cannot convert {counted(len(lines), 'kind of op')}:\n    "
            + "\n    ".join(lines),
            where=f"graph {graph.name!r}",
            hint="; ".join(hints) or "express these layers by other ops in the model",
        )
    return Fitted(
        fitted.graph,
        fitted.report,
        {node: plain.sources[of] for node, of in fitted.sources.items()},
        {value: fitted.values[now] for value, now in plain.values.items()},
    )


def _table_problems(graph: Graph) -> list[str]:
    """Return the problems of functions whose results are not floating-point."""
    return [
        f"{node.op.name} ({node.label}): its result is {node.types[0]}, which no table holds"
        for node in Needed.of(graph).nodes
        if argument(node) is not None and not node.types[0].dtype.is_float
    ]


_QUANTIZED: Final = (
    "a network of such ops needs no quantization: rlx emit MODEL --target cortexm -o FOLDER"
)

_ONE_STEP: Final = (
    "run it in float on the host; or make the sequence shorter, or export a model of one step "
    "whose states are inputs and outputs"
)


def refusal(node: Node) -> Refusal | None:
    """Return the refusal of a node of a float graph that cannot be converted, or None."""
    if known(node.results[0]) is not None or stays(node) or argument(node) is not None:
        return None
    if not all(t.is_static for t in (*node.types, *(o.type for o in node.operands))):
        return Refusal(
            "it has symbolic dimensions", hint="bind them to numbers before the conversion"
        )
    has_rule = isinstance(node.op, NnQuantized) and type(node.op) in RULES
    if not has_rule and type(node.op) in MEANINGS and any(t.quant is not None for t in node.types):
        return Refusal("its values are quantized already")
    reason = RULES.reason(type(node.op))
    return RULES[type(node.op)].check(node) if reason is None else _without_rule(node, reason)


def _without_rule(node: Node, reason: str) -> Refusal:
    """Return the refusal of a node that has no rule."""
    if node.op.name.startswith("q."):
        return Refusal("it computes with integers already", hint=_QUANTIZED)
    if _varies(node):
        return Refusal(
            "its constants differ from element to element, and no integer op has a function for "
            "each element",
            hint="run it in float on the host; quantizers that are to become integers have one "
            "scale for a tensor",
        )
    if isinstance(node.op, Scan):
        return Refusal(reason, hint=_ONE_STEP)
    return Refusal("rlx has no integer op for it" if reason == "it has no rule" else reason)


def _varies(node: Node) -> bool:
    """Return whether a node is a function of one operand for each element, by other constants."""
    constants = [numbers for o in node.operands if (numbers := known(o)) is not None]
    computed = {o for o in node.operands if known(o) is None}
    return node.op.traits.elementwise and len(computed) == 1 and any(c.size > 1 for c in constants)


def _refusal_beside_integers(node: Node) -> Refusal | None:
    """Return the refusal of a node that cannot be converted in a graph partly of integers."""
    return None if node.op.dialect == "q" else refusal(node)


def _check_sources(graph: Graph) -> None:
    """Refuse parameters without a value."""
    names = [n.name for n in graph.nodes if isinstance(n.op, Param)]
    if names:
        raise QuantizationError(
            f"parameters without a value: {', '.join(names)}",
            where=f"graph {graph.name!r}",
            hint="give them values with rlx.passes.transforms.freeze before the conversion",
        )


def _check_resizes(graph: Graph) -> None:
    """Refuse interpolation between integers that a file states."""
    found = resizes.problems(graph)
    if found:
        raise UnsupportedOpError("; ".join(found), where=f"graph {graph.name!r}", hint=resizes.HINT)


def convert(
    graph: Graph,
    activations: Mapping[Value, QuantParams],
    weights: Mapping[str, WeightScheme] | WeightScheme = WeightScheme(8),  # noqa: B008 - frozen
    *,
    rounding: Rounding | None = None,
) -> Converted:
    """Return the integer graph of a calibrated float graph.

    Inputs and outputs keep their types: a float input is quantized first, and float outputs are
    dequantized last.

    Args:
        graph: A float graph: ``nn`` and ``real`` ops, parameters frozen, dimensions bound. Between
            ``real.quantize`` and ``real.dequantize`` its scales are those of these nodes.
        activations: Parameters of int8 values for values of the graph. Values that only move others
            need none, nor do parts of a group that is converted as one; where a layer is written in
            simpler ops, calibrate the result of ``prepare``, or bounds are derived.
        weights: Scheme for the weights of every layer, or of each by the name of its node; others
            have 8 bits.
        rounding: Rounding of ops to their scales; None for twice, as the reference does, or once
            where the graph has quantize nodes and no integer ops, since others compute these in
            floating point. Then halves round to even if those of a quantize node do, as in ONNX,
            else up.

    Raises:
        UnsupportedOpError: Something has no integer form; the message names all of it.
        QuantizationError: Values have no parameters, or scales that the integers cannot hold.
    """
    fitted = prepare(graph)
    calibrated = {fitted.values[v]: with_float32_scale(p) for v, p in activations.items()}
    _check_params(calibrated)
    # Before calibration: the scale of a value of which only the sign is read is free.
    calibrated |= sign_params(fitted.graph)
    needed = Needed.of(fitted.graph)
    resolver = Resolver(fitted.graph, calibrated, needed)
    params, missing = resolver.resolve()
    if missing:
        _refuse_missing(graph, missing, needed)
    rounding = rounding or _rounding(fitted.graph)
    conversion = Conversion(Graph(graph.name), params, weights, rounding, resolver.ties())
    conversion.bounded = set(resolver.bounded)
    if rounding is not Rounding.DOUBLE:
        conversion.averages = stepped.averages_of(fitted.graph)
    _append_inputs(conversion, fitted.graph)
    sources, origins = _append_nodes(conversion, fitted, needed)
    _append_outputs(conversion, fitted.graph)
    rewriter = _join_origins(conversion.graph, origins)
    final = rewriter.finish()
    return Converted(
        final,
        {v: rewriter[now] for v, now in _values(conversion, fitted, resolver).items()},
        {rewriter[new.results[0]].node: node.name for new, node in sources.items()},
        _layers(sources, conversion, fitted),
        tuple(place_of(v.node) for v in resolver.bounded if _has_weights(v.node, needed)),
    )


def _append_nodes(
    conversion: Conversion, fitted: Fitted, needed: Needed
) -> tuple[dict[Node, Node], dict[Node, list[Origin]]]:
    """Append the integer form of every node.

    Returns:
        The node of the float graph that each new node computes, and the origins of all nodes that
        each was made of.
    """
    sources: dict[Node, Node] = {}
    origins: dict[Node, list[Origin]] = {}
    for node in (n for n in needed.nodes if n not in conversion.averages):
        first = conversion.graph.count
        layer = needed.layers.get(node, node)
        call = NodeConversion(conversion, layer, None if layer is node else node)
        results = _lower(call)
        conversion.values.update(zip(node.results, results, strict=True))
        new = [n for n in conversion.graph.nodes[first:] if n.operands]
        for part in new or [v.node for v in results if v.node.operands]:
            origins.setdefault(part, []).append(node.origin)
        sources |= dict.fromkeys(new, fitted.sources[layer])
    return sources, origins


def _join_origins(graph: Graph, origins: Mapping[Node, list[Origin]]) -> Rewriter:
    """Return a rewriter that has given nodes the origins of all nodes they were made of."""
    rewriter = Rewriter(graph)
    for node in rewriter:
        if node in origins:
            rewriter.keep(node, origin=node.origin.join(origins[node]))
    return rewriter


def _values(conversion: Conversion, fitted: Fitted, resolver: Resolver) -> dict[Value, Value]:
    """Return the integer value of each float value that has one."""
    return {
        old: conversion.values[now]
        for old, now in fitted.values.items()
        if now in conversion.values and now not in resolver.clamped
    }


def _has_weights(node: Node, needed: Needed) -> bool:
    """Return whether a node is a layer with weights, or adds the bias of one."""
    layer = needed.layers.get(node, node)
    return isinstance(layer.op, NnConv | NnLinear | RealConv | RealMatmul)


def _rounding(graph: Graph) -> Rounding:
    """Return the default rounding of ops."""
    if any(isinstance(n.op, NnQuantized) for n in graph.op_nodes):
        return Rounding.EVEN
    ties = {n.op.ties for n in graph.op_nodes if isinstance(n.op, RealQuantize)}
    if ties <= {Ties.AWAY}:
        return Rounding.SINGLE if ties else Rounding.DOUBLE
    return Rounding.EVEN


def _check_params(params: Mapping[Value, QuantParams]) -> None:
    problems = [
        f"{v.node.label} {problem}" for v, p in params.items() if (problem := activation_problem(p))
    ]
    if problems:
        raise QuantizationError("; ".join(problems), hint="calibrate one scale for each value")


def _refuse_missing(graph: Graph, missing: Sequence[Value], needed: Needed) -> None:
    """Raise QuantizationError for values without parameters; not for those computed from them."""
    lines = [place_of(v.node) for v in missing if set(missing).isdisjoint(needed.reads(v.node))]
    raise QuantizationError(
        f"{counted(len(lines), 'value')} without a scale:\n    " + "\n    ".join(lines),
        where=f"graph {graph.name!r}",
        hint="give calibration data: rlx quantize MODEL --calib SAMPLES.npz -o MODEL.q.rlx",
    )


def _append_inputs(conversion: Conversion, graph: Graph) -> None:
    """Append every input, and the quantized values of those that are read."""
    for value in graph.inputs:
        input_value = conversion.graph.input(value.name, value.type, origin=value.node.origin)
        conversion.values[value] = conversion.raw[value] = input_value
        if value not in conversion.params:
            continue
        quant, reals = conversion.params[value], input_value
        if value.type.dtype is DType.I8 and value.type.quant == quant:
            continue
        if not value.type.dtype.is_float:
            stored = boundary.stored_params(quant, value.type.dtype)
            reals = conversion.graph.apply(
                RealDequantize(quant=stored), input_value, name=value.name
            )
        op = RealQuantize(quant=quant, ties=conversion.ties_of(value))
        conversion.values[value] = conversion.graph.apply(op, reals, name=value.name)


def _append_outputs(conversion: Conversion, graph: Graph) -> None:
    """Append the way back to the outputs of the float graph."""
    outputs = []
    for value, name in zip(graph.outputs, graph.output_names, strict=True):
        numbers = known(value)
        outputs.append(
            _output(conversion, value, name)
            if numbers is None
            else conversion.graph.constant(numbers, name=name)
        )
    conversion.graph.output(*outputs, names=graph.output_names)


def _output(conversion: Conversion, value: Value, name: str) -> Value:
    """Append one output."""
    if value.node.op.dialect == "q":
        return conversion.raw[value]
    quantized, dtype, graph = conversion.values[value], value.type.dtype, conversion.graph
    if quantized.type.quant is None or (
        dtype is DType.I8 and value.type.quant == quantized.type.quant
    ):
        return quantized
    reals = graph.apply(RealDequantize(quant=quant_of(quantized)), quantized, name=name)
    if value.type.quant is not None:
        return graph.apply(RealQuantize(quant=value.type.quant, dtype=dtype), reals, name=name)
    return reals if dtype is DType.F32 else graph.apply(RealCast(dtype=dtype), reals, name=name)


def _lower(call: NodeConversion) -> Sequence[Value]:
    """Append the integer form of a node and return the values that replace its results."""
    try:
        if argument(call.node) is not None:
            return [_function(call)]
        if call.node.op.dialect == "q":
            return integers.keep(call)
        if stays(call.node) and call.conversion.params.keys().isdisjoint(call.node.results):
            return _copy(call)
        averaged = stepped.append_stated(call)
        return RULES[type(call.node.op)].lower(call) if averaged is None else [averaged]
    except QuantizationError as e:
        where = e.where or place_of(call.node)
        raise QuantizationError(e.message, where=where, hint=e.hint) from None


def _copy(call: NodeConversion) -> Sequence[Value]:
    """Append a node that computes integers unchanged."""
    operands = []
    for operand in call.node.operands:
        numbers = known(operand)
        copy = (
            call.conversion.values[operand]
            if numbers is None
            else call.constant(numbers, "constant")
        )
        operands.append(copy)
    origin = call.node.origin.through("quantize")
    return call.conversion.graph.append(
        call.node.op, *operands, name=call.node.name, origin=origin
    ).results


def _function(call: NodeConversion) -> Value:
    """``f(x)`` -> q.table(x), q.clamp(x) if it is one, or x itself."""
    of = argument(call.node)
    assert of is not None
    if of.node in call.conversion.averages:
        direct = stepped.append_stepped(call, of.node)
        if direct is not None:
            return direct
        call.conversion.values[of] = (
            call.conversion.values.get(of) or _lower(NodeConversion(call.conversion, of.node))[0]
        )
    elif of in call.conversion.bounded and rounds(call.node.result, of):
        raise call.refuse(
            f"it rounds {place_of(of.node)}, which has no scale and is rounded before",
            hint="round to the nearest (ROUND), or measure what is lost on samples: "
            "rlx quantize MODEL --calib SAMPLES.npz -o MODEL.q.rlx",
        )
    x, quant = call.conversion.values[of], call.quant
    table = function_table(call.node.result, of, quant_of(x), quant, call.ties)
    name = call.node.op.name.partition(".")[2]
    op = table_op(table, name, clamps=quant == quant_of(x))
    if op is None:
        return x
    return call.emit(op, x, quant=quant)


def _layers(
    sources: Mapping[Node, Node], conversion: Conversion, fitted: Fitted
) -> tuple[LayerRow, ...]:
    """Return a row for each node of the float graph that has a replacement."""
    op_names: dict[Node, list[str]] = {}
    for new, node in sources.items():
        if new.op.dialect == "q":
            op_names.setdefault(node, []).append(new.op.name)
    bits = {fitted.sources[node]: width for node, width in conversion.bits.items()}
    rows = []
    for node, ops in op_names.items():
        now = fitted.values[node.results[0]].node
        path = "table" if argument(now) is not None else str(Outcome.NATIVE)
        path = path if now.op is node.op else str(Outcome.DECOMPOSED)
        rows.append(LayerRow(node.name, node.op.name, path, tuple(ops), bits.get(node)))
    return tuple(rows)
