"""Import ONNX models: float and quantized networks become graphs of ``nn`` and ``real`` ops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rlx.errors import UnsupportedOpError
from rlx.frontends.onnx_check import check
from rlx.frontends.onnx_external import reader
from rlx.frontends.onnx_file import Model, parse
from rlx.frontends.onnx_nodes import Refusals, import_nodes
from rlx.frontends.onnx_ops import IMPORTERS, Real, Scope
from rlx.frontends.onnx_ops.call import OPEN_SHAPE
from rlx.frontends.onnx_options import OnnxOptions
from rlx.frontends.reading import read_bytes
from rlx.frontends.refusal import MalformedError, RefusedError, UnsupportedError
from rlx.frontends.work import check_work
from rlx.ir import Dim, Graph, Origin, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.limits import DEFAULT_LIMITS, Limits
from rlx.names import printable, shorten
from rlx.passes.channels_last import ChannelsLast
from rlx.passes.channels_last_ports import ChannelsLastPorts
from rlx.passes.dead_code import DeadCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.frontends.onnx_infos import Info
    from rlx.ir import Shape, Value

# So many nodes are listed in one message.
_LISTED = 40
_PLACES = 4


def load(
    source: str | Path | bytes,
    *,
    name: str = "model.onnx",
    options: OnnxOptions | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> GraphModule:
    """Import a model.

    Inputs and outputs keep the model's names, order, shapes and types; with the option
    ``channels_last`` images are channels last there too. Inside they always are.

    Args:
        source: A file, or the bytes of one.
        name: What messages and provenance call the file if bytes are given.
        options: How to read it.
        limits: How large a model to accept.

    Raises:
        UsageError: The file cannot be read, or an option does not fit it.
        FrontendError: It is malformed or over a limit.
        UnsupportedOpError: It holds what rlx does not import; all of it is listed.
        ToolMissingError: The package ``onnx`` is not installed.
    """
    options = options or OnnxOptions()
    path = None if isinstance(source, bytes) else Path(source)
    data = source if isinstance(source, bytes) else read_bytes(Path(source), limits)
    shown = shorten(printable(name if path is None else path.name))
    try:
        external = reader(path, limits, allowed=options.allow_external)
        model = parse(data, shown, external, limits)
        check(model, limits)
        graph = _build(model, options, limits)
    except RefusedError as error:
        raise error.public(shown) from None
    return GraphModule(graph, Stage.HIR)


def _build(model: Model, options: OnnxOptions, limits: Limits) -> Graph:
    """Make the graph of a checked model."""
    graph = Graph(printable(model.source).removesuffix(".onnx") or "model")
    scope = Scope(model, graph, model.versions, limits=limits)
    _add_inputs(scope, options)
    refusals = Refusals()
    import_nodes(scope, model.nodes, refusals)
    if refusals.found:
        raise _unsupported(model, refusals)
    outputs = [_output(scope, place) for place in range(len(model.outputs))]
    check_work(graph, limits)
    graph.output(*outputs, names=_distinct(printable(o.name) for o in model.outputs))
    graph = DeadCode().apply(ChannelsLast().apply(DeadCode().apply(graph)))
    return ChannelsLastPorts().apply(graph) if options.channels_last else graph


def _add_inputs(scope: Scope, options: OnnxOptions) -> None:
    shapes, sizes = _bindings(scope.model, options)
    names = _distinct(printable(i.name) for i in scope.model.inputs)
    for place, (info, name) in enumerate(zip(scope.model.inputs, names, strict=True)):
        try:
            type_ = _input_type(info, shapes, sizes)
        except RefusedError as error:
            raise error.inside(f"graph input {place}") from None
        origin = Origin(scope.model.source, f"input {place}")
        value = scope.graph.input(name, type_, origin=origin)
        scope.values[info.name] = Real(scope, value, None)


def _bindings(
    model: Model, options: OnnxOptions
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Return the shapes that the user gave, and the sizes of symbols that follow from them."""
    shapes = dict(options.input_shape)
    sizes: dict[str, int] = {}
    inputs = {i.name: i for i in model.inputs}
    for name, shape in shapes.items():
        info = inputs.get(name)
        if info is None:
            known = ", ".join(shorten(printable(i.name)) for i in model.inputs)
            raise UnsupportedError(
                f"there is no input '{shorten(printable(name))}' to give a shape",
                hint=f"inputs: {known}",
            ).inside("graph")
        _bind(info, shape, sizes)
    return shapes, sizes


