"""Regions: graphs among the attributes of ops."""

from __future__ import annotations

import functools
import typing
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rlx.ir.attributes import map_attribute
from rlx.ir.graph import Graph, Source
from rlx.ir.plain import annotations_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rlx.ir.graph import Node
    from rlx.ir.op import Op

    OpT = TypeVar("OpT", bound=Op)

MAX_DEPTH: Final = 16
"""Deepest nesting of regions inside regions; a graph without regions has depth 0."""


def regions_of(op: Op) -> tuple[tuple[str, Graph], ...]:
    """Return the graphs among the attributes of ``op``, each with its path, such as ``body``."""
    names = _fields_with_regions(type(op))
    if not names:
        return ()
    return tuple(found for name in names for found in _find_regions(getattr(op, name), name))


def map_regions(op: OpT, change: Callable[[Graph], Graph]) -> OpT:
    """Return ``op`` with each of its regions changed; the same op if none of them was."""

    def region(value: Any) -> Any:  # noqa: ANN401 - any attribute
        return change(value) if isinstance(value, Graph) else value

    changed = {}
    for name in _fields_with_regions(type(op)):
        old = getattr(op, name)
        new = map_attribute(old, region)
        if new is not old:
            changed[name] = new
    return op.with_attributes(**changed) if changed else op


def all_nodes(graph: Graph) -> Iterator[Node]:
    """Yield the nodes of ``graph``, after each those of its regions, of their regions and so on."""
    for node in graph.nodes:
        yield node
        for _, region in node.op.regions():
            yield from all_nodes(region)


def depth_of(graph: Graph) -> int:
    """Return the depth of regions nested inside regions of ``graph``; 0 if there are none."""
    regions = (region for node in graph.op_nodes for _, region in node.op.regions())
    return max((1 + depth_of(region) for region in regions), default=0)


@functools.cache
def _fields_with_regions(cls: type[Op]) -> tuple[str, ...]:
    """Return the names of the attributes that may hold graphs."""
    if issubclass(cls, Source):
        return ()
    return tuple(name for name, annotation in annotations_of(cls).items() if _may_hold(annotation))


def _may_hold(annotation: Any) -> bool:  # noqa: ANN401 - any annotation
    """Return whether values of ``annotation`` may be graphs or hold some."""
    if annotation is Graph:
        return True
    if isinstance(annotation, type) and is_dataclass(annotation):
        return any(map(_may_hold, annotations_of(annotation).values()))
    return any(map(_may_hold, typing.get_args(annotation)))


def _find_regions(value: Any, path: str) -> Iterator[tuple[str, Graph]]:  # noqa: ANN401 - any attribute
    """Yield the graphs in an attribute."""
    if isinstance(value, Graph):
        yield path, value
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _find_regions(item, f"{path}[{index}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _find_regions(getattr(value, field.name), f"{path}.{field.name}")
