"""A graph compiled for one set of sizes: its program, and the one that computes its parameters.

Tests: tests/unit/runtime/test_session.py
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir.evaluate import evaluate_all
from rlx.runtime.backend import next_backend
from rlx.runtime.checking import Compiled, checked
from rlx.runtime.compilations import COMPILATIONS
from rlx.runtime.garbage import uncollected
from rlx.runtime.observation.finite import check_values
from rlx.runtime.observation.profile import Timed, TimedRun
from rlx.support.config import current
from rlx.support.errors import BackendWarning, DifferenceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, Graph
    from rlx.runtime.backend import Backend, Program
    from rlx.runtime.checking import Comparison
    from rlx.runtime.lowering import HostModule
    from rlx.runtime.options import CompileOptions


class LoadedProgram:
    """A program with its parameters.

    Attributes:
        lowered: Compiled module.
        program: Runs it.
        backend: Backend that compiled it.
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
        self._graph = graph
        self._options = options
        self._sizes = sizes
        self._excluded: set[str] = set()  # backends that differ from NumPy
        self._compile(backend)

    def _compile(self, backend: Backend) -> None:
        """Compile the graph by a backend; the program has no parameters yet."""
        self.backend = backend
        self._compilation = COMPILATIONS.get(self._graph, backend, self._options, self._sizes)
        self.lowered: HostModule = self._compilation.lowered
        self.program: Program = self._compilation.make_program()
        self._stale = True

    @property
    def comparison(self) -> Comparison | None:
        """Comparison of the program, or of another one of the same code, with NumPy.

        None before the first run, and for a backend that compiles nothing.
        """
        return self._compilation.comparison

    def params_changed(self) -> None:
        """Let the next run recompute the values that depend on parameters."""
        self._stale = True

    def run(self, inputs: Sequence[Array], params: Mapping[str, Array]) -> Sequence[Array]:
        """Return the outputs, which the next run overwrites.

        Args:
            inputs: An array for each input that is not a state, in order, of its exact type.
            params: Every parameter of the graph by name.
        """
        self.load(params)
        return self.program.run(inputs)

    def profile(self, inputs: Sequence[Array], params: Mapping[str, Array]) -> TimedRun:
        """Run once, as ``run`` does, and return the time of each node."""
        self.load(params)
        begin = time.perf_counter_ns()
        steps = tuple(Timed(*step) for step in self.program.profile(inputs))
        return TimedRun(begin, time.perf_counter_ns(), steps)

    def load(self, params: Mapping[str, Array]) -> None:
        """Make the program ready to run: hand it the parameters, if these have changed.

        A compiled program is compared with NumPy the first time. If it differs, the next backend
        takes its place, with a warning.

        Raises:
            DifferenceError: It differs, and no other backend can use the device.
        """
        if not self._stale:
            return
        values = self._set_params(params)
        if self.comparison is None and isinstance(self.backend, Compiled):
            self._compare(values, params)
        self._stale = False

    def _set_params(self, params: Mapping[str, Array]) -> dict[str, Array]:
        """Compute the values that depend on parameters alone, and hand all to the program."""
        values = dict(params)
        prologue = self.lowered.prologue
        if prologue is not None:
            values |= self._run_prologue(prologue, params)
        params_of_module = {v.name: values[v.name] for v in self.lowered.module.graph.params}
        self.program.set_params(params_of_module)
        return params_of_module

    def _compare(self, values: Mapping[str, Array], params: Mapping[str, Array]) -> None:
        """Compare the program with NumPy, and replace it if it differs."""
        if not current().check_compiled:
            return
        try:
            self._compilation.comparison = checked(
                self.program, self.backend, self._options, values
            )
        except DifferenceError as error:
            self._excluded.add(self.backend.name)
            following = next_backend(self.backend.devices[0], self._excluded)
            if following is None:
                raise
            warnings.warn(
                f"{error.where}: {error.message}; backend {following.name} is used instead",
                BackendWarning,
                stacklevel=2,
            )
            self._compile(following)
            self.load(params)

    def _run_prologue(self, prologue: Graph, params: Mapping[str, Array]) -> dict[str, Array]:
        """Return the values that depend on parameters alone, by name."""
        with np.errstate(all="ignore"):
            found = evaluate_all(prologue, {}, {v.name: params[v.name] for v in prologue.params})
        if self._options.check_finite:
            check_values(prologue, found)
        names = zip(prologue.output_names, prologue.outputs, strict=True)
        return {name: found[value] for name, value in names}
