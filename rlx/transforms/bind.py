"""Symbolic dimensions: which ones a graph has, and what they stand for."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from rlx.ir import Dim, Graph, Input, Param, TensorType, rebuild

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.ir import Array, Node, Value


def symbols(graph: Graph) -> tuple[Dim, ...]:
    """Return the symbolic dimensions of all inputs and parameters, by name."""
    found = {n for v in (*graph.inputs, *graph.params) for n in v.type.shape if isinstance(n, Dim)}
    return tuple(sorted(found, key=lambda d: d.name))


def bind(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return ``graph`` with symbols replaced by numbers, and every type inferred anew.

    Args:
        graph: The graph.
        sizes: A size for each symbol that is bound, by name; others stay symbols.

    Raises:
        ValueError: The graph has no such symbol, or a size is not positive.
    """
    known = [d.name for d in symbols(graph)]
    for name, size in sizes.items():
        if name not in known:
            raise ValueError(f"graph {graph.name!r} has no symbol {name!r}, only {known}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"symbol {name!r} must be bound to a positive number, not {size!r}")

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        op = _substitute(node.op, sizes)
        if op is node.op:
            return None
        quants = [t.quant for t in node.types]
        quant = quants[0] if len(quants) == 1 and not isinstance(op, Input | Param) else None
        return new.append(op, *operands, quant=quant).results

    return rebuild(graph, visit) if sizes else graph


def _substitute(value: Any, sizes: Mapping[str, int]) -> Any:  # noqa: ANN401 - any attribute
    """Return ``value`` with bound symbols replaced, itself if it holds none."""
    if isinstance(value, Dim):
        return sizes.get(value.name, value)
    if isinstance(value, tuple):
        items = tuple(_substitute(v, sizes) for v in value)
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if is_dataclass(value) and not isinstance(value, type):
        old = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        new = {name: _substitute(v, sizes) for name, v in old.items()}
        changed = {name: v for name, v in new.items() if v is not old[name]}
        return replace(value, **changed) if changed else value
    return value


def match_shapes(
    types: Iterable[tuple[str, TensorType]], arrays: Sequence[Array]
) -> dict[str, int]:
    """Return the size of each symbol, as the shapes of ``arrays`` tell.

    Args:
        types: What each array is called in messages, and the type it has to match.
        arrays: One array for each.

    Raises:
        ValueError: A shape does not fit, or two arrays give a symbol different sizes.
    """
    sizes: dict[str, int] = {}
    for (what, type_), array in zip(types, arrays, strict=True):
        if array.ndim != type_.rank:
            raise ValueError(f"{what} must be {type_}, not {list(array.shape)}")
        for wanted, size in zip(type_.shape, array.shape, strict=True):
            number = sizes.setdefault(wanted.name, size) if isinstance(wanted, Dim) else wanted
            if number != size:
                told = f" with {wanted} = {number}" if isinstance(wanted, Dim) else ""
                raise ValueError(f"{what} must be {type_}{told}, not {list(array.shape)}")
    return sizes
