"""Networks as the functions of rlx take them: read, built, traced, or as files."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from rlx import frontends
from rlx.errors import UsageError
from rlx.frontends.open_shapes import Sizes
from rlx.frontends.registry import with_sizes
from rlx.ir import Graph
from rlx.ir.module import GraphModule, Stage
from rlx.samples import array_shapes
from rlx.tracing import Graph as Builder
from rlx.transforms.freeze import freeze

Model: TypeAlias = "GraphModule | Graph | Builder | str | Path"
"""What ``rlx.load`` returned, a graph, what ``rlx.Graph`` traces, or the path of a model file."""


def module_of(model: Model) -> tuple[GraphModule, str | None]:
    """Return a model as a module, and the hash of its file if it is one.

    Raises:
        UsageError: It is none of these, or the file is missing.
        FrontendError: The file is malformed.
    """
    return _module_of(model, None)


def bound_module(model: Model, data: Any = None) -> tuple[GraphModule, str | None]:  # noqa: ANN401
    """Return a model whose dimensions are numbers, and the hash of its file if it is one.

    What a file leaves open is as large as in the samples; the first dimension of an input is the
    batch, and 1.

    Args:
        model: As for :func:`module_of`.
        data: Samples: a file, an array, or arrays by name; None for none.

    Raises:
        UsageError: As :func:`module_of`, or nothing says how large a dimension is.
        FrontendError: The file is malformed.
    """
    return _module_of(model, Sizes({} if data is None else array_shapes(data)))


def _module_of(model: Model, sizes: Sizes | None) -> tuple[GraphModule, str | None]:
    if isinstance(model, GraphModule):
        return model if sizes is None else with_sizes(model, sizes), None
    if isinstance(model, Builder):
        model = freeze(model.graph, model.parameters)
    if isinstance(model, Graph):
        return _module_of(GraphModule(model, Stage.HIR), sizes)
    if not isinstance(model, str | PathLike):
        raise UsageError(
            f"a {type(model).__name__} is no network",
            where="model",
            hint="give what rlx.load returned, a graph, or a path; @rlx.model makes a function one",
        )
    path = Path(model)
    return frontends.load(path, sizes=sizes), hashlib.sha256(path.read_bytes()).hexdigest()
