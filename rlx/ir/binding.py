"""Symbols bound to integers: in graphs and attributes of ops, and out of the shapes of arrays.

Tests: tests/unit/passes/transforms/test_bind.py
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.attributes import map_attribute
from rlx.ir.dims import Dim
from rlx.ir.graph import Graph, Input, Param
from rlx.ir.rewriter import rebuild

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.ir.graph import Node, Value
    from rlx.ir.types import Array, TensorType

_PLAIN: Final = frozenset({bool, float, int, str, type(None)})
"""Types of attributes that hold no symbols."""


def substitute(value: Any, sizes: Mapping[str, int]) -> Any:  # noqa: ANN401 - any attribute
    """Return an op or an attribute with bound symbols replaced, itself if it holds none.

    Raises:
        ValueError: A dimension would be negative.
    """

    def bind_symbols(attribute: Any) -> Any:  # noqa: ANN401 - any attribute
        if isinstance(attribute, Dim):
            return _bind_dim(attribute, sizes)
        return bind_graph(attribute, sizes) if isinstance(attribute, Graph) else attribute

    return map_attribute(value, bind_symbols)


def symbols_of(value: Any) -> set[str]:  # noqa: ANN401 - any attribute
    """Return the names of the symbols in an op or an attribute."""
    if type(value) in _PLAIN:
        return set()
    if isinstance(value, Dim):
        return set(value.symbols)
    if isinstance(value, Graph):
        return set().union(*(symbols_of(node.op) for node in value.nodes))
    if isinstance(value, tuple):
        return (
            set() if _PLAIN.issuperset(map(type, value)) else set().union(*map(symbols_of, value))
        )
    if is_dataclass(value) and not isinstance(value, type):
        return set().union(*(symbols_of(getattr(value, f.name)) for f in fields(value)))
    return set()


def bind_graph(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return ``graph`` with symbols replaced by integers, itself if it has none of them.

    Raises:
        ValueError: A dimension would be negative.
        ShapeError: An op does not accept operands of these sizes.
    """
    if symbols_of(graph).isdisjoint(sizes):
        return graph

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> tuple[Value, ...] | None:
        op = substitute(node.op, sizes)
        if op is node.op:
            return None
        quants = [t.quant for t in node.types]
        quant = quants[0] if len(quants) == 1 and not isinstance(op, Input | Param) else None
        return new.append(op, *operands, quant=quant).results

    return rebuild(graph, visit)


def _bind_dim(dim: Dim, sizes: Mapping[str, int]) -> int | Dim:
    """Return a dimension with bound symbols replaced."""
    size = dim.bind(sizes)
    if isinstance(size, int) and size < 0:
        raise ValueError(f"dimension {dim} must not be negative, but is {size}{_with(dim, sizes)}")
    return size


def _with(dim: Dim, sizes: Mapping[str, int]) -> str:
    """Return the known symbols of a dimension for a message, such as `` with past = 3``."""
    known = ", ".join(f"{name} = {sizes[name]}" for name in dim.symbols if name in sizes)
    return f" with {known}" if known else ""


def match_shapes(
    types: Iterable[tuple[str, TensorType]], arrays: Sequence[Array]
) -> dict[str, int]:
    """Return the size of each symbol that follows from the shapes of ``arrays``.

    A symbol is found where a dimension is the symbol, or an integer times it plus an integer. Other
    expressions need symbols that other dimensions define.

    Args:
        types: Name of each array in messages, and the type it has to match.
        arrays: One array for each.

    Raises:
        ValueError: A shape does not fit, two arrays have different sizes for a symbol, or no
            dimension defines a symbol.
    """
    sizes: dict[str, int] = {}
    pending: list[_Axis] = []
    for (what, type_), array in zip(types, arrays, strict=True):
        if array.ndim != type_.rank:
            raise ValueError(f"{what} must be {type_}, got {list(array.shape)}")
        for axis, expected in enumerate(type_.shape):
            dimension = _Axis(what, type_, array.shape, axis)
            if isinstance(expected, Dim):
                pending.append(dimension)
            elif expected != array.shape[axis]:
                raise dimension.misfit(sizes)
    while pending:
        waiting = [axis for axis in pending if not axis.settle(sizes)]
        if len(waiting) == len(pending):
            raise waiting[0].unknown(sizes)
        pending = waiting
    return sizes


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of an array that has to match a type.

    Attributes:
        what: Name of the array in messages.
        type: The type.
        shape: The array's shape.
        axis: The axis.
    """

    what: str
    type: TensorType
    shape: tuple[int, ...]
    axis: int

    @property
    def expected(self) -> Dim:
        """The dimension that the type has here."""
        dim = self.type.shape[self.axis]
        assert isinstance(dim, Dim)  # by the caller
        return dim

    def settle(self, sizes: dict[str, int]) -> bool:
        """Check the axis, or add the one symbol it defines to ``sizes``; whether that was possible.

        Raises:
            ValueError: The axis does not fit.
        """
        size, known = self.shape[self.axis], self.expected.bind(sizes)
        if isinstance(known, int):
            if known != size:
                raise self.misfit(sizes)
            return True
        (factor, names), *rest = known.terms
        if len(names) != 1 or any(others for _, others in rest):
            return False
        number, remainder = divmod(size - sum(number for number, _ in rest), factor)
        if remainder or number < 0:
            raise self.misfit(sizes)
        sizes[names[0]] = number
        return True

    def misfit(self, sizes: Mapping[str, int]) -> ValueError:
        """Return the error for an axis of another size."""
        dim = self.type.shape[self.axis]
        extra = _with(dim, sizes) if isinstance(dim, Dim) else ""
        return ValueError(f"{self.what} must be {self.type}{extra}, got {list(self.shape)}")

    def unknown(self, sizes: Mapping[str, int]) -> ValueError:
        """Return the error for symbols that no axis determines."""
        names = ", ".join(name for name in self.expected.symbols if name not in sizes)
        return ValueError(
            f"{self.what} is {self.type}, which does not say how large {names} is; "
            "give an input that has the symbol as a dimension of its own"
        )
