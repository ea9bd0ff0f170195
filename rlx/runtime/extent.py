"""Runs that compute the first rows only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rlx.passes.dead_code import DeadCode
from rlx.passes.decompose import decompose
from rlx.passes.transforms.rows import first_rows
from rlx.runtime.loaded import LoadedProgram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Array, Graph
    from rlx.runtime.backend import Backend
    from rlx.runtime.options import CompileOptions


class Extent:
    """A program for the first rows of a graph.

    Attributes:
        rows: Numbers of rows: those that are computed, and all.
        loaded: The program; its outputs have fewer rows.
    """

    def __init__(
        self, graph: Graph, backend: Backend, options: CompileOptions, actual: int, upper: int
    ) -> None:
        """Compile ``graph`` for the first ``actual`` of ``upper`` rows.

        Raises:
            ValueError: No op is row-wise.
        """
        self.rows = (actual, upper)
        short = first_rows(DeadCode().apply(decompose(graph)), actual, upper)
        if not short.steps:
            shapes = ", ".join(str(v.type) for v in graph.outputs)
            raise ValueError(f"no op computes {upper} rows one by one for the outputs {shapes}")
        if options.dump is not None:
            options = replace(options, dump=Path(options.dump) / f"rows-{actual}-of-{upper}")
        self.loaded = LoadedProgram(short.graph, backend, options)
        self._wholes: list[tuple[Array, tuple[slice, ...]] | None] = []
        for value, axis in zip(graph.outputs, short.axes, strict=True):
            type_ = value.type
            whole = np.zeros(type_.static_shape, type_.dtype.numpy)
            part = (slice(None),) * (axis or 0) + (slice(actual),)
            self._wholes.append(None if axis is None else (whole, part))
        self._views = [None if w is None else _read_only(w[0]) for w in self._wholes]

    def expanded(self, outputs: Sequence[Array]) -> list[Array]:
        """Return outputs of the program in their declared shapes, with zeros after the rows."""
        declared = []
        for output, whole, view in zip(outputs, self._wholes, self._views, strict=True):
            if whole is None or view is None:
                declared.append(output)
            else:
                np.copyto(whole[0][whole[1]], output)
                declared.append(view)
        return declared


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view
