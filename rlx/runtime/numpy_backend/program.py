"""A planned graph in an arena, ready to run.

Tests: tests/unit/runtime/test_arena.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from rlx.ir import Constant, Param, Region
from rlx.ir.evaluate import explain
from rlx.memory import moves_nothing
from rlx.runtime.numpy_backend.finite import check
from rlx.runtime.numpy_backend.step import BoundStep, bind
from rlx.runtime.numpy_backend.workspace import Workspace, aligned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import Array, GraphModule, MemoryPlan, Node, Placement, StateCopy, Value
    from rlx.runtime.numpy_backend.step import Run
    from rlx.runtime.options import CompileOptions


class NumpyProgram:
    """A graph at stage LIR that runs in an arena of its own. It runs one call at a time.

    Attributes:
        module: The graph with its plan.
        arena: Memory of all values that are neither constant nor kept from run to run.
        inputs: Arrays that inputs are written to, in order.
        outputs: Arrays that outputs are read from, in order; read-only.
        states: Arrays that keep the values of states between runs, by name.
        workspace: Memory of single steps.
    """

    def __init__(self, module: GraphModule, options: CompileOptions) -> None:
        assert module.plan is not None
        self.module = module
        self._options = options
        self._plan: MemoryPlan = module.plan
        self.arena: npt.NDArray[np.uint8] = aligned(self._plan.arena_bytes)
        self.workspace = Workspace()
        self._arrays: dict[Value, Array] = {}
        self._params: dict[str, Array] = {}
        self._entering: tuple[tuple[Array, Array], ...] = ()
        self._leaving: tuple[tuple[Array, Array], ...] = ()
        self._steps: tuple[tuple[Node, Run], ...] = ()
        self._runs: tuple[Run, ...] = ()
        self.outputs: tuple[Array, ...] = ()
        for placement in self._plan.placements:
            self._arrays[placement.value] = self._view(placement)
        for node in module.graph.nodes:
            if isinstance(node.op, Constant):
                self._arrays[node.result] = node.op.value
        states = {s for s, _ in module.graph.states}
        self.states = {s.name: self._state(s) for s, _ in module.graph.states}
        self.inputs = tuple(self._arrays[v] for v in module.graph.inputs if v not in states)
        if not module.graph.params:
            self._bind()

    @property
    def steps(self) -> tuple[tuple[Node, Run], ...]:
        """Each node that computes with its function, in order of execution."""
        return self._steps

    @property
    def workspace_bytes(self) -> int:
        """Bytes that single steps need while they run; 0 before parameters are set."""
        return self.workspace.nbytes

    def set_params(self, values: Mapping[str, Array]) -> None:
        """Set every parameter; the arrays are not modified afterwards."""
        self._params = dict(values)
        for value in self.module.graph.params:
            self._arrays[value] = self._params[value.name]
        self._bind()

    def run(self, inputs: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs, which the next run overwrites.

        A run that raises may leave states with their next values, or parts of them.

        Args:
            inputs: An array for each input, of its exact type.
        """
        self._enter(inputs)
        self._compute()
        self._leave()
        return self.outputs

    # NaN and infinity are valid results; fast forms may produce them on the way. As a decorator it
    # takes half the time of a ``with`` block.
    @np.errstate(all="ignore")
    def _compute(self) -> None:
        """Run every step.

        Raises:
            IndexRangeError: An index is outside its axis.
            Exception: Error of an op of another package, with a note that names its node.
        """
        run = None
        try:
            for run in self._runs:
                run()
        except Exception as error:
            for node in (node for node, step in self._steps if step is run):
                explain(node, error)
            raise

    def profile(self, inputs: Sequence[Array]) -> list[tuple[Node, int, int]]:
        """Run once; return each node that computes, and when it began and ended."""
        self._enter(inputs)
        times = []
        with np.errstate(all="ignore"):
            for node, run in self._steps:
                begin = time.perf_counter_ns()
                try:
                    run()
                except Exception as error:
                    explain(node, error)
                    raise
                times.append((node, begin, time.perf_counter_ns()))
        self._leave()
        return times

    def read_state(self, name: str) -> Array:
        """Return a copy of the value of a state."""
        return self.states[name].copy()

    def write_state(self, name: str, value: Array) -> None:
        """Set the value of a state."""
        np.copyto(self.states[name], value)

    def _enter(self, inputs: Sequence[Array]) -> None:
        """Copy inputs and states to where the steps read them."""
        if len(inputs) > 1:
            # Views of the last outputs may be at the place of one of the other inputs.
            arena = self.arena.base
            inputs = [value.copy() if value.base is arena else value for value in inputs]
        for target, value in zip(self.inputs, inputs, strict=True):
            target[...] = value
        for target, value in self._entering:
            target[...] = value

    def _leave(self) -> None:
        """Keep the next values of the states."""
        for target, value in self._leaving:
            target[...] = value

    def _view(self, placement: Placement) -> Array:
        """Return the array at a place in the arena, or in a buffer of its own."""
        type_ = placement.value.type
        element, shape = type_.dtype.numpy, type_.static_shape
        nbytes = type_.size * element.itemsize
        if placement.region is Region.ARENA:
            memory = self.arena
        elif placement.alias_of is None:
            memory = aligned(nbytes)
        else:
            memory = self._arrays[placement.alias_of].reshape(-1).view(np.uint8)
        begin = placement.offset
        return memory[begin : begin + nbytes].view(element).reshape(shape)

    def _state(self, state: Value) -> Array:
        """Return the array that keeps a state from run to run."""
        array = self._arrays[state]
        own = self._plan.of(state).region is Region.STATE
        return array if own else np.zeros_like(array)

    def _bind(self) -> None:
        """Give every step its arrays."""
        steps = []
        for node in self._plan.schedule:
            if moves_nothing(self._plan, node):
                continue
            self.workspace.begin()
            step = self._step(node)
            run = self.bind_step(step)
            steps.append((node, check(step, run) if self._options.check_finite else run))
        self._steps = tuple(steps)
        self._runs = tuple(self.join([run for _, run in steps]))
        self.outputs = self._find_outputs()
        self._find_moves()

    def bind_step(self, step: BoundStep) -> Run:
        """Return the function that computes a step; a subclass may have others."""
        return bind(step)

    def join(self, runs: Sequence[Run]) -> Sequence[Run]:
        """Return functions that do the same in order; a subclass may merge some."""
        return runs

    def _find_outputs(self) -> tuple[Array, ...]:
        """Return the arrays that outputs are read from: buffers for next values of states."""
        graph = self.module.graph
        named = zip(graph.output_names, graph.outputs, strict=True)
        views = [self.states.get(name, self._arrays[v]).view() for name, v in named]
        for view in views:
            view.flags.writeable = False
        return tuple(views)

    def _find_moves(self) -> None:
        """Find the copies to make before the first step and after the last one."""
        arrays, states = self._arrays, self.states
        plain = [
            (s, after) for s, after in self.module.graph.states if arrays[s] is not states[s.name]
        ]
        self._entering = tuple((arrays[s], states[s.name]) for s, _ in plain)
        moves = [(states[s.name], arrays[after]) for s, after in plain]
        waits = {c.state: self._waiting(c) for c in self._plan.copies if c.through is not None}
        moves += [(waits[c.state], arrays[c.source]) for c in self._plan.copies if c.state in waits]
        moves += [
            (arrays[c.state], waits.get(c.state, arrays[c.source])) for c in self._plan.copies
        ]
        self._leaving = tuple(moves)

    def _waiting(self, copy: StateCopy) -> Array:
        """Return the memory in which a next value waits for its state."""
        assert copy.through is not None
        array = self._arrays[copy.state]
        memory = self.arena[copy.through : copy.through + array.nbytes]
        return memory.view(array.dtype).reshape(array.shape)

    def _step(self, node: Node) -> BoundStep:
        fixed = Constant | Param
        return BoundStep(
            node,
            tuple(self._arrays[o] for o in node.operands),
            tuple(self._arrays[v] for v in node.results),
            tuple(self._arrays[o] if isinstance(o.node.op, fixed) else None for o in node.operands),
            self.workspace,
        )
