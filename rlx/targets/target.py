"""Base class of targets, and the targets that are installed.

Tests: tests/unit/support/test_plugins.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, field, fields
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from rlx.support import plugins
from rlx.support.errors import UsageError
from rlx.support.text.notebook import report_html
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.tables import plain_view
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from rlx.ir import Graph, Node, Op, Refusal, Value
    from rlx.ir.module import GraphModule
    from rlx.memory import ScratchPlace
    from rlx.passes.boundaries import Ports
    from rlx.passes.fit import Claim
    from rlx.support.files.golden import Golden
    from rlx.support.text.tables import Column, View

GROUP: Final = "rlx.targets"


@dataclass(frozen=True, slots=True, repr=False)
class Emission:
    """Output of a target for a graph.

    Attributes:
        files: Content of each file by relative path with forward slashes.
        report: Figures known without running it, ready for JSON: ``layers`` (a list of rows with
            the same keys), ``columns`` (those of them that tables show, all if it is missing) and
            totals.
        facts: Entries for the manifest, as JSON values: facts for the target's verifier, such as
            the prefix of its identifiers.
        nodes: The node of each row of ``report["layers"]``; reports draw the graph of these. Empty
            if rows are not nodes.
        inputs: The network's inputs in the graph of ``nodes``, if that is another graph.
        scratch: Memory of the arena that layers need in addition to the plan's placements.
        vector_files: Makes more files from the golden vectors; None if there are none to make.
    """

    files: Mapping[str, str | bytes]
    report: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    nodes: Sequence[Node] = ()
    inputs: Sequence[Value] = ()
    scratch: Sequence[ScratchPlace] = ()
    vector_files: Callable[[Golden], Mapping[str, str | bytes]] | None = None

    @property
    def totals(self) -> dict[str, int | float | str]:
        """The figures of the network as a whole in the report."""
        return {k: v for k, v in self.report.items() if isinstance(v, int | float | str)}

    def __repr__(self) -> str:
        layers = len(self.report.get("layers", ()))
        return f"<Emission: {counted(len(self.files), 'file')}, {layers} layers>"

    def _repr_html_(self) -> str:
        """Return the figures, the drawing and the table of layers that notebooks show."""
        from rlx.ir.supplied import rows_svg

        rows = self.report.get("layers", ())
        picture = rows_svg(self.nodes, self.inputs, rows) if self.nodes else ""
        columns = self.report.get("columns", ())
        return report_html(repr(self)[1:-1], self.totals, rows, columns, picture=picture)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Comparison of models over the values of one option, such as all devices.

    ``rlx estimate MODEL --devices all`` prints a row for each value, the best first. A target that
    offers it returns it as :attr:`Target.sweep`.

    Attributes:
        option: Name of the option, a field of the target's options.
        groups: Values by the name of a group; ``all`` is one of them.
        columns: Columns of a row, by key, in order.
        by: Key of the figure that rows are ranked by.
        maximize: Whether the highest figure is the best one.
        lowering_key: Returns the options that a lowered graph depends on: it is made once for all
            options for which this is equal.
        attempts: Called with options and the names of those that the user chose; returns options
            to try in order, until one fits.
        estimate: As ``Target.estimate``, but without looking for other options that would fit. With
            ``within_budget``, a report that does not fit only misses a goal, such as a rate.
        row: Called with such an estimate and its options; returns figures by key.
        caveat: Called with the figures of a row that fits; returns why it might not after all, or
            an empty text.
        is_lower_bound: Called with the figures of a row; returns whether that of ``by`` may be too
            low. Such rows come after the others that fit.
        with_value: Called with options and a value of the option; returns the options with that
            value. None if no other option depends on it.
    """

    option: str
    groups: Mapping[str, Sequence[str]]
    columns: Mapping[str, Column]
    by: str
    maximize: bool
    lowering_key: Callable[[Any], Hashable]
    attempts: Callable[[Any, frozenset[str]], Sequence[Any]]
    estimate: Callable[[GraphModule, Any], Mapping[str, Any]]
    row: Callable[[Mapping[str, Any], Any], Mapping[str, Any]]
    caveat: Callable[[Mapping[str, Any]], str] = lambda figures: ""
    is_lower_bound: Callable[[Mapping[str, Any]], bool] = lambda figures: False
    with_value: Callable[[Any, str], Any] | None = None


