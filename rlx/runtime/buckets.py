"""Sizes of symbols rounded up, so that few programs serve inputs of many sizes.

Inputs are padded to the next size of a bucket, and outputs cut to the size that they would have.
That is exact where every row of an output depends on the same row of the inputs alone, which is
proved for the graph; for any other graph the user states that the padding does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rlx.ir import Dim
from rlx.ir.binding import bind_graph, substitute, symbols_of
from rlx.ir.hash import structural_hash
from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import batching_refusal, with_batch
from rlx.passes.transforms.bind import symbols
from rlx.runtime.arguments import converted
from rlx.support.errors import ShapeError, UnsupportedOpError, UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph

    Sizes: TypeAlias = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Buckets:
    """Sizes that symbols in dimensions are rounded up to.

    ::

        rlx.CompileOptions(buckets=rlx.Buckets({"batch": None}))
        rlx.CompileOptions(
            buckets=rlx.Buckets({"length": (16, 64, 256)}, padding={"mask": 0}, trusted=True)
        )

    Attributes:
        sizes: Sizes by symbol, ascending; None for powers of two. Larger sizes are not rounded.
        padding: Value of the added elements of an input by name, of its element type; 0 for others.
        trusted: Whether the user states that the added elements do not change the results, as with
            a mask. Else only graphs are accepted whose rows are proved to be independent.

    Raises:
        UsageError: Sizes are not ascending positive integers.
    """

    sizes: Mapping[str, Sequence[int] | None]
    padding: Mapping[str, float] = field(default_factory=dict)
    trusted: bool = False

    def __post_init__(self) -> None:
        for symbol, sizes in self.sizes.items():
            ladder = [1] if sizes is None else list(sizes)
            valid = all(isinstance(size, int) and size > 0 for size in ladder)
            if not (ladder and valid and ladder == sorted(set(ladder))):
                raise UsageError(
                    f"expected ascending positive sizes of {symbol!r}, got {sizes!r}",
                    where="buckets",
                    hint="give sizes such as (1, 8, 64), or None for powers of two",
                )

    def rounded(self, symbol: str, size: int) -> int:
        """Return the size of the bucket that holds ``size``; itself if none does."""
        if symbol not in self.sizes:
            return size
        ladder = self.sizes[symbol]
        if ladder is None:
            return 1 << (size - 1).bit_length()
        return next((bucket for bucket in ladder if bucket >= size), size)


class Padding:
    """Buckets for a graph: pads its inputs, and cuts its outputs."""

    def __init__(self, graph: Graph, buckets: Buckets) -> None:
        """Check that a graph can be padded.

        Raises:
            UsageError: A name is unknown, or padding may change the results.
        """
        self._graph = graph
        self._buckets = buckets
        states = {state for state, _ in graph.states}
        self._inputs = [value for value in graph.inputs if value not in states]
        _check_names(buckets.sizes, symbols(graph), "symbol")
        _check_names(buckets.padding, [value.name for value in self._inputs], "input")
        for symbol in buckets.sizes:
            if reason := _refusal(graph, symbol, trusted=buckets.trusted):
                raise UsageError(
                    f"the size of {symbol!r} cannot be rounded: {reason}",
                    where=f"graph {graph.name!r}",
                    hint="leave the symbol out, or state with trusted=True that padding does not"
                    " change the results",
                )
        self._values = [self._value(value.name) for value in self._inputs]

    def _value(self, name: str) -> Array:
        type_ = next(value.type for value in self._inputs if value.name == name)
        value = converted(f"padding of input {name!r}", type_, self._buckets.padding.get(name, 0))
        return value.astype(type_.dtype.numpy)

    def rounded(self, sizes: Sizes) -> Sizes:
        """Return the sizes that are compiled for."""
        return tuple((symbol, self._buckets.rounded(symbol, size)) for symbol, size in sizes)

    def padded(self, arrays: Sequence[Array], sizes: Sizes) -> list[Array]:
        """Return an array of the rounded sizes for each input, in order."""
        bindings = dict(sizes)
        filled = []
        for value, array, number in zip(self._inputs, arrays, self._values, strict=True):
            shape = substitute(value.type, bindings).static_shape
            if array.shape != shape:
                larger = np.full(shape, number, array.dtype)
                larger[tuple(map(slice, array.shape))] = array
                array = larger
            filled.append(array)
        return filled

    def cut(self, arrays: Sequence[Array], sizes: Sizes) -> list[Array]:
        """Return the parts of outputs that belong to the sizes of the inputs."""
        bindings = dict(sizes)
        shapes = [substitute(value.type, bindings).static_shape for value in self._graph.outputs]
        return [array[tuple(map(slice, s))] for array, s in zip(arrays, shapes, strict=True)]


def _check_names(mapping: Mapping[str, object], names: Sequence[str], kind: str) -> None:
    for name in mapping:
        if name not in names:
            raise UsageError(
                f"no {kind} is called {name!r}",
                where="buckets",
                hint=did_you_mean(name, names, what=f"{kind}s"),
            )


def _refusal(graph: Graph, symbol: str, *, trusted: bool) -> str | None:
    """Return the reason that added elements may change results, or None if they cannot."""
    states = [state for state, _ in graph.states]
    for value in (*graph.params, *states):
        if symbol in symbols_of(value.type):
            return f"{value.name!r} is {value.type} and is kept from run to run"
    if trusted:
        return None
    if states:
        return "the graph has states, and each row is a part of them"
    for value in graph.inputs:
        if value.type.shape[:1] != (Dim(symbol),) or symbol in symbols_of(value.type.shape[1:]):
            return f"it is not the first dimension, and no other, of input {value.name!r}"
    return _dependence(DeadCode().apply(decompose(graph)), symbol)


def _dependence(graph: Graph, symbol: str) -> str | None:
    """Return the reason that rows of a graph may depend on one another, or None.

    A graph whose rows do not is equal to that for one row, batched.
    """
    single = bind_graph(graph, {symbol: 1})
    if (reason := batching_refusal(single)) is not None:
        return reason
    try:
        batched = with_batch(single, Dim(symbol))
    except (ShapeError, UnsupportedOpError) as error:
        return error.message
    if structural_hash(batched) != structural_hash(graph):
        return "its rows cannot be shown to be independent"
    return None
