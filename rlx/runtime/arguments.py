"""The arrays passed to a run, checked against the inputs of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.ops.numbers import quantized
from rlx.support.text.units import counted
from rlx.tracing.arrays import converted_to

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, TensorType


class Arguments:
    """Inputs that a caller passes to each run.

    Attributes:
        types: Type of each input by name, in order.
    """

    def __init__(self, types: Mapping[str, TensorType]) -> None:
        self.types = dict(types)

    def converted(self, inputs: Mapping[str, npt.ArrayLike]) -> list[Array]:
        """Return the inputs in order, in their element types.

        Floats for a quantized input are quantized by its scale. Integers for a float input are
        converted without a scale, as NumPy does; ``rlx.run``, which takes samples, refuses them.

        Raises:
            TypeError: Numbers do not fit an element type.
            ValueError: A name is missing or unknown; NaN or infinity is passed to a quantized
                input.
        """
        given = self._check_names(inputs)
        return [_converted_input(n, t, given[n]) for n, t in self.types.items()]

    def typed(self, inputs: Mapping[str, Array]) -> Sequence[Array]:
        """Return the inputs in order, which must be arrays of exactly the element types.

        Raises:
            TypeError: A value is not an array, or of another element type.
            ValueError: A name is missing or unknown.
        """
        given = self._check_names(inputs)
        return self.exact([given[name] for name in self.types])

    def exact(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return inputs in order, as ``typed`` does."""
        self.check_count(inputs)
        for (name, type_), value in zip(self.types.items(), inputs, strict=True):
            if not isinstance(value, np.ndarray):
                kind = type(value).__name__
                raise TypeError(f"input {name!r} must be an array of {type_}, got {kind}")
            if value.dtype != type_.dtype.numpy:
                actual = f"{value.dtype}{list(value.shape)}"
                raise TypeError(f"input {name!r} must be {type_}, got {actual}")
        return inputs

    def check_count(self, inputs: Sequence[Any]) -> None:
        """Raise ValueError if the number of inputs is not the graph's."""
        if len(inputs) != len(self.types):
            raise ValueError(f"expected {counted(len(self.types), 'input')}, got {len(inputs)}")

    def _check_names(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return ``inputs`` after checking their names.

        Raises:
            TypeError: They have no names.
            ValueError: A name is missing or unknown.
        """
        try:
            as_declared = inputs.keys() == self.types.keys()
        except AttributeError:
            kind, takes = type(inputs).__name__, list_types(self.types)
            raise TypeError(
                f"inputs must be a mapping from names to arrays, got {kind};"
                f" the graph takes: {takes}"
            ) from None
        if as_declared:
            return inputs
        missing = [n for n in self.types if n not in inputs]
        unknown = [n for n in inputs if n not in self.types]
        what = f"input {(missing or unknown)[0]!r} {'is missing' if missing else 'is unknown'}"
        raise ValueError(f"{what}; the graph takes: {list_types(self.types)}")


def _converted_input(name: str, type_: TensorType, value: npt.ArrayLike) -> Array:
    """Return ``value`` in the element type of an input, quantized if it holds floats."""
    array = _array(f"input {name!r}", type_, value)
    if array.dtype == type_.dtype.numpy:
        return array
    quant = type_.quant
    if (
        type_.dtype.is_integer
        and array.dtype.kind == "f"
        and quant is not None
        and quant.axis is None
    ):
        if not np.isfinite(array).all():
            raise ValueError(f"input {name!r} holds NaN or infinity, which cannot be quantized")
        return quantized(array, type_)
    return converted(f"input {name!r}", type_, array)


def list_types(types: Mapping[str, TensorType]) -> str:
    """Return names and types for a message."""
    return ", ".join(f"{name}: {type_}" for name, type_ in types.items()) or "none"


def converted(what: str, type_: TensorType, value: npt.ArrayLike) -> Array:
    """Return ``value`` in the type's element type.

    Raises:
        TypeError: It does not fit.
        ValueError: Its rows are not of one length.
    """
    array = _array(what, type_, value)
    if array.dtype == type_.dtype.numpy:
        return array
    found = converted_to(array, type_.dtype)
    if found is None:
        raise TypeError(f"{what} must be {type_}, got {array.dtype}{list(array.shape)}")
    return found


def _array(what: str, type_: TensorType, value: npt.ArrayLike) -> Array:
    """Return ``value`` as an array with a matching element type."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{what} must be {type_}, not lists of several lengths") from None
