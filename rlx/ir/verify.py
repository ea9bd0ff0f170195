"""Invariants of graphs, by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.binding import symbols_of
from rlx.ir.graph import Constant, Input, Source, State
from rlx.ir.memo import once_per_node
from rlx.ir.module import Stage
from rlx.ir.plain import PlainError, encode_fields
from rlx.ir.regions import MAX_DEPTH
from rlx.ir.rules import RuleTable
from rlx.ir.types import DType
from rlx.ir.verify_plan import plan_problems
from rlx.support.errors import ShapeError, VerifyError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.module import GraphModule
    from rlx.ir.types import QuantParams, TensorType

MAX_PROBLEMS = 20
"""Problems that one message lists."""

CHECKS: RuleTable[Callable[[Node], Iterable[str]]] = RuleTable("the verifier")
"""Invariants of the nodes of an op beyond its types; rules return the problems that they find."""

_ZERO_POINTS = (
    ("x_zero_point", "operand", 0), ("y_zero_point", "operand", 1), ("zero_point", "result", 0),
)  # fmt: skip
"""Attributes that repeat the zero point of an operand or result."""

_CODE_RANGES = {
    DType.I2: (-2, 1), DType.I4: (-8, 7), DType.I8: (-128, 127), DType.U8: (0, 255),
    DType.I16: (-(2**15), 2**15 - 1), DType.U16: (0, 2**16 - 1),
    DType.I32: (-(2**31), 2**31 - 1),
}  # fmt: skip


def verify(module: GraphModule, *, where: str | None = None) -> None:
    """Check every invariant of the module's stage.

    All stages: nodes in order, operands of the same graph, types as inferred, attributes as
    annotated, constants as typed and read-only, inputs with distinct names, at least one output,
    states with a next value, symbols that an input or parameter has, zero points and scales that
    agree, sums that stay within int32; all this in regions too, which have neither parameters nor
    states. MIR holds no ops that decompose (``nn``); LIR has a memory plan in which nothing
    overwrites bytes that are still needed.

    Args:
        module: Module to check.
        where: Name of the module in the message; default: the graph's name.

    Raises:
        VerifyError: It lists up to 20 problems.
    """
    messages = problems(module)
    if not messages:
        return
    lines = messages[:MAX_PROBLEMS]
    if len(messages) > len(lines):
        lines.append(f"and {len(messages) - len(lines)} more")
    message = lines[0] if len(messages) == 1 else "\n  ".join([f"{len(messages)} problems", *lines])
    raise VerifyError(message, where=where or f"graph {module.graph.name!r}")


def problems(module: GraphModule) -> list[str]:
    """Return the problems of ``module``, in the order of its nodes; empty if it is sound."""
    broken = [*_order(module.graph)]
    if broken:
        return broken  # the other checks follow operands, which cannot be trusted now
    messages = [*_graph(module.graph, module.stage, 0)]
    if module.stage is Stage.LIR:
        messages += plan_problems(module)
    elif module.plan is not None:
        messages.append(f"a plan belongs to stage lir, not to {module.stage.value}")
    return messages


def _graph(graph: Graph, stage: Stage, depth: int) -> Iterator[str]:
    """Yield the problems of a graph whose nodes are in order, and of its regions."""
    for node in graph.nodes:
        yield from _node(node, stage)
        for path, region in node.op.regions():
            where = f"{node.label}: {path} of {node.op.name}"
            yield from (f"{where}: {problem}" for problem in _region(region, stage, depth + 1))
    yield from _ends(graph)
    yield from _states(graph)
    yield from _symbols(graph)


def _region(region: Graph, stage: Stage, depth: int) -> Iterator[str]:
    """Yield the problems of a region inside of ``depth - 1`` others."""
    if depth > MAX_DEPTH:
        yield f"regions are nested deeper than {MAX_DEPTH}"
        return
    broken = [*_order(region)]
    if broken:
        yield from broken
        return
    for node in region.nodes:
        if isinstance(node.op, Source) and type(node.op) not in (Input, Constant):
            yield f"{node.label}: a region cannot hold {node.op.name}; make it an operand of the op"
    yield from _graph(region, stage, depth)


def _order(graph: Graph) -> Iterator[str]:
    """Yield nodes at a wrong place, and operands and outputs that are not defined before."""
    nodes = graph.nodes
    for position, node in enumerate(nodes):
        if node.index != position:
            yield f"{node.label} stands at place {position}"
        for operand in node.operands:
            if not _is_defined(
                operand, nodes[:position] if operand.node.index >= position else nodes
            ):
                yield f"{node.label} reads {operand.node.label}, which is not defined before it"
    for value in graph.outputs:
        if not _is_defined(value, nodes):
            yield f"output {value.node.label} is not defined"


def _is_defined(value: Value, nodes: tuple[Node, ...]) -> bool:
    """Return whether ``value`` is a result of one of ``nodes``."""
    index = value.node.index
    owned = 0 <= index < len(nodes) and nodes[index] is value.node
    return owned and 0 <= value.index < len(value.node.types)


def _ends(graph: Graph) -> Iterator[str]:
    """Yield the problems of inputs, parameters and outputs."""
    if not graph.outputs:
        yield "the graph has no output"
    if len(graph.outputs) != len(graph.output_names):
        yield f"{len(graph.outputs)} outputs have {len(graph.output_names)} names"
    names: set[str] = set()
    for value in (*graph.inputs, *graph.params):
        if not value.name:
            yield f"{value.node.label} needs a name, since its value is given by name"
        elif value.name in names:
            yield f"{value.node.label} shares its name with another input or parameter"
        names.add(value.name)


def _states(graph: Graph) -> Iterator[str]:
    """Yield states without exactly one output of their name and type."""
    for node in graph.nodes:
        if not isinstance(node.op, State):
            continue
        named = zip(graph.output_names, graph.outputs, strict=True)
        following = [value for name, value in named if name == node.name]
        if len(following) != 1:
            yield (
                f"{node.label}: a state needs one output of its name, its next value;"
                f" there are {len(following)}"
            )
        elif following[0].type != node.types[0]:
            yield f"{node.label} is {node.types[0]}, but its next value is {following[0].type}"


def _symbols(graph: Graph) -> Iterator[str]:
    """Yield symbols among the attributes of ops that no run binds to an integer."""
    given = symbols_of(tuple(v.type for v in (*graph.inputs, *graph.params)))
    for node in graph.op_nodes:
        for name in sorted(_symbols_in(node) - given):
            yield f"{node.label}: no input or parameter has the symbol {name!r} of {node.op.name}"


@once_per_node
def _symbols_in(node: Node) -> frozenset[str]:
    """Return the symbols among the attributes of a node's op."""
    return frozenset(symbols_of(node.op))


