"""A graph compiled for one set of sizes: its program, and the one that computes its parameters.

Tests: tests/unit/runtime/test_session.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.evaluate import evaluate_all
from rlx.runtime.compilations import COMPILATIONS
from rlx.runtime.garbage import uncollected
from rlx.runtime.observation.finite import check_values
from rlx.runtime.observation.profile import Timed, TimedRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph
    from rlx.runtime.backend import Backend, Program
    from rlx.runtime.lowering import HostModule
    from rlx.runtime.options import CompileOptions


class LoadedProgram:
    """A program with its parameters.

    Attributes:
        lowered: Compiled module.
        program: Runs it.
    """

    @uncollected()
    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        options: CompileOptions,
        sizes: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Compile ``graph``, whose symbols have these sizes."""
        compilation = COMPILATIONS.get(graph, backend, options, sizes)
        self.lowered: HostModule = compilation.lowered
        self.program: Program = compilation.make_program()
        self._check_finite = options.check_finite
        self._stale = True

    def params_changed(self) -> None:
        """Let the next run recompute the values that depend on parameters."""
        self._stale = True

    def run(self, inputs: Sequence[Array], params: Mapping[str, Array]) -> Sequence[Array]:
        """Return the outputs, which the next run overwrites.

        Args:
            inputs: An array for each input that is not a state, in order, of its exact type.
            params: Every parameter of the graph by name.
        """
        if self._stale:
            self.load(params)
        return self.program.run(inputs)

    def profile(self, inputs: Sequence[Array], params: Mapping[str, Array]) -> TimedRun:
        """Run once, as ``run`` does, and return the time of each node."""
        if self._stale:
            self.load(params)
        begin = time.perf_counter_ns()
        steps = tuple(Timed(*step) for step in self.program.profile(inputs))
        return TimedRun(begin, time.perf_counter_ns(), steps)

    def load(self, params: Mapping[str, Array]) -> None:
        """Compute the values that depend on parameters alone, and hand all to the program."""
        values = dict(params)
        prologue = self.lowered.prologue
        if prologue is not None:
            values |= self._run_prologue(prologue, params)
        wanted = [v.name for v in self.lowered.module.graph.params]
        self.program.set_params({name: values[name] for name in wanted})
        self._stale = False

    def _run_prologue(self, prologue: Graph, params: Mapping[str, Array]) -> dict[str, Array]:
        """Return the values that depend on parameters alone, by name."""
        with np.errstate(all="ignore"):
            found = evaluate_all(prologue, {}, {v.name: params[v.name] for v in prologue.params})
        if self._check_finite:
            check_values(prologue, found)
        names = zip(prologue.output_names, prologue.outputs, strict=True)
        return {name: found[value] for name, value in names}
