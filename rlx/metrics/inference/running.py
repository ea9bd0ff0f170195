"""Run a network on samples.

Tests: tests/unit/metrics/inference/test_run.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rlx.metrics.inference.data import samples_of
from rlx.metrics.inference.result import Output, Result
from rlx.metrics.runner import Runner
from rlx.support.named import Named

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Graph
    from rlx.metrics.inference.data import Inputs
    from rlx.runtime import Session
    from rlx.samples.batches import Samples

    Progress = Callable[[str, int, int], None]


def run(
    graph: Graph,
    data: Inputs,
    *,
    session: Session | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the outputs of ``graph`` for data; integers are those of the reference, bit for bit.

    Args:
        graph: A network whose dimensions are integers.
        data: A sample or a batch of them: an array for the only input, an array for each input by
            name, or a file.
        session: Compiles it; one on the processor by default.
        batch: Samples that run together at most; None for as many as memory suggests.
        progress: Called with a text, samples done and all samples.

    Raises:
        UsageError: The data do not fit the inputs, or samples cannot run together.
        FrontendError: A file is damaged.
    """
    samples = samples_of(graph, data, steps=True)
    return run_samples(graph, samples, session=session, batch=batch, progress=progress)


def run_samples(
    graph: Graph,
    samples: Samples,
    *,
    session: Session | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
) -> Result:
    """Return the outputs of ``graph`` for samples that were read for it.

    Samples without values for the graph's states are the steps of one sequence.
    """
    states = {state.name for state, _ in graph.states}
    has_states = any(value.name in states for value in samples.inputs)
    named = zip(graph.output_names, graph.outputs, strict=True)
    outputs = tuple(named) if has_states else graph.run_outputs
    watched = [value for _, value in outputs]
    runner = Runner(graph, watched, session=session, batch=batch, states_given=has_states)
    parts: list[list[Array]] = []
    count = 0
    for batch_inputs, arrays in runner.run(samples):
        # The arrays that a program returns may be overwritten by its next run.
        parts.append([array.copy() for array in arrays])
        count += len(next(iter(batch_inputs.values())))
        if progress is not None:
            progress("running", count, samples.count)
    inputs = graph.run_inputs
    only = inputs[0].type.shape if len(inputs) == 1 else None
    named_outputs = (
        (name, Output(name, value.type, np.concatenate(arrays), rebuilt=value.type.shape == only))
        for (name, value), arrays in zip(outputs, zip(*parts, strict=True), strict=True)
    )
    return Result(Named(named_outputs, "output"), samples.labels)
