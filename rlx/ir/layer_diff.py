"""Differences between two graphs, layer by layer."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.graph import Constant, Param
from rlx.ir.layer_names import layer_names, main_node
from rlx.ir.macs import MACS
from rlx.ir.printer import format_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlx.ir.graph import Graph, Node, Value
    from rlx.ir.op import Op
    from rlx.ir.types import QuantParams, TensorType

_MAX_TEXT: Final = 40
"""Maximum characters of an attribute's text; of a longer one only the name is listed."""
_OPERANDS: Final = {1: "weights", 2: "bias"}
"""Constant operands of ops that multiply and accumulate."""
_SHAPE: Final = "shape"
"""Attribute that the type of the result repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerChange:
    """A layer of one graph, or of both with a difference.

    Attributes:
        kind: ``added``, ``removed`` or ``changed``.
        name: Name of the layer, in the second graph if both have it.
        op: The op of its main node.
        changes: Its differences, such as ``weights: 3 of 384 values, first at [0, 2]``; empty for
            a layer of one graph.
    """

    kind: str
    name: str
    op: str
    changes: tuple[str, ...] = ()


def layer_changes(
    before: Graph, after: Graph, partner: Mapping[Node, Node]
) -> tuple[tuple[LayerChange, ...], int]:
    """Return the layers that differ, in the order of the second graph, and the number of others.

    Args:
        before: The first graph.
        after: The second one.
        partner: The node of the second graph for each node of the first one that has one.
    """
    old_layers, new_layers = _layers(before), _layers(after)
    owners = {
        n: name for layers in (old_layers, new_layers) for name, g in layers.items() for n in g
    }
    mains = {main_node(nodes): name for name, nodes in old_layers.items()}
    origin = {new: old for old, new in partner.items()}
    left, changes, unchanged = dict(old_layers), [], 0
    for name, nodes in new_layers.items():
        main = main_node(nodes)
        old_name = mains.get(origin.get(main, main))
        if old_name is None and name in left and main_node(left[name]) not in partner:
            old_name = name  # of another op now
        old_nodes = None if old_name is None else left.pop(old_name, None)
        if old_nodes is None:
            changes.append(LayerChange(kind="added", name=name, op=main.op.name))
            continue
        texts = tuple(dict.fromkeys(_differences(old_nodes, nodes, origin, owners)))
        if texts:
            changes.append(LayerChange(kind="changed", name=name, op=main.op.name, changes=texts))
        unchanged += not texts
    for name, nodes in left.items():
        changes.append(LayerChange(kind="removed", name=name, op=main_node(nodes).op.name))
    return tuple(changes), unchanged


def _layers(graph: Graph) -> dict[str, list[Node]]:
    """Return the nodes of each layer by its name; constants and parameters are of none."""
    groups: dict[object, list[Node]] = {}
    for node in graph.nodes:
        if not isinstance(node.op, Constant | Param):
            groups.setdefault(node.origin.layer or node, []).append(node)
    names = layer_names(graph)
    return {names[main_node(nodes)]: nodes for nodes in groups.values()}


def _differences(
    old: Sequence[Node],
    new: Sequence[Node],
    origin: Mapping[Node, Node],
    owners: Mapping[Node, str],
) -> Iterator[str]:
    """Yield the differences between the nodes of a layer in both graphs."""
    old_main, main = main_node(old), main_node(new)
    if old_main.op.name != main.op.name:
        yield f"op {old_main.op.name} -> {main.op.name}"
        yield from _type(old_main.types[0], main.types[0], with_quant=False)
        return
    for node in new:
        partner = old_main if node is main else origin.get(node)
        if partner is not None and partner.op.name == node.op.name:
            yield from _node(partner, node, origin, owners)
    ops = Counter(n.op.name for n in old), Counter(n.op.name for n in new)
    for sign, more in (("without", ops[0] - ops[1]), ("with", ops[1] - ops[0])):
        yield from (f"{sign} {op}" for op in more)


def _node(
    old: Node, new: Node, origin: Mapping[Node, Node], owners: Mapping[Node, str]
) -> Iterator[str]:
    """Yield the differences between two nodes of one op."""
    for index, (o, n) in enumerate(zip(old.operands, new.operands, strict=False)):
        title = constant_name(new.op, index)
        if o.constant is not None and n.constant is not None:
            yield from _constant(title, o, n)
        elif origin.get(n.node) is not o.node and owners.get(o.node) != owners.get(n.node):
            before, now = (owners.get(node, title) for node in (o.node, n.node))
            yield f"reads {now} in place of {before}"
    if len(old.operands) != len(new.operands):
        yield f"operands {len(old.operands)} -> {len(new.operands)}"
    yield from _attributes(old, new)
    for o_type, n_type in zip(old.types, new.types, strict=False):
        yield from _type(o_type, n_type, with_quant=not new.op.traits.moves_only)


def constant_name(op: Op, index: int) -> str:
    """Return the name of a constant operand at an index: ``weights``, ``bias`` or ``constant``."""
    return _OPERANDS.get(index, "constant") if type(op) in MACS else "constant"


def _constant(title: str, old: Value, new: Value) -> Iterator[str]:
    """Yield the differences between two constants."""
    yield from (f"{title} {text}" for text in _type(old.type, new.type, with_quant=False))
    if old.type.shape == new.type.shape and old.type.dtype == new.type.dtype:
        changed = np.argwhere(_bits(old) != _bits(new))
        if len(changed):
            first = f", first at {changed[0].tolist()}" if changed.shape[1] else ""
            yield f"{title}: {len(changed):,} of {new.type.size:,} values{first}"
    yield from (f"{title} {text}" for text in _quant(old.type.quant, new.type.quant))


def _bits(value: Value) -> np.ndarray[Any, Any]:
    """Return a constant so that equal bits are equal, NaN too."""
    array = np.ascontiguousarray(value.constant)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind == "f" else array


def _type(old: TensorType, new: TensorType, *, with_quant: bool) -> Iterator[str]:
    """Yield the differences between two types."""
    if old.shape != new.shape:
        yield f"shape {_shape(old)} -> {_shape(new)}"
    if old.dtype != new.dtype:
        yield f"type {old.dtype.name.lower()} -> {new.dtype.name.lower()}"
    if with_quant:
        yield from _quant(old.quant, new.quant)


def _shape(type_: TensorType) -> str:
    return "x".join(map(str, type_.shape)) or "scalar"


def _quant(old: QuantParams | None, new: QuantParams | None) -> Iterator[str]:
    """Yield the differences between scales and zero points."""
    if old is None or new is None:
        if old is not new:
            yield "scale removed" if new is None else "scale added"
        return
    for name, o, n in (
        ("scale", old.scale, new.scale),
        ("zero point", old.zero_point, new.zero_point),
    ):
        if o != n:
            yield _numbers(name, o, n)


def _numbers(name: str, old: Sequence[float], new: Sequence[float]) -> str:
    """Return the difference between numbers, one or one for each channel."""
    if len(old) != len(new):
        return f"{name}: {len(old):,} -> {len(new):,} channels"
    if len(new) == 1:
        return f"{name} {old[0]:.6g} -> {new[0]:.6g}"
    count = sum(o != n for o, n in zip(old, new, strict=True))
    return f"{name}: {count:,} of {len(new):,} channels"


def _attributes(old: Node, new: Node) -> Iterator[str]:
    """Yield the attributes that differ."""
    texts = format_attributes(old.op, full=True), format_attributes(new.op, full=True)
    for name in {**texts[0], **texts[1]}:
        before, now = texts[0].get(name, "none"), texts[1].get(name, "none")
        if before == now or name == _SHAPE:
            continue
        title = name.replace("_", " ")
        if channels := _channels(getattr(old.op, name, None), getattr(new.op, name, None)):
            yield f"{title}: {channels}"
        elif max(len(before), len(now)) <= _MAX_TEXT:
            yield f"{title} {before} -> {now}"
        else:
            yield f"{title} differs"


def _channels(old: object, new: object) -> str:
    """Return in how many channels an attribute differs; empty if it has no number for each."""
    numbers = _channel_numbers(old), _channel_numbers(new)
    if type(old) is not type(new) or len(numbers[0]) != len(numbers[1]) or len(numbers[0]) < 2:
        return ""
    count = sum(o != n for o, n in zip(*numbers, strict=True))
    return f"{count:,} of {len(numbers[0]):,} channels" if count else ""


def _channel_numbers(attribute: object) -> list[tuple[int, ...]]:
    """Return the integers of each channel of an attribute such as a rescale; none of others."""
    if not is_dataclass(attribute):
        return []
    values = [getattr(attribute, one.name) for one in fields(attribute)]
    lists = [one for one in values if isinstance(one, tuple)]
    if len({len(one) for one in lists}) != 1 or {type(n) for one in lists for n in one} != {int}:
        return []
    return list(zip(*lists, strict=True))
