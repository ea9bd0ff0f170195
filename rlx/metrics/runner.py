"""Runs of a graph over samples in batches, with the arrays of chosen values.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import Rewriter, State
from rlx.ir.graph import Source
from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import decompose
from rlx.passes.transforms.batch import batching_refusal, with_batch
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx.ir import Array, Graph, Value
    from rlx.runtime import CompiledGraph
    from rlx.samples.batches import Samples

BATCH_BYTES: Final = 24 << 20
"""Approximate bytes of all values of a batch, which limit the samples that run together."""

MAX_BATCH: Final = 32
"""Samples of a batch."""

_STEPS: Final = "the network has states, and the samples are steps of one sequence"


class Runner:
    """A graph that is run over samples.

    Where samples have no values for its states, they are the steps of one sequence.

    Attributes:
        batch: Samples that run together; 1 if the graph mixes its leading dimension with others.
    """

    def __init__(
        self,
        graph: Graph,
        watched: Sequence[Value],
        *,
        session: Session | None = None,
        batch: int | None = None,
        states_given: bool = True,
    ) -> None:
        """Prepare to run ``graph`` and return the arrays of ``watched``.

        Args:
            graph: A network whose dimensions are integers.
            watched: Values of it.
            session: Compiles it; one on the processor by default.
            batch: Samples that run together at most; None for as many as memory suggests.
            states_given: Samples have values for its states.

        Raises:
            UsageError: They cannot run together.
        """
        self._session = session or Session(options=CompileOptions(backend="numpy"))
        self._watched = tuple(watched)
        self._moving = set(computed_values(graph))
        own_states = bool(graph.states) and not states_given
        observe = stepwise if own_states else observed
        self._graph = DeadCode().apply(decompose(observe(graph, watched)))
        refusal = _STEPS if own_states else batching_refusal(self._graph)
        self._batched = refusal is None
        if batch is not None and batch > 1 and refusal is not None:
            raise UsageError(
                f"samples cannot run together: {refusal}", where="batch", hint="use a batch of 1"
            )
        size = sum(v.type.nbytes for n in self._graph.op_nodes for v in n.results)
        fitting = max(1, min(MAX_BATCH, BATCH_BYTES // max(size, 1)))
        self.batch = (batch or fitting) if self._batched else 1
        self._compiled: dict[int, CompiledGraph] = {}

    def run(self, samples: Samples) -> Iterator[tuple[dict[str, Array], list[Array]]]:
        """Yield the inputs of each batch, and the watched values ``[n, *shape]``.

        The leading dimension of 1 that a value has is that of the batch.
        """
        for inputs in samples.batches(self.batch):
            yield inputs, self.run_batch(inputs)

    def run_batch(self, inputs: dict[str, Array]) -> list[Array]:
        """Return the watched values for one batch of inputs."""
        count = len(next(iter(inputs.values())))
        shaped = {
            v.name: inputs[v.name].reshape(count, *v.type.static_shape)
            for v in self._graph.run_inputs
        }
        if self._batched:
            batch = {name: array[:, 0] for name, array in shaped.items()}
            arrays = self._program(count).run_raw(batch)
        else:
            runs = [
                self._program(1).run_typed({name: a[i, ...] for name, a in shaped.items()})
                for i in range(count)
            ]
            arrays = [np.stack(parts) for parts in zip(*runs, strict=True)]
        pairs = zip(self._watched, arrays[: len(self._watched)], strict=True)
        return [self._by_sample(value, array, count) for value, array in pairs]

    def _by_sample(self, value: Value, array: Array, count: int) -> Array:
        """Return an array of the program as ``[count, *shape]``."""
        shape = value.type.static_shape
        if shape[:1] == (1,):
            shape = shape[1:]
        if self._batched and value not in self._moving:
            array = np.broadcast_to(array.reshape(shape), (count, *shape))
        return array.reshape(count, *shape)

    def _program(self, count: int) -> CompiledGraph:
        """Return the graph compiled for batches of ``count``; two sizes at most are kept."""
        if count not in self._compiled:
            graph = self._graph if count == 1 else with_batch(self._graph, count)
            # Full batches have one size, the last one another.
            if len(self._compiled) > 1:
                self._compiled.pop(next(iter(self._compiled)))
            self._compiled[count] = self._session.compile(graph)
        return self._compiled[count]


def observed(graph: Graph, watched: Sequence[Value]) -> Graph:
    """Return ``graph`` with ``watched`` as its outputs, and states as inputs like others."""
    rewriter = Rewriter(graph)
    for node in rewriter:
        if isinstance(node.op, State):
            rewriter.replace(node, rewriter.new.input(node.name, node.op.type))
    return rewriter.finish(watched, [f"v{i}" for i in range(len(watched))])


def stepwise(graph: Graph, watched: Sequence[Value]) -> Graph:
    """Return ``graph`` with ``watched`` and then the next values of states as its outputs."""
    states = {state.name: after for state, after in graph.states}
    prefix = "v" + "_" * max(map(len, states))  # no state has such a name
    names = [*(f"{prefix}{i}" for i in range(len(watched))), *states]
    return Rewriter(graph).finish([*watched, *states.values()], names)


def batchable(graph: Graph) -> bool:
    """Whether several samples can run together, and every output has a part for each of them."""
    return batching_refusal(graph) is None


def computed_values(graph: Graph) -> list[Value]:
    """Return the inputs and all results that depend on inputs or states, in order.

    Results of constants are the same for every sample.
    """
    inputs = set(graph.inputs)
    moving = inputs | {n.result for n in graph.nodes if isinstance(n.op, State)}
    computed: list[Value] = []
    for node in graph.nodes:
        if isinstance(node.op, Source):
            computed += [value for value in node.results if value in inputs]
        elif not moving.isdisjoint(node.operands):
            moving.update(node.results)
            computed += node.results
    return computed