class Lowering:
    """Lowering of one node; each target has subclasses of its own.

    The core asks whether there is one, and hands none of them on: a target caches results about a
    node with :func:`rlx.ir.once_per_node`, and reads it again when it plans and emits.
    """

    __slots__ = ()


Alternatives: TypeAlias = "tuple[str, Mapping[str, Any]]"
"""Result of a target's method ``alternatives(options)``: an option, and by its other values the
options with these. Where it refuses a model, the message says which of them would accept it."""


class Target(ABC):
    """Base of a target, an object of the entry-point group ``rlx.targets``.

    A target defines ``name``, ``summary``, ``options``, ``knows``, ``lowering`` and ``emit``; all
    else has a default. One that has these members without this class as its base is accepted too.

    Attributes:
        name: Name on the command line.
        summary: One line for ``rlx targets``.
        pipeline: Name of the pass pipeline that prepares a graph for it (``rlx.passes``).
        options: Frozen dataclass with a default for every field; each field's metadata has ``help``
            text. ``rlx emit`` offers the fields as command-line options. Where the metadata have
            ``values`` (the values of an option, each with a line about its meaning),
            ``rlx targets NAME`` lists them.
        api: Version of this interface that it is written for (:data:`rlx.support.plugins.API`);
            each target has its own, and is written for 1 without it.
    """

    name: str
    summary: str
    options: type[Any]
    pipeline: str = "default"

    @abstractmethod
    def knows(self, op: type[Op]) -> bool:
        """Whether ``op`` is lowered, or refused with a reason."""

    def reason(self, op: type[Op], options: Any) -> str | None:  # noqa: ANN401 - own class
        """Return the reason that ``op`` has no lowering with ``options``, or None if it has one."""
        del options
        return None if self.knows(op) else "it has no rule"

    @abstractmethod
    def lowering(self, node: Node, options: Any) -> Lowering | Refusal:  # noqa: ANN401 - own class
        """Return the lowering of this node unchanged, or the reason that there is none.

        Asked several times in one emission, so the work should be done :func:`once for each node
        <rlx.ir.once_per_node>`.

        Args:
            node: The node.
            options: Instance of ``options``: the lowered ops may depend on them.
        """

    def plan(self, module: GraphModule, options: Any) -> GraphModule:  # noqa: ANN401 - own class
        """Return ``module``, in ops that are not refused, as ``emit`` and ``estimate`` require it.

        A target that keeps values in memory calls :func:`rlx.memory.to_lir`, which lowers it to
        stage LIR; by default the module stays unchanged. The results stay the same bits.
        """
        del options
        return module

    @abstractmethod
    def emit(self, module: GraphModule, options: Any) -> Emission:  # noqa: ANN401 - own class
        """Return the files for ``module``, a result of ``plan``. Nothing is written or run."""

    def estimate(self, module: GraphModule, options: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """Return bytes, MACs and, where known, cycles or instructions; by default emit's report.

        Where ``fits`` is False, ``short`` says which of the options' limits is exceeded.
        """
        return self.emit(module, options).report

    def ports(self, options: Any) -> Ports:  # noqa: ANN401 - own class
        """Return the form of inputs and outputs; by default quantized values, int8 for uint8."""
        from rlx.passes.boundaries import Ports

        del options
        return Ports()

    def view(self, report: Mapping[str, Any], options: Any) -> View:  # noqa: ANN401 - own class
        """Return the view of a report of ``emit`` or ``estimate``: tables and figures.

        By default layers are a table and totals are figures.
        """
        del options
        return plain_view(f"Layers, target {self.name}", report)

    @property
    def sweep(self) -> Sweep | None:
        """The option over which models are compared; None if they are not."""
        return None

    @property
    def sweeps(self) -> Sequence[Sweep]:
        """All options over which models are compared, :attr:`sweep` first."""
        return () if self.sweep is None else (self.sweep,)

    def alternatives(self, options: Any) -> Alternatives | None:  # noqa: ANN401 - own class
        """Return the options with other values of one of them, which may accept other models."""
        del options
        return None


_MEMBERS: Final = [
    name for name in (*Target.__annotations__, *vars(Target)) if not name.startswith("_")
]


def adopted(target: Any) -> Target:  # noqa: ANN401 - any object of a package
    """Return a target with the defaults of :class:`Target` for missing attributes.

    Args:
        target: A target, which is returned, or an object with the members of one.
    """
    if isinstance(target, Target):
        return target
    given = {name: getattr(target, name) for name in _MEMBERS if hasattr(target, name)}
    # A method is bound already; a class, as the options are, is left alone by both.
    members = {name: staticmethod(v) if callable(v) else v for name, v in given.items()}
    made: Target = type(type(target).__name__, (Target,), members)()
    return made


QUANTIZE: Final = "quantize it first: rlx quantize MODEL --calib SAMPLES.npz -o MODEL.q.rlx"
"""Hint for a model that computes in float."""

CONVERT: Final = "it holds its own scales: rlx quantize MODEL -o MODEL.q.rlx"
"""The same where the model quantizes its values itself, as files with QuantizeLinear do."""


PARTLY: Final = (
    "other layers of it are integers already: write these layers in integer operators too, or "
    "quantize the float network that it was made from"
)
"""The same where a part of the model is in integer ops, and floats do not become integers again."""


OUTSIDE: Final = (
    "compute this in your program: --outputs NAME, where a .tflite or .onnx file is read, leaves "
    "out what only other outputs need"
)
"""Hint for integers, such as a classifier's labels, that a target does not compute."""


def quantize_hint(graph: Graph) -> str:
    """Return the hint for a graph that is float."""
    # Commands that only list targets need no IR.
    from rlx.passes.quantize.readiness import calibration_error, conversion_error

    hint = _quantize_command(graph)
    if hint == PARTLY or (hint == CONVERT and conversion_error(graph) is None):
        return hint
    error = calibration_error(graph)
    if error is None:
        return QUANTIZE
    first, *more = [line.strip() for line in error.message.splitlines()]
    return f"{error.hint}: {first} {'; '.join(more)}".rstrip()


def needs_samples(graph: Graph) -> bool:
    """Return whether a graph is a float network: one that becomes integers by samples alone.

    Not one that holds its own scales, or whose layers are integers already, all or some.
    """
    ends = {"real.quantize", "real.dequantize"}
    inner = (n for n in graph.op_nodes if n.op.name not in ends)
    floats = any(v.type.dtype.is_float for n in inner for v in (*n.operands, *n.results))
    return floats and _quantize_command(graph) == QUANTIZE


def _quantize_command(graph: Graph) -> str:
    """Return the command that makes integers of a graph, if all of its ops have integer forms."""
    own = {"real.quantize", "real.dequantize"}
    quantized = [n for n in graph.nodes if n.op.name in own]
    if any(n.op.dialect == "q" for n in graph.nodes):
        inner = [n for n in quantized if n.operands[0] not in graph.inputs]
        return CONVERT if any(n.op.name == "real.quantize" for n in inner) else PARTLY
    # Conversions at the ends alone belong to a network that is quantized already.
    return CONVERT if len(quantized) > len(graph.inputs) + len(graph.outputs) else QUANTIZE


def claim(
    target: Target,
    options: Any,  # noqa: ANN401 - the target's own class
    hint: Callable[[], str] = lambda: QUANTIZE,
) -> Claim:
    """Return the target's answer for each node with ``options``, as for ``rlx.passes.fit``.

    Args:
        target: The target.
        options: Instance of its options.
        hint: Returns advice about ops on floats.
    """
    # Commands that only list targets need no IR.
    from rlx.ir import Refusal
    from rlx.passes.quantize.known import stays
    from rlx.passes.unroll import unroll_refusal

    def refusal(node: Node) -> Refusal | None:
        if not target.knows(type(node.op)) and (reason := unroll_refusal(node.op)):
            return Refusal(reason)
        lowering = target.lowering(node, options)
        if not isinstance(lowering, Refusal):
            return None
        if node.op.dialect in ("nn", "real", "fused") and not target.knows(type(node.op)):
            if stays(node):
                return Refusal("the target has no such integer op", hint=OUTSIDE)
            return Refusal("is a float op", hint=hint())
        return lowering

    return refusal


def options_of(
    target: Target, values_by_name: Mapping[str, Any], *, other_names: Sequence[str] = ()
) -> Any:  # noqa: ANN401 - target's class
    """Return a target's options object, of options by name; texts are read as on the command line.

    Args:
        target: The target.
        values_by_name: Values of options.
        other_names: Names that the caller takes beside options: suggestions for an unknown one.

    Raises:
        UsageError: The target has no such option, or an option no such value.
    """
    known = {field.name: field for field in fields(target.options)}
    hints = get_type_hints(target.options)
    values = dict(values_by_name)
    for name, value in values_by_name.items():
        if name not in known:
            raise UsageError(
                f"has no option {name!r}",
                where=f"target {target.name!r}",
                hint=did_you_mean(name, [*known, *other_names], what="its options"),
            )
        values[name] = _option_value(known[name], hints[name], value)
    return target.options(**values)


def _option_value(option: Field[Any], hint: Any, value: Any) -> Any:  # noqa: ANN401 - any option's
    """Return the value of an option; a text is read as on the command line.

    Raises:
        UsageError: The option has no such value.
    """
    choices = option.metadata.get("choices")
    if choices is not None and value is not None and str(value) not in choices:
        raise UsageError(
            f"unknown value {value!r}",
            where=option.name,
            hint=did_you_mean(str(value), choices, what="choices"),
        )
    hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [get_origin(kind) or kind for kind in hints]
    parse = option.metadata.get("parse") or (int if int in kinds else str)
    try:
        if tuple in kinds:
            parsed = _tuple_value(parse, get_args(hints[kinds.index(tuple)])[0], value)
        else:
            text = _joined(value) if str in kinds else value
            if type(value) is int and int in kinds:
                text = str(value)  # the parser knows its limits
            parsed = parse(text) if isinstance(text, str) else text
    except ValueError as error:
        expected = f"expected int, got {value!r}" if parse is int else str(error)
        message, _, example = expected.partition(": write ")
        advice = f"write {example}" if example else f"{option.metadata.get('help', '')}"
        raise UsageError(message, where=option.name, hint=advice) from None
    accepted = tuple(kind for kind in kinds if isinstance(kind, type))
    numbers = (*accepted, int) if float in accepted else accepted
    is_wrong_bool = isinstance(parsed, bool) and bool not in accepted
    if accepted and (is_wrong_bool or not isinstance(parsed, numbers)):
        names = " or ".join(kind.__name__ for kind in accepted if kind is not NoneType)
        raise UsageError(
            f"expected {names}, got {value!r}",
            where=option.name,
            hint=option.metadata.get("help") or f"give {names}",
        )
    return parsed


def _joined(value: Any) -> Any:  # noqa: ANN401 - any option's
    """Return texts of a list or a tuple as one with commas between; other values unchanged."""
    is_list = isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    return ",".join(value) if is_list else value


def _tuple_value(
    parse: Callable[[str], Any],
    item: Any,  # noqa: ANN401 - a type expression
    value: Any,  # noqa: ANN401 - any option's
) -> Any:  # noqa: ANN401 - any option's
    """Return the value of an option that is a tuple: of a text, a list, a tuple or a mapping.

    Args:
        parse: Returns the tuple of a text.
        item: Type of an item, such as ``str``. Where it is another tuple, an item may be a text,
            and a mapping is read as texts ``KEY=VALUE``, or as tuples that begin with the key.
        value: The value.

    Raises:
        ValueError: An item has another form.
    """
    if isinstance(value, str):
        return parse(value)
    item_kinds = get_args(item)
    if item_kinds and isinstance(value, dict):
        value = [
            (key, *one) if isinstance(one, list | tuple) else f"{key}={one}"
            for key, one in value.items()
        ]
    if not isinstance(value, list | tuple):
        return value
    items: list[Any] = []
    for entry in value:
        if item_kinds and isinstance(entry, str):
            items += parse(entry)
        elif _is_item(entry, item):
            items.append(entry)
        else:
            msg = f"unexpected item {entry!r}"
            raise ValueError(msg)
    return tuple(items)


def _is_item(value: object, item: Any) -> bool:  # noqa: ANN401 - a type expression
    """Whether a value is of a type, or a tuple of such types."""
    kinds = get_args(item)
    if not kinds:
        return isinstance(value, item)
    return (
        isinstance(value, tuple) and len(value) == len(kinds) and all(map(isinstance, value, kinds))
    )


def names() -> list[str]:
    """Names of the installed targets, sorted."""
    return plugins.names(GROUP)


def load(name: str) -> Target:
    """Return the target called ``name``.

    Raises:
        TargetNotFoundError: None is installed under that name, or it cannot be loaded.
    """
    target = plugins.load(
        GROUP,
        name,
        missing=f"no target is called {name!r}",
        purpose=f"target {name!r}",
        hint=did_you_mean(name, names(), what="installed targets"),
        extra=name,
    )
    return adopted(target)


def load_all() -> list[Target]:
    """Return the installed targets that can be loaded, by name."""
    return [adopted(target) for target in plugins.load_all(GROUP)]
