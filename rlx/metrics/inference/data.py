"""Samples for the inputs of a network, from the sample or the batch of a user.

Tests: tests/unit/samples/test_layout.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.samples.batches import read_samples
from rlx.samples.given import Inputs

if TYPE_CHECKING:
    from os import PathLike

    import numpy.typing as npt

    from rlx.ir import Graph
    from rlx.samples.batches import Samples

__all__ = ["Inputs", "samples_of"]


def samples_of(
    graph: Graph,
    data: Inputs,
    *,
    labels: npt.NDArray[Any] | str | PathLike[str] | None = None,
    steps: bool = False,
) -> Samples:
    """Return the data of a user as samples for the inputs of ``graph``.

    Args:
        graph: The graph.
        data: Numbers, or a file, as :func:`rlx.samples.given.arrays_by_name` takes them.
        labels: A class for each sample, if they are not in ``data``.
        steps: Values of states may be left out: then samples are steps of one sequence.

    Raises:
        UsageError: An input is missing, or its values are of a wrong shape or type.
        FrontendError: A file is damaged.
    """
    return read_samples(graph, data, what="data", labels=labels, steps=steps)