def _bind(info: Info, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    """Bind the symbols of an input's shape to the sizes given."""
    if info.shape is None:
        return
    pairs = list(zip(info.shape, shape, strict=False))
    fits = len(info.shape) == len(shape) and all(
        d == n if isinstance(d, int) else d is None or sizes.setdefault(d, n) == n for d, n in pairs
    )
    if not fits:
        given = "x".join(map(str, shape))
        raise UnsupportedError(
            f"the shape {given} does not fit the input '{shorten(printable(info.name))}', "
            f"{info.described}",
            hint="give numbers for the dimensions that have names, and keep the others",
        ).inside("graph")


def _input_type(
    info: Info, shapes: dict[str, tuple[int, ...]], sizes: dict[str, int]
) -> TensorType:
    """Return the type of a graph input; what the file names stays a symbol."""
    if info.refusal is not None:
        raise info.refusal
    if info.dtype is None:
        raise MalformedError(f"'{shorten(printable(info.name))}' has no element type")
    if info.name in shapes:
        return TensorType(shapes[info.name], info.dtype)
    if info.shape is None:
        raise UnsupportedError(
            f"'{shorten(printable(info.name))}' has no shape",
            hint=f"give it, as --input-shape {shorten(printable(info.name))}=1x3x224x224",
        )
    named: Shape = tuple(
        d if isinstance(d, int) else _symbol(info, axis, d, sizes)
        for axis, d in enumerate(info.shape)
    )
    return TensorType(named, info.dtype)


def _symbol(info: Info, axis: int, name: str | None, sizes: dict[str, int]) -> int | Dim:
    if name is None:
        return Dim(f"{printable(info.name)}_{axis}")
    return sizes[name] if name in sizes else Dim(name)


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names with a number added to those that occurred before."""
    found: dict[str, None] = {}
    for name in names:
        candidate, count = name, 1
        while candidate in found:
            count += 1
            candidate = f"{name}_{count}"
        found[candidate] = None
    return list(found)


def _output(scope: Scope, place: int) -> Value:
    """Return a graph output, whose type must be what the file says."""
    info = scope.model.outputs[place]
    found = scope.values.get(info.name)
    if found is None:
        found = scope.model.tensors[info.name].array
    if not isinstance(found, Real):
        if found.dtype == object:
            raise UnsupportedError(
                f"graph output {place} '{shorten(printable(info.name))}' is made of dimensions "
                "that have no size",
                hint=OPEN_SHAPE,
            ).inside("graph")
        found = Real(scope, scope.constant(found, name=printable(info.name)), None)
    _check_output(info, found.type, place)
    return found.value


def _check_output(info: Info, type_: TensorType, place: int) -> None:
    """Refuse an output that is not what the file says."""
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
            f"graph output {place} '{shorten(printable(info.name))}' is {info.described}, but "
            f"{type_.with_quant(None)} is computed"
        ).inside("graph")


def _unsupported(model: Model, refusals: Refusals) -> UnsupportedOpError:
    """Return the one error that lists everything that is not supported."""
    found = refusals.found
    lines = [f"{len(found)} of {len(model.nodes)} nodes cannot be imported"]
    for label, _, error in found[:_LISTED]:
        lines += [f"  {label}", f"    why  {error.message}"]
        if len(found) > 1 and error.hint:
            lines.append(f"    try  {error.hint}")
    if len(found) > _LISTED:
        lines.append(f"  and {len(found) - _LISTED} more")
    hint = "change these nodes in the model as the lines 'try' say, and export it again"
    if len(found) == 1:
        hint = found[0][2].hint
    if any(operator not in {t for _, t in IMPORTERS} for _, operator, _ in found):
        hint = f"{hint}; the operators that rlx imports are listed in the documentation"
    shown = ", ".join(label for label, _, _ in found[:_PLACES])
    place = f"{shown} and others" if len(found) > _PLACES else shown
    return UnsupportedOpError("\n".join(lines), where=f"{model.source}: {place}", hint=hint)
