"""Sizes of dimensions that a file leaves open: those of the samples, and 1 for the batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from rlx.support.errors import UsageError
from rlx.support.text.names import printable, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Dims: TypeAlias = "tuple[int | str, ...]"
"""The dimensions of an input: integers, and names of those that are open."""

_EXAMPLES: Final = {2: 224, 1: 128}
"""Size of an open dimension in examples, by how many follow batch and channels."""


@dataclass(frozen=True, slots=True)
class OpenInput:
    """An input as a file states it.

    Attributes:
        name: Its name.
        dims: Its dimensions.
    """

    name: str
    dims: Dims

    @property
    def example(self) -> tuple[int, ...]:
        """Its shape with integers where it has names: 1 for the batch."""
        size = _EXAMPLES.get(len(self.dims) - 2, 8)
        first = len(self.dims) > 1
        return tuple(
            d if isinstance(d, int) else 1 if first and not axis else size
            for axis, d in enumerate(self.dims)
        )

    def __str__(self) -> str:
        """Return it for messages, as ``'accel' [batch, 3, 128]``."""
        dims = ", ".join(shorten(printable(str(d)), 24) for d in self.dims)
        return f"'{shorten(printable(self.name))}' [{dims}]"


def shape_hint(inputs: Sequence[OpenInput]) -> str:
    """Return the options that set the shapes of ``inputs``, on the command line and in Python."""
    named = [(shorten(printable(i.name)), i.example) for i in inputs]
    flags = " ".join(f"--input-shape {name}={'x'.join(map(str, s))}" for name, s in named)
    shapes = ", ".join(f"{name!r}: {shape}" for name, shape in named)
    return f"give them, as {flags} (in Python: rlx.load(path, input_shape={{{shapes}}}))"


@dataclass(slots=True)
class DimensionSizes:
    """Fixes open dimensions while a file is read.

    Attributes:
        samples: Shape of each array of samples by name; ``x`` is that of an only input.
        channels_last: Whether samples may be channels last where the file is channels first.
        notes: Lines about sizes that were fixed without being asked.
    """

    samples: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    channels_last: bool = False
    notes: list[str] = field(default_factory=list)

    def fix(self, inputs: Sequence[OpenInput]) -> dict[str, int]:
        """Return the size of each name in the dimensions of ``inputs``.

        Raises:
            UsageError: Nothing says how large one is.
        """
        sizes = self.known(inputs)
        unknown = [i for i in inputs if any(isinstance(d, str) and d not in sizes for d in i.dims)]
        if unknown:
            raise UsageError(
                f"nothing says how large the dimensions with names are: input "
                f"{', input '.join(map(str, unknown))}",
                hint=shape_hint(unknown),
            )
        return sizes

    def known(self, inputs: Sequence[OpenInput]) -> dict[str, int]:
        """Return the sizes of names that follow from samples, and those of batches."""
        sizes: dict[str, int] = {}
        for open_input in inputs:
            shape = self._samples_of(open_input, alone=len(inputs) == 1)
            for name, size in self._matched(open_input.dims, shape).items():
                sizes.setdefault(name, size)
        for name, owner in _batches(inputs).items():
            if name in sizes:
                continue
            sizes[name] = 1
            if self._samples_of(owner, alone=len(inputs) == 1) is None:
                example = "x".join(map(str, (4, *owner.example[1:])))
                self.notes.append(
                    f"input {owner}: the batch is 1 (--input-shape"
                    f" {shorten(printable(owner.name))}={example} for another)"
                )
        return sizes

    def _samples_of(self, open_input: OpenInput, *, alone: bool) -> tuple[int, ...] | None:
        found = self.samples.get(open_input.name)
        return self.samples.get("x") if found is None and alone else found

    def _matched(self, dims: Dims, shape: tuple[int, ...] | None) -> dict[str, int]:
        """Return the sizes of an input's dimensions in samples; none if they do not fit."""
        if shape is None:
            return {}
        orders = [dims]
        if self.channels_last and len(dims) > 2:
            orders.append((dims[0], *dims[2:], dims[1]))
        for order in orders:
            # Samples have an axis of their own, or in place of the batch; one may have neither.
            pairs = [(order, shape[1:]), (order[1:], shape)]
            if order and (order[0] == 1 or isinstance(order[0], str)):
                pairs.insert(0, (order[1:], shape[1:]))
            for order_dims, sample_dims in pairs:
                sizes = _bind_sizes(order_dims, sample_dims)
                if sizes is not None:
                    return sizes
        return {}


def _bind_sizes(dims: Dims, shape: tuple[int, ...]) -> dict[str, int] | None:
    """Return the sizes of names that make ``dims`` a shape, None if nothing does."""
    if len(dims) != len(shape):
        return None
    sizes: dict[str, int] = {}
    for dim, size in zip(dims, shape, strict=True):
        known = dim if isinstance(dim, int) else sizes.setdefault(dim, size)
        if known != size:
            return None
    return sizes


def _batches(inputs: Sequence[OpenInput]) -> dict[str, OpenInput]:
    """Return the names of batches, each with the first input that has it.

    A batch is the first of several dimensions, and occurs nowhere else.
    """
    others = {d for i in inputs for d in i.dims[1:] if isinstance(d, str)}
    found: dict[str, OpenInput] = {}
    for one in inputs:
        first = one.dims[0] if len(one.dims) > 1 else None
        if isinstance(first, str) and first not in others:
            found.setdefault(first, one)
    return found