def _node(node: Node, stage: Stage) -> Iterator[str]:
    """Yield the problems of one node.

    A node never changes: a node found valid is not checked again.
    """
    if (_node, stage) not in node.memo:
        found = [*_problems(node, stage)]
        yield from found
        if not found:
            node.memo[_node, stage] = True


def _problems(node: Node, stage: Stage) -> Iterator[str]:
    """Yield the problems of one node, looking at everything."""
    if stage is Stage.MIR and hasattr(node.op, "decompose"):
        yield f"{node.label}: {node.op.name} does not belong to stage {stage.value}"
    for check in (_attributes, _types, _constant, _quantization):
        yield from (f"{node.label}: {problem}" for problem in check(node))
    if type(node.op) in CHECKS:
        yield from (f"{node.label}: {problem}" for problem in CHECKS[type(node.op)](node))


def _attributes(node: Node) -> Iterator[str]:
    """Yield an attribute that is not of its annotated type."""
    if isinstance(node.op, Constant):
        return
    try:
        encode_fields(node.op)
    except PlainError as e:
        yield f"{node.op.name}: {e}"


def _types(node: Node) -> Iterator[str]:
    """Yield a difference between the types of the results and those that the op infers."""
    try:
        inferred = node.op.infer_checked(*(o.type for o in node.operands))
    except ShapeError as e:
        yield str(e)
        return
    if len(inferred) != len(node.types):
        results = counted(len(inferred), "result")
        yield f"expected {results} of {node.op.name}, got {len(node.types)}"
        return
    for declared, computed in zip(node.types, inferred, strict=True):
        expected = computed if computed.quant is not None else computed.with_quant(declared.quant)
        if declared != expected:
            yield f"expected {expected} of {node.op.name}, got {declared}"


def _constant(node: Node) -> Iterator[str]:
    """Yield a difference between a constant's array and its type."""
    if not isinstance(node.op, Constant):
        return
    array, type_ = node.op.value, node.op.type
    if array.shape != type_.shape or array.dtype != type_.dtype.numpy:
        yield f"the array is {array.dtype}{list(array.shape)}, the type says {type_}"
    if array.flags.writeable:
        yield "the array of a constant must be read-only"


def _quantization(node: Node) -> Iterator[str]:
    """Yield quantization that does not fit the type, or not the op's attributes."""
    for type_ in node.types:
        if type_.quant is not None:
            yield from _quant_fits(type_, type_.quant)
    for attribute, kind, index in _ZERO_POINTS:
        types = node.types if kind == "result" else tuple(o.type for o in node.operands)
        said = getattr(node.op, attribute, None)
        quant = types[index].quant if index < len(types) else None
        if said is not None and quant is not None and set(quant.zero_point) != {said}:
            yield f"{attribute} is {said}, but {kind} {index} is {types[index]}"


def _quant_fits(type_: TensorType, quant: QuantParams) -> Iterator[str]:
    """Yield the problems of quantization parameters for a type."""
    low, high = _CODE_RANGES.get(type_.dtype, (0, -1))
    if high < low:
        yield f"{type_} cannot have quantization parameters"
    elif not all(low <= z <= high for z in quant.zero_point):
        yield f"a zero point of {type_} is outside {type_.dtype.value}"
    if quant.axis is not None and not 0 <= quant.axis < type_.rank:
        yield f"the axis of the scales is outside {type_}"
    elif quant.axis is not None and type_.shape[quant.axis] != len(quant.scale):
        size = type_.shape[quant.axis]
        yield f"expected {size} scales for axis {quant.axis} of {type_}, got {len(quant.scale)}"
