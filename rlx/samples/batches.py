"""Samples for the inputs of a graph, with labels or without, read batch by batch."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rlx.ir.inspect import printable
from rlx.ops.numbers import quantized
from rlx.passes.transforms.bind import check_bound
from rlx.samples.classes import read_classes
from rlx.samples.given import arrays_by_name, path_of
from rlx.samples.layout import channels_last, fits_as_in_file, order_hint
from rlx.samples.shapes import sample_shape
from rlx.support.errors import UsageError
from rlx.support.files.arrays import StoredArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    import numpy.typing as npt

    from rlx.ir import Array, Graph, Value
    from rlx.samples.given import Inputs


LABELS = ("y", "labels")
"""Names of the array of labels."""

_BLOCK_BYTES = 8 << 20
"""Bytes of labels that are read at a time."""


class _Blocks(Protocol):
    """An array, in memory or in a file."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the array in blocks of ``rows`` along the first axis."""
        ...


@dataclass(frozen=True, slots=True)
class _ArrayInMemory:
    """An array in memory."""

    array: npt.NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the array in blocks of ``rows`` along the first axis."""
        for start in range(0, len(self.array), rows):
            yield self.array[start : start + rows]


@dataclass(frozen=True, slots=True)
class _ChannelsLast:
    """Channels first samples, channels last."""

    array: _Blocks
    input_shape: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.array.shape[0], *self.input_shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    def blocks(self, rows: int) -> Iterator[Array]:
        """Yield the array in blocks of ``rows`` along the first axis."""
        return (channels_last(block, self.input_shape) for block in self.array.blocks(rows))


@dataclass(frozen=True, slots=True)
class Samples:
    """Samples for every input of a graph.

    Attributes:
        what: Name in messages, such as ``calibration data``.
        inputs: The inputs of the graph.
        count: Number of samples.
        labels: int64 [count], or None.
    """

    what: str
    inputs: tuple[Value, ...]
    count: int
    labels: npt.NDArray[np.int64] | None
    _arrays: tuple[_Blocks, ...]
    _step: int = 1
    _offset: int = 0

    def first(self, count: int) -> Samples:
        """Return the first ``count`` samples, or all if there are fewer."""
        count = min(count, self.count)
        labels = None if self.labels is None else self.labels[:count]
        return replace(self, count=count, labels=labels)

    def halves(self) -> tuple[Samples, Samples]:
        """Return every other sample, and those between: data are often sorted by class."""
        if self._step != 1:
            raise ValueError("cannot split again: these samples are already a half")
        parts = []
        for offset in (0, 1):
            labels = None if self.labels is None else self.labels[offset::2]
            count = (self.count + 1 - offset) // 2
            parts.append(replace(self, count=count, labels=labels, _step=2, _offset=offset))
        return parts[0], parts[1]

    def batches(self, size: int) -> Iterator[dict[str, Array]]:
        """Yield ``[n, *shape of a sample]`` in the element type of each input, by name.

        A sample's shape is that of the input without its leading dimension of 1, if it has one.

        Raises:
            UsageError: A value is NaN or infinite.
            FrontendError: The file is damaged.
        """
        streams = [array.blocks(size * self._step) for array in self._arrays]
        start = 0
        for parts in zip(*streams, strict=True):
            if start >= self.count:
                return
            strided = (part[self._offset :: self._step] for part in parts)
            part_arrays = [part[: self.count - start] for part in strided]
            yield {
                value.name: self._converted(value, part, start)
                for value, part in zip(self.inputs, part_arrays, strict=True)
            }
            start += len(part_arrays[0])

    def _converted(self, value: Value, part: Array, start: int) -> Array:
        """Return a block in the type and layout of the input."""
        type_ = value.type
        shaped = part.reshape(len(part), *sample_shape(type_))
        if shaped.dtype.kind == "f":
            self._check_finite(value, shaped, start)
        if type_.dtype.is_integer and shaped.dtype.kind == "f" and type_.quant is not None:
            return quantized(shaped, type_)
        with np.errstate(over="ignore"):
            converted = shaped.astype(type_.dtype.numpy, copy=False)
        if type_.dtype.is_float:
            self._check_finite(value, converted, start)
        return converted

    def _check_finite(self, value: Value, numbers: Array, start: int) -> None:
        rows = numbers.reshape(len(numbers), -1)
        # The sum is finite if all values are, except for sums that overflow.
        if np.isfinite(np.sum(rows, dtype=np.float64)):
            return
        bad = np.flatnonzero(~np.isfinite(rows.astype(np.float64)).all(axis=1))
        if not bad.size:
            return
        row = rows[bad[0]].astype(np.float64)
        kind = "NaN" if np.isnan(row).any() else "an infinite number"
        raise UsageError(
            f"sample {start + bad[0]} holds {kind}",
            where=_input_label(self.what, value),
            hint="leave such samples out",
        )


def read_samples(
    graph: Graph,
    data: Inputs,
    *,
    what: str,
    labels: npt.NDArray[Any] | str | PathLike[str] | None = None,
    steps: bool = False,
) -> Samples:
    """Return data as samples for the inputs of ``graph``.

    Args:
        graph: The graph.
        data: As :func:`rlx.samples.given.arrays_by_name` takes it.
        what: Name in messages, such as ``calibration data``.
        labels: A class for each sample or the path of a file of them, if they are not in ``data``.
        steps: Values of states may be left out.

    Raises:
        UsageError: There is no such file; something is missing, empty, of a wrong type or shape; or
            labels are not classes of the graph's output.
        FrontendError: It is not a readable NumPy file.
    """
    check_bound(graph)
    arrays = _arrays_of(data, graph.run_inputs if steps else graph.inputs, what)
    has_states = any(state.name in arrays for state, _ in graph.states)
    inputs = graph.run_inputs if steps and not has_states else graph.inputs
    input_arrays = [_input_array(value, arrays, what, inputs) for value in inputs]
    count = _common_count(inputs, input_arrays, what)
    if labels is not None:
        path = path_of(labels)
        stated: Array | None = np.asarray(labels) if path is None else read_classes(path)
    else:
        stated = _labels_in(arrays, {v.name for v in inputs})
    checked = None
    if stated is not None:
        where = f"labels of the {what}"
        checked = checked_labels(stated, classes_of(graph), count, where=where)
    return Samples(what, inputs, count, checked, tuple(input_arrays))


def _arrays_of(data: Inputs, inputs: Sequence[Value], what: str) -> dict[str, _Blocks]:
    """Return the arrays of ``data`` by name; the only array of a file without names is ``x``."""
    arrays = arrays_by_name(data, inputs, what=what)
    return {
        name: _ArrayInMemory(array) if isinstance(array, np.ndarray) else array
        for name, array in arrays.items()
    }


def _input_array(
    value: Value, arrays: Mapping[str, _Blocks], what: str, inputs: Sequence[Value]
) -> _Blocks:
    """Return the array for an input after checking its type and shape."""
    name, type_ = value.name, value.type
    array = arrays.get(name)  # an array without samples is false
    if array is None and len(inputs) == 1:
        array = arrays.get("x")
    if array is None and set(arrays) == {"x"} and len(inputs) > 1:
        names = ", ".join(repr(printable(one.name)) for one in inputs)
        raise UsageError(
            f"holds one array, and the network has {len(inputs)} inputs",
            where=what,
            hint=f"give a .npz file with an array for each input: {names}",
        )
    if array is None:
        raise UsageError(
            f"holds nothing for input {printable(name)!r}, only"
            f" {', '.join(map(repr, sorted(arrays))) or 'nothing at all'}",
            where=what,
            hint=f"name an array {name!r}"
            + (" or 'x'" if len(inputs) == 1 and name != "x" else ""),
        )
    _check_type(value, array.dtype, what)
    if fits_as_in_file(value, array.shape):
        return _ChannelsLast(array, type_.static_shape)
    sample = sample_shape(type_)
    stored_sample = array.shape[1:]
    if not array.shape or stored_sample not in (sample, (1, *sample), tuple(type_.static_shape)):
        flat = int(np.prod(sample, dtype=np.int64))
        if not array.shape or stored_sample != (flat,):
            raise UsageError(
                f"its shape is {list(array.shape)}, but {type_} needs"
                f" [samples, {', '.join(map(str, sample))}]",
                where=_input_label(what, value),
                hint=order_hint(array.shape, type_.static_shape)
                or "the first axis counts the samples",
            )
    return array


def _check_type(value: Value, dtype: np.dtype[Any], what: str) -> None:
    """Check that values of ``dtype`` can be passed to an input."""
    type_ = value.type
    if type_.dtype.is_float and dtype.kind != "f" and dtype != type_.dtype.numpy:
        raise UsageError(
            f"expected {type_.dtype.numpy} numbers for the input {type_}, got {dtype}",
            where=_input_label(what, value),
            hint="give floating-point numbers, scaled as in training",
        )
    quantizable = dtype.kind == "f" and type_.quant is not None
    if type_.dtype.is_integer and dtype != type_.dtype.numpy and not quantizable:
        raise UsageError(
            f"expected {type_.dtype.numpy} numbers for the input {type_}, got {dtype}",
            where=_input_label(what, value),
            hint=f"give {type_.dtype.numpy} numbers"
            + (", or floats scaled as in training" if type_.quant else ""),
        )


def _common_count(inputs: Sequence[Value], arrays: Sequence[_Blocks], what: str) -> int:
    counts = {array.shape[0] for array in arrays}
    if len(counts) > 1:
        raise UsageError(
            "holds different numbers of samples: "
            + ", ".join(
                f"{array.shape[0]} for {printable(value.name)!r}"
                for value, array in zip(inputs, arrays, strict=True)
            ),
            where=what,
            hint="give the same number of samples for each input",
        )
    (count,) = counts or {0}
    if not count:
        raise UsageError("holds no samples", where=what, hint="give at least one")
    return count


def _labels_in(arrays: Mapping[str, _Blocks], inputs: set[str]) -> Array | None:
    for name in LABELS:
        if name in arrays and name not in inputs:
            stored = arrays[name]
            if isinstance(stored, _ArrayInMemory):
                return stored.array
            assert isinstance(stored, StoredArray)
            blocks = list(stored.blocks(max(1, _BLOCK_BYTES // stored.dtype.itemsize)))
            return np.concatenate(blocks) if blocks else np.empty(stored.shape, stored.dtype)
    return None


def checked_labels(
    labels: npt.NDArray[Any], classes: int, count: int, *, where: str
) -> npt.NDArray[np.int64]:
    """Return labels as int64 [count].

    Raises:
        UsageError: They are not integers, of a wrong number, or no class has such a number.
    """
    numbers = labels.reshape(-1) if labels.size == count else labels
    if numbers.ndim != 1 or len(numbers) != count:
        raise UsageError(
            f"their shape is {list(labels.shape)}, but there are {count} samples",
            where=where,
            hint="give the number of a class for each sample",
        )
    if numbers.dtype.kind not in "iub":
        raise UsageError(
            f"expected integers as classes, got {numbers.dtype}",
            where=where,
            hint="convert them: labels.astype('int64')",
        )
    whole = numbers.astype(np.int64)
    bad = np.flatnonzero((whole < 0) | (whole >= classes))
    if bad.size:
        raise UsageError(
            f"sample {bad[0]} has the label {whole[bad[0]]}, but there are the classes 0 to"
            f" {classes - 1}",
            where=where,
            hint="number the classes from 0, in the order of the network's outputs",
        )
    return whole


def classes_of(graph: Graph) -> int:
    """Return the number of classes of labels: two where the output is a scalar or not a vector.

    A network that reconstructs its input is scored by the error, for two classes.
    """
    output = graph.outputs[0].type
    inputs = graph.run_inputs
    reconstructs = len(inputs) == 1 and output.shape == inputs[0].type.shape
    return 2 if output.size == 1 or reconstructs else output.size


def _input_label(what: str, value: Value) -> str:
    return f"{what}, input {printable(value.name)!r}"


def take(samples: Samples, count: int) -> dict[str, Array]:
    """Return the first ``count`` samples of every input as one batch."""
    return next(itertools.islice(samples.first(count).batches(count), 1))
