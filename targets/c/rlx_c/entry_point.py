"""The entry point's pointers: inputs, outputs, arena.

Tests: tests/targets/cortexm/test_inside.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx_c.ports import EntryPort, ValueLocations, inside, ports

if TYPE_CHECKING:
    from rlx_c.program import LoweredProgram


@dataclass(frozen=True, slots=True)
class PortState:
    """A state: an input that takes the output of the run before.

    Attributes:
        before: Input with its value.
        after: Output with its next value.
    """

    before: EntryPort
    after: EntryPort


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Inputs and outputs of the entry point.

    Attributes:
        inputs: One port for each input of the graph.
        outputs: One port for each output.
        in_arena: They are in the arena; else each is an array of the caller and a parameter.
    """

    inputs: tuple[EntryPort, ...]
    outputs: tuple[EntryPort, ...]
    in_arena: bool

    @staticmethod
    def of(program: LoweredProgram, *, in_arena: bool, prefix: str = "") -> EntryPoint:
        """Return the entry point of a program.

        Args:
            program: The program.
            in_arena: Inputs and outputs are in the arena.
            prefix: First part of its C names.

        Raises:
            EmitError: An input or output has an element type that C code does not support, or no
                place in the arena.
        """
        graph = program.graph
        inputs = ports("input", graph.inputs, [value.name for value in graph.inputs], prefix)
        outputs = ports("output", graph.outputs, graph.output_names, prefix)
        if in_arena:
            inputs = inside(inputs, graph.inputs, program.plan)
            outputs = inside(outputs, graph.outputs, program.plan)
        return EntryPoint(inputs, outputs, in_arena)

    @property
    def parameters(self) -> list[str]:
        """Declarations of the entry point's parameters."""
        if self.in_arena:
            return ["void *arena"]
        inputs = [port.constant_pointer for port in self.inputs]
        return [*inputs, *(port.pointer for port in self.outputs), "void *arena"]

    @property
    def pointers(self) -> list[str]:
        """Names of the entry point's parameters."""
        own = () if self.in_arena else (*self.inputs, *self.outputs)
        return [*(port.parameter for port in own), "arena"]

    def states(self, program: LoweredProgram) -> list[PortState]:
        """Return the states of a program, which are inputs and outputs of the caller."""
        graph = program.graph
        inputs = dict(zip(graph.inputs, self.inputs, strict=True))
        outputs = dict(zip(graph.output_names, self.outputs, strict=True))
        return [PortState(inputs[state], outputs[state.name]) for state, _ in graph.states]

    def places(self, program: LoweredProgram) -> ValueLocations:
        """Return the place of each value."""
        return ValueLocations(program.graph, program.plan, self.inputs, self.outputs)
