"""Sides of a comparison: a graph that is run, a compiled graph, or outside arrays.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rlx.ir.inspect import printable
from rlx.metrics.runner import MAX_BATCH, Runner
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, Graph, TensorType, Value
    from rlx.runtime import CompiledGraph
    from rlx.samples.batches import Samples

    Batch = tuple[Mapping[str, Array], Sequence[Array]]


@dataclass(frozen=True, slots=True)
class OutputSide:
    """An output: its name, and its type for one sample, or None where nothing states it."""

    name: str
    type: TensorType | None


class Side(Protocol):
    """One of two things that are compared.

    Attributes:
        ports: Its outputs.
        graph: Graph that it computes, if that is known.
        count: Samples.
        batch: Maximum samples of one run.
    """

    ports: tuple[OutputSide, ...]
    graph: Graph | None
    count: int
    batch: int

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield inputs by name, and outputs and watched values ``[n, *shape of a sample]``."""
        ...


def ports_of(graph: Graph) -> tuple[OutputSide, ...]:
    """Return the outputs of a graph."""
    pairs = zip(graph.output_names, graph.outputs, strict=True)
    return tuple(OutputSide(name, value.type) for name, value in pairs)


class GraphSide:
    """A graph run by the reference, with the values of some of its nodes."""

    def __init__(self, graph: Graph, samples: Samples, watched: Sequence[Value] = ()) -> None:
        self.graph: Graph | None = graph
        self.ports = ports_of(graph)
        self.count = samples.count
        self._samples = samples
        self._runner = Runner(graph, [*graph.outputs, *watched])
        self.batch = self._runner.batch

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield inputs, and outputs and watched values."""
        for inputs in self._samples.batches(size):
            yield inputs, self._runner.run_batch(inputs)


class CompiledSide:
    """A compiled graph, run without a change, one sample at a time.

    Samples hold values of states too, which are bound before each run; those of the given object
    stay unchanged.
    """

    batch = MAX_BATCH

    def __init__(self, compiled: CompiledGraph, samples: Samples) -> None:
        self.graph: Graph | None = compiled.graph
        self.ports = ports_of(compiled.graph)
        self.count = samples.count
        self._compiled = compiled.clone() if compiled.state_types else compiled
        self._samples = samples

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield inputs and outputs."""
        types = self._compiled.input_types | self._compiled.state_types
        for inputs in self._samples.batches(size):
            count = len(next(iter(inputs.values())))
            shaped = {n: inputs[n].reshape(count, *t.static_shape) for n, t in types.items()}
            runs = [self._run({n: array[i] for n, array in shaped.items()}) for i in range(count)]
            arrays = [np.stack(parts) for parts in zip(*runs, strict=True)]
            # A leading dimension of 1 that an output has is that of the samples.
            ones = [v.type.shape[:1] == (1,) for v in self._compiled.graph.outputs]
            yield inputs, [a[:, 0] if one else a for a, one in zip(arrays, ones, strict=True)]

    def _run(self, sample: Mapping[str, Array]) -> list[Array]:
        """Return the outputs for one sample."""
        for name in self._compiled.state_types:
            self._compiled.bind_state(name, sample[name])
        return self._compiled.run({name: sample[name] for name in self._compiled.input_types})


class ArraySide:
    """Outputs that something else computed, ``[samples, *shape of a sample]`` by name."""

    graph: Graph | None = None
    batch = 1 << 10

    def __init__(
        self, arrays: Mapping[str, npt.ArrayLike], other: Sequence[OutputSide] | None
    ) -> None:
        """Take arrays as outputs.

        Args:
            arrays: By name of the output.
            other: Outputs of the other side: integers of an output's element type are its quantized
                values. None if these are arrays too.

        Raises:
            UsageError: There are none, or their numbers of samples differ.
        """
        self._arrays: dict[str, npt.NDArray[Any]] = {k: np.asarray(v) for k, v in arrays.items()}
        counts = {a.shape[0] if a.ndim else 0 for a in self._arrays.values()}
        if len(counts) != 1 or not min(counts):
            shapes = {printable(k): list(a.shape) for k, a in self._arrays.items()}
            raise UsageError(
                f"arrays by name need the same number of samples in each, but there are {shapes}",
                where="compared arrays",
                hint="give {output: array [samples, *shape]}",
            )
        (self.count,) = counts
        plain = [OutputSide(name, None) for name in self._arrays]
        ports = tuple(other or ())
        types: dict[str, TensorType | None] = dict.fromkeys(self._arrays)
        types |= {plain[i].name: ports[k].type for i, k in _match_indices(plain, ports)}
        self.ports = tuple(OutputSide(k, _as_type(a, types[k])) for k, a in self._arrays.items())

    def batches(self, size: int) -> Iterator[Batch]:
        """Yield no inputs, and the arrays."""
        for start in range(0, self.count, size):
            yield {}, [array[start : start + size] for array in self._arrays.values()]


def _as_type(array: npt.NDArray[Any], type_: TensorType | None) -> TensorType | None:
    """Return the type of an output if an array holds numbers of its element type."""
    return type_ if type_ is not None and array.dtype == type_.dtype.numpy else None


def match_outputs(
    a: Sequence[OutputSide], b: Sequence[OutputSide], *, partial: bool = False
) -> list[tuple[int, int]]:
    """Return the indices of outputs that belong together: of one name, else in order.

    Args:
        a: Outputs of the first side.
        b: Outputs of the second.
        partial: Whether one side may have only some of the outputs, by name.

    Raises:
        UsageError: An output has no other that it could be compared with.
    """
    matches = _match_indices(a, b)
    enough = min(len(a), len(b)) if partial else max(len(a), len(b))
    if len(matches) < enough:
        listed = [", ".join(repr(printable(p.name)) for p in ports) for ports in (a, b)]
        raise UsageError(
            f"the outputs are {listed[0]}, but those of the other are {listed[1]}",
            where="compared models",
            hint="compare a model with one that was made of it, or name the arrays as its outputs",
        )
    for i, k in matches:
        _check_sizes(a[i].type, b[k].type)
    return matches


def _check_sizes(a: TensorType | None, b: TensorType | None) -> None:
    if a is not None and b is not None and a.size != b.size:
        raise UsageError(
            f"the outputs are {a} and {b}",
            where="compared models",
            hint="compare a model with one that was made of it",
        )


def _match_indices(a: Sequence[OutputSide], b: Sequence[OutputSide]) -> list[tuple[int, int]]:
    """Return the indices of outputs of one name, or all in order if these are not all."""
    names = {p.name: k for k, p in enumerate(b)}
    pairs = [(i, names[p.name]) for i, p in enumerate(a) if p.name in names]
    if len(a) == len(b) and len(pairs) < len(a):
        pairs = [(i, i) for i in range(len(a))]
    return pairs
