"""Networks as the functions of rlx take them: read, built, traced, or as files."""

from __future__ import annotations

import hashlib
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from rlx import frontends
from rlx.errors import UsageError
from rlx.ir import Graph
from rlx.ir.module import GraphModule, Stage
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
    if isinstance(model, GraphModule):
        return model, None
    if isinstance(model, Builder):
        model = freeze(model.graph, model.parameters)
    if isinstance(model, Graph):
        return GraphModule(model, Stage.HIR), None
    if not isinstance(model, str | PathLike):
        raise UsageError(
            f"a {type(model).__name__} is no network",
            where="model",
            hint="give what rlx.load returned, a graph, or a path; @rlx.model makes a function one",
        )
    path = Path(model)
    return frontends.load(path), hashlib.sha256(path.read_bytes()).hexdigest()
