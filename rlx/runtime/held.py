"""Inputs whose values a compiled graph keeps from run to run, for graphs without states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.runtime.arguments import list_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.ir import Array, TensorType


class HeldInputs:
    """Inputs that were bound as states, each with its value and the output that refreshes it.

    Attributes:
        types: Type of each input of the graph by name, bound or not, in order.
        feeds: Place of the output that becomes the next value, by name of the input.
    """

    def __init__(self, types: Mapping[str, TensorType]) -> None:
        self.types = dict(types)
        self.feeds: dict[str, int] = {}
        self._bound: dict[str, Array] = {}
        self._values: dict[str, Array] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs that are bound, in order."""
        return tuple(name for name in self.types if name in self._values)

    @property
    def free(self) -> dict[str, TensorType]:
        """Type of each input that comes with each run."""
        return {name: type_ for name, type_ in self.types.items() if name not in self._values}

    def bind(self, name: str, value: Array) -> None:
        """Set the value of an input before the next run, and after a reset."""
        self._bound[name] = value.copy()
        self._values[name] = value.copy()

    def unbind(self, name: str) -> None:
        """Let an input come with each run again.

        Raises:
            ValueError: It is not bound.
        """
        self._require(name)
        del self._bound[name], self._values[name]
        self.feeds.pop(name, None)

    def feed(self, name: str, output_index: int, output: str, type_: TensorType) -> None:
        """Let an output become the next value of an input after each run.

        Raises:
            ValueError: The input is not bound, or the output is of another type.
        """
        self._require(name)
        if not _may_hold(self.types[name], type_):
            raise ValueError(f"output {output!r} is {type_}, but input {name!r} {self.types[name]}")
        self.feeds[name] = output_index

    def read(self, name: str) -> Array:
        """Return a copy of the value of an input that is bound."""
        return self._values[name].copy()

    def reset(self, name: str) -> None:
        """Give an input the value that was bound last."""
        self._values[name] = self._bound[name].copy()

    def filled(self, names: Iterable[str], arrays: Sequence[Array]) -> list[Array]:
        """Return the arrays of all inputs in order: those of the call, and those that are held.

        Raises:
            ValueError: An input is neither passed nor bound.
        """
        passed = dict(zip(names, arrays, strict=True))
        values = []
        for name in self.types:
            array = passed[name] if name in passed else self._values.get(name)
            if array is None:
                raise ValueError(
                    f"input {name!r} is missing; the graph takes: {list_types(self.free)}"
                )
            values.append(array)
        return values

    def refresh(self, outputs: Sequence[Array]) -> None:
        """Take the next values from the outputs of a run."""
        for name, place in self.feeds.items():
            value, new = self._values[name], outputs[place]
            if value.shape == new.shape:
                np.copyto(value, new)
            else:
                self._values[name] = new.copy()

    def _require(self, name: str) -> None:
        if name not in self._values:
            raise ValueError(f"input {name!r} is not bound; bind it with bind_state()")


def _may_hold(type_: TensorType, other: TensorType) -> bool:
    """Whether an array of ``other`` may be one of ``type_``: symbols match any size."""
    if type_.dtype is not other.dtype or type_.rank != other.rank:
        return False
    sizes = zip(type_.shape, other.shape, strict=True)
    return all(not (isinstance(a, int) and isinstance(b, int)) or a == b for a, b in sizes)
