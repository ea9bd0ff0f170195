"""Several samples in one run of a graph that is written for one."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import batching_refusal, with_batch
from rlx.passes.transforms.bind import symbols
from rlx.runtime.loaded import LoadedProgram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph
    from rlx.runtime.backend import Backend
    from rlx.runtime.options import CompileOptions

MAX_BATCH_BYTES: Final = 24 << 20
"""Bytes of the arena for all samples that are computed together, estimated from one sample."""

MAX_BATCH: Final = 64
"""Samples that are computed together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """Way in which a run processes several samples.

    Attributes:
        most: Number of samples computed together at most; 1 if they are computed one by one, 0 if a
            run accepts one sample only.
        reason: Reason that they are not computed together; empty if they are.
    """

    most: int
    reason: str = ""

    def __str__(self) -> str:
        if self.most > 1:
            return f"up to {self.most} samples together"
        return f"{'one by one' if self.most else 'one sample only'}: {self.reason}"


class Batches:
    """Programs for batches of a graph that is written for one sample."""

    def __init__(
        self, graph: Graph, backend: Backend, options: CompileOptions, single: LoadedProgram | None
    ) -> None:
        """Prepare to run batches of ``graph``, whose program for one sample is ``single``."""
        self._graph = graph
        self._backend = backend
        self._options = options
        self._single = single
        self._programs: OrderedDict[int, LoadedProgram] = OrderedDict()  # least recently used first

    @cached_property
    def how(self) -> Batching:
        """Way in which several samples are computed."""
        if (refusal := self._refusal()) is not None or self._single is None:
            return Batching(most=0, reason=refusal or "")
        if (why := batching_refusal(self._decomposed_graph)) is not None:
            return Batching(most=1, reason=why)
        plan = self._single.lowered.module.plan
        nbytes = 0 if plan is None else plan.arena_bytes
        most = min(MAX_BATCH, MAX_BATCH_BYTES // max(nbytes, 1))
        if most < 2:
            return Batching(most=1, reason=f"a sample takes {nbytes:,} bytes")
        return Batching(most=most)

    @cached_property
    def _decomposed_graph(self) -> Graph:
        return DeadCode().apply(decompose(self._graph))

    def _refusal(self) -> str | None:
        """Return the reason that a run accepts one sample only, or None."""
        if named := symbols(self._graph):
            return f"its dimensions have the symbols {', '.join(named)}"
        if self._graph.states:
            return "it has states: runs follow one another"
        if not self._graph.inputs:
            return "it has no inputs"
        for value in self._graph.inputs:
            if value.type.rank < 2 or value.type.shape[0] != 1:
                return f"input {value.name!r} has no leading dimension of 1: {value.type}"
        return None

    def count(self, arrays: Sequence[Array]) -> int | None:
        """Return the number of samples that arrays hold, or None if they are not a batch.

        Args:
            arrays: An array for each input, in order.

        Raises:
            ValueError: They hold different numbers of samples.
        """
        types = [value.type for value in self._graph.inputs]
        if len(arrays) != len(types) or not all(
            t.rank > 1 and t.shape[0] == 1 and a.ndim == t.rank and a.shape[1:] == t.shape[1:]
            for a, t in zip(arrays, types, strict=True)
        ):
            return None
        counts = {len(array) for array in arrays}
        if len(counts) > 1:
            each = zip(self._graph.inputs, arrays, strict=True)
            listed = ", ".join(f"{v.name!r} has {len(a)}" for v, a in each)
            raise ValueError(f"inputs hold different numbers of samples: {listed}")
        (count,) = counts
        return count if count > 1 and self.how.most else None

    def params_changed(self) -> None:
        """Let the next runs recompute the values that depend on parameters."""
        for program in self._programs.values():
            program.params_changed()

    def run(
        self,
        arrays: Sequence[Array],
        params: Mapping[str, Array],
        indices: Sequence[int],
        most: int,
    ) -> list[Array]:
        """Return outputs for a batch: ``[samples, ...]``.

        A leading dimension of 1 that an output has is that of the samples; others get one more.

        Args:
            arrays: An array for each input, in order.
            params: Every parameter of the graph by name.
            indices: Places of the outputs to return.
            most: Programs that are kept.
        """
        count = len(arrays[0])
        outputs: list[Array] = []
        for begin in range(0, count, self.how.most):
            size = min(self.how.most, count - begin)
            results = self._program(size, most).run(
                [a[begin : begin + size] for a in arrays], params
            )
            parts = [self._part(results[place], place) for place in indices]
            if not outputs:
                outputs = [np.empty((count, *part.shape[1:]), part.dtype) for part in parts]
            for output, part in zip(outputs, parts, strict=True):
                output[begin : begin + size] = part
        return outputs

    def _part(self, array: Array, index: int) -> Array:
        """Return an output with an axis of samples."""
        lead = self._graph.outputs[index].type.shape[:1]
        return array if lead == (1,) else array[np.newaxis]

    def _program(self, size: int, most: int) -> LoadedProgram:
        """Return the program for a number of samples at a time."""
        if size == 1:
            assert self._single is not None
            return self._single
        if size not in self._programs:
            options = self._options
            if options.dump is not None:
                options = replace(options, dump=Path(options.dump) / f"samples-{size}")
            graph = with_batch(self._decomposed_graph, size)
            self._programs[size] = LoadedProgram(graph, self._backend, options)
            while len(self._programs) > most:
                self._programs.popitem(last=False)
        self._programs.move_to_end(size)
        return self._programs[size]
