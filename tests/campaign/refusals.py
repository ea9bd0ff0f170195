"""Permitted outcomes of a damaged file: a result that works, or a refusal that helps."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from campaign.part import Outcome
from rlx import frontends
from rlx.driver.reference import random_inputs, reference_outputs
from rlx.frontends import registry
from rlx.ir.hash import structural_hash
from rlx.ir.inspect import inspect_graph
from rlx.ir.verify import verify
from rlx.support.errors import RlxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Array, Graph
    from rlx.ir.module import GraphModule

_frontends = functools.cache(registry.frontends)

SMALL = 1 << 14
"""Elements up to which the tensors of a graph are computed."""


def outcome(action: Callable[[], object]) -> Outcome:
    """Run ``action``, which may end, or raise an error of rlx that says all a user needs."""
    try:
        action()
    except RlxError as error:
        return refused(error)
    return Outcome("accepted")


def refused(error: RlxError) -> Outcome:
    """Return a refusal; one without code, place or remedy is a finding."""
    text = f"{error.where}: {error.message} [{error.hint}]"
    lacking = [
        name
        for name, there in (
            ("code", error.code != RlxError.code),
            ("place", error.where),
            ("remedy", error.hint or "\n    try" in error.message),
        )
        if not there
    ]
    if lacking:
        return Outcome("refused", f"{error.code} without {', '.join(lacking)}: {text[:300]!r}")
    if not text.replace("\n", "").isprintable():
        return Outcome("refused", f"{error.code} with control characters: {text[:300]!r}")
    return Outcome("refused")


def read(data: bytes, name: str) -> None:
    """Import a file as the command line does, and use the result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(data)
        # Looking for plugins takes longer than reading a small file.
        with mock.patch.object(registry, "frontends", _frontends):
            module = frontends.load(path)
    use(module)


def use(module: GraphModule) -> None:
    """Check and print an accepted module, and run it by the reference if it is small."""
    verify(module)
    graph = module.graph
    str(inspect_graph(graph))
    structural_hash(graph)
    if _small(graph):
        reference_outputs(graph, _inputs(graph))


def _inputs(graph: Graph) -> tuple[Array, ...]:
    """Return one frame: random integers, or numbers where an input is not an integer."""
    if all(value.type.dtype.is_integer for value in graph.inputs):
        return random_inputs(graph, 1)
    return tuple(
        np.full(
            (1, *v.type.static_shape), 0 if v.type.dtype.is_integer else 0.5, v.type.dtype.numpy
        )
        for v in graph.inputs
    )


def _small(graph: Graph) -> bool:
    """Return whether the reference can run the graph as it stands, in little time."""
    types = [type_ for node in graph.nodes for type_ in node.types]
    return all(t.is_static and math.prod(t.static_shape) <= SMALL for t in types)
