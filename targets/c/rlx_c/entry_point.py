"""The entry point's pointers: inputs, outputs, arena.

Tests: tests/targets/cortexm/test_inside.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rlx.support.errors import EmitError
from rlx_c.ports import C_TYPES, EntryPort, ValueLocations, inside, members, ports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import DType, Graph, MemoryPlan, Value


class Planned(Protocol):
    """A program whose values have places."""

    @property
    def graph(self) -> Graph:
        """The graph."""
        ...

    @property
    def plan(self) -> MemoryPlan:
        """Order of execution and places."""
        ...


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Inputs and outputs of the entry point.

    Attributes:
        inputs: One port for each input of a run.
        outputs: One port for each output of a run.
        in_arena: They are in the arena; else each is an array of the caller and a parameter.
        states: For each state, the member of the struct that the caller keeps.
        state_type: C type of that struct.
    """

    inputs: tuple[EntryPort, ...]
    outputs: tuple[EntryPort, ...]
    in_arena: bool
    states: tuple[EntryPort, ...] = ()
    state_type: str = ""

    @staticmethod
    def of(
        program: Planned,
        *,
        in_arena: bool,
        prefix: str = "",
        types: Mapping[DType, str] = C_TYPES,
    ) -> EntryPoint:
        """Return the entry point of a program.

        Args:
            program: The program.
            in_arena: Inputs and outputs are in the arena.
            prefix: First part of its C names.
            types: C type of each element type that its inputs, outputs and states may have.

        Raises:
            EmitError: An input or output has an element type that C code does not support, or no
                place in the arena.
        """
        graph = program.graph
        values, named = graph.run_inputs, graph.run_outputs
        results = [value for _, value in named]
        inputs = ports("input", values, [value.name for value in values], prefix, types)
        outputs = ports("output", results, [name for name, _ in named], prefix, types)
        if in_arena:
            inputs = inside(inputs, values, program.plan)
            outputs = inside(outputs, results, program.plan)
        states = [state for state, _ in graph.states]
        _check_not_outputs(states, results)
        state_members = members(states, types)
        return EntryPoint(inputs, outputs, in_arena, state_members, f"{prefix}_state_t")

    @property
    def parameters(self) -> list[str]:
        """Declarations of the entry point's parameters."""
        state = [f"{self.state_type} *state"] if self.states else []
        if self.in_arena:
            return [*state, "void *arena"]
        inputs = [port.constant_pointer for port in self.inputs]
        return [*inputs, *(port.pointer for port in self.outputs), *state, "void *arena"]

    @property
    def pointers(self) -> list[str]:
        """Names of the entry point's parameters."""
        own = () if self.in_arena else (*self.inputs, *self.outputs)
        state = ["state"] if self.states else []
        return [*(port.parameter for port in own), *state, "arena"]

    def places(self, program: Planned) -> ValueLocations:
        """Return the place of each value."""
        return ValueLocations(program.graph, program.plan, self.inputs, self.outputs, self.states)


def _check_not_outputs(states: Sequence[Value], results: Sequence[Value]) -> None:
    """Refuse a state whose value before the run is an output: a run may overwrite it."""
    for state in states:
        if state in results:
            raise EmitError(
                "expected an output that is computed, got the value of a state before the run",
                where=f"state {state.name!r}",
                hint="take the output out of the model",
            )
