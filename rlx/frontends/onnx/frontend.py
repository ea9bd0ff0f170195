"""Import ONNX models: float and quantized networks become graphs of ``nn`` and ``real`` ops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rlx.frontends.onnx.check import check
from rlx.frontends.onnx.external import reader
from rlx.frontends.onnx.file import Model, parse
from rlx.frontends.onnx.inputs import add_inputs, cut, distinct, open_inputs
from rlx.frontends.onnx.meaning import with_input_meanings
from rlx.frontends.onnx.nodes import Refusals, import_nodes
from rlx.frontends.onnx.ops import IMPORTERS, Real, Scope
from rlx.frontends.onnx.ops.call import OPEN_SHAPE
from rlx.frontends.onnx.options import OnnxOptions
from rlx.frontends.open_shapes import shape_hint
from rlx.frontends.reading import read_bytes
from rlx.frontends.refusal import FileRefusedError, MalformedError, UnsupportedError
from rlx.frontends.work import check_work
from rlx.ir import Graph, TensorType
from rlx.ir.layer_names import with_layer_names
from rlx.ir.module import GraphModule, Stage
from rlx.passes.channels_last import ChannelsLast
from rlx.passes.channels_last_ports import ChannelsLastPorts
from rlx.passes.dead_code import DeadCode
from rlx.support.errors import UnsupportedOpError
from rlx.support.limits import DEFAULT_LIMITS, Limits
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from rlx.frontends.onnx.infos import Info
    from rlx.frontends.open_shapes import DimensionSizes
    from rlx.ir import Value

_MAX_LISTED_NODES = 40
"""Nodes that one message explains."""
_MAX_LABELS = 4
"""Labels of nodes in the place that an error names."""


def load(
    source: str | Path | bytes,
    *,
    name: str = "model.onnx",
    options: OnnxOptions | None = None,
    limits: Limits = DEFAULT_LIMITS,
    sizes: DimensionSizes | None = None,
) -> GraphModule:
    """Import a model.

    Inputs and outputs keep the model's names, order, shapes and types; with the option
    ``channels_last`` images are channels last there too. Inside they always are.

    Args:
        source: A file, or the bytes of one.
        name: Name of the file in messages and provenance if bytes are given.
        options: Options of the import.
        limits: Limits on the size of the model.
        sizes: Fixes the dimensions that the file leaves open; None to keep them as symbols.

    Raises:
        UsageError: The file cannot be read, an option does not fit it, or nothing says how large a
            dimension is.
        FrontendError: It is malformed or over a limit.
        UnsupportedOpError: It holds operators that rlx does not import; all are listed.
        ToolMissingError: The package ``onnx`` is not installed.
    """
    options = options or OnnxOptions()
    path = None if isinstance(source, bytes) else Path(source)
    data = source if isinstance(source, bytes) else read_bytes(Path(source), limits)
    file_name = shorten(printable(name if path is None else path.name))
    try:
        external = reader(path, limits, allowed=options.allow_external)
        model = parse(data, file_name, external, limits)
        check(model, limits)
        model = cut(model, options)
        graph = _build(model, options, limits, sizes)
    except FileRefusedError as error:
        raise error.public(file_name) from None
    return GraphModule(graph, Stage.HIR)


def _build(
    model: Model, options: OnnxOptions, limits: Limits, sizes: DimensionSizes | None
) -> Graph:
    """Make the graph of a checked model."""
    graph = Graph(printable(model.source).removesuffix(".onnx") or "model")
    scope = Scope(model, graph, model.versions, limits=limits)
    add_inputs(scope, options, sizes)
    refusals = Refusals()
    import_nodes(scope, model.nodes, refusals)
    if refusals.refused:
        raise _unsupported(model, refusals)
    outputs = [_output(scope, place) for place in range(len(model.outputs))]
    check_work(graph, limits)
    graph.output(*outputs, names=distinct(printable(o.name) for o in model.outputs))
    graph = with_input_meanings(DeadCode().apply(graph))
    graph = DeadCode().apply(ChannelsLast().apply(graph))
    graph = ChannelsLastPorts().apply(graph) if options.channels_last else graph
    return with_layer_names(graph, {n.label: n.name for n in model.nodes if n.name})


def _output(scope: Scope, index: int) -> Value:
    """Return a graph output, whose type must be that of the file."""
    info = scope.model.outputs[index]
    result = scope.values.get(info.name)
    if result is None:
        result = scope.model.tensors[info.name].array
    if not isinstance(result, Real):
        if result.dtype == object:
            raise UnsupportedError(
                f"graph output {index} '{shorten(printable(info.name))}' is computed from "
                "dimensions without a size",
                hint=_hint_of(scope.model, OPEN_SHAPE),
            ).inside("graph")
        result = Real(scope, scope.constant(result, name=printable(info.name)), None)
    _check_output(info, result.type, index)
    return result.value


def _check_output(info: Info, type_: TensorType, index: int) -> None:
    """Refuse an output of another type than in the file."""
    fits = info.dtype in (None, type_.dtype)
    if info.shape is not None:
        fits = fits and len(info.shape) == type_.rank
        fits = fits and all(
            d == n
            for d, n in zip(info.shape, type_.shape, strict=False)
            if isinstance(d, int) and isinstance(n, int)
        )
    if not fits:
        raise MalformedError(
            f"graph output {index} '{shorten(printable(info.name))}' is {info.described}, but "
            f"{type_.with_quant(None)} is computed"
        ).inside("graph")


def _hint_of(model: Model, hint: str | None) -> str:
    """Return a hint with the names of the model's own inputs, where it is about their shapes."""
    opened = [i for i in open_inputs(model) if any(isinstance(d, str) for d in i.dims)]
    return shape_hint(opened) if hint == OPEN_SHAPE and opened else hint or ""


def _unsupported(model: Model, refusals: Refusals) -> UnsupportedOpError:
    """Return the one error that lists everything that is not supported."""
    refused_nodes = refusals.refused
    lines = [f"{len(refused_nodes)} of {len(model.nodes)} nodes cannot be imported"]
    for label, _, error in refused_nodes[:_MAX_LISTED_NODES]:
        lines += [f"  {label}", f"    why  {error.message}"]
        if len(refused_nodes) > 1 and error.hint:
            lines.append(f"    try  {_hint_of(model, error.hint)}")
    if len(refused_nodes) > _MAX_LISTED_NODES:
        lines.append(f"  and {len(refused_nodes) - _MAX_LISTED_NODES} more")
    hint = "change these nodes in the model as the lines 'try' say, and export it again"
    if len(refused_nodes) == 1:
        hint = _hint_of(model, refused_nodes[0][2].hint)
    if any(operator not in {t for _, t in IMPORTERS} for _, operator, _ in refused_nodes):
        hint = f"{hint}; the operators that rlx imports are listed in the documentation"
    labels = ", ".join(label for label, _, _ in refused_nodes[:_MAX_LABELS])
    where = f"{labels} and others" if len(refused_nodes) > _MAX_LABELS else labels
    return UnsupportedOpError("\n".join(lines), where=f"{model.source}: {where}", hint=hint)
