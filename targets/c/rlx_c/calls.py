"""Statements of the entry point: a call for each layer, copies to outputs not written by one.

Tests: tests/targets/cortexm/test_interface.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx.ir import DType
from rlx.memory import moves_nothing
from rlx_c.ports import C_TYPES, ValueLocation
from rlx_c.render import breaks

if TYPE_CHECKING:
    from rlx.ir import Value
    from rlx_c.entry_point import EntryPoint, Planned
    from rlx_c.layer import LoweredLayer
    from rlx_c.program import LayerStep, LoweredProgram
    from rlx_c.symbols import Symbols


@dataclass(frozen=True, slots=True)
class LayerCall:
    """One layer in the entry point.

    Attributes:
        index: Number of the layer.
        name: Its function without the prefix, for the layer hook.
        comment: Description of its computation.
        statement: The call; empty if the layer needs no code.
    """

    index: int
    name: str
    comment: str
    statement: str


class Moves(ABC):
    """Makes the statements that fill outputs and states which no layer writes."""

    def __init__(self, planned: Planned, entry_point: EntryPoint) -> None:
        self._planned = planned
        self._entry_point = entry_point
        self._places = entry_point.places(planned)

    def copies(self) -> list[str]:
        """Return statements for outputs and states that no layer writes, such as inputs."""
        statements = [] if self._entry_point.in_arena else self._output_copies()
        copies = self._planned.plan.copies
        waiting = {
            copy.state: ValueLocation("memory", copy.through)
            for copy in copies
            if copy.through is not None
        }
        statements += [self._copy(waiting[c.state], c.source, c.state.type.nbytes)
                       for c in copies if c.state in waiting]  # fmt: skip
        for copy in copies:
            to, nbytes = self._places.of(copy.state), copy.state.type.nbytes
            if copy.state in waiting:
                statements.append(_memcpy(to, waiting[copy.state].expression, nbytes))
            else:
                statements.append(self._copy(to, copy.source, nbytes))
        return [s for s in statements if s]

    def _output_copies(self) -> list[str]:
        """Return statements for outputs that no layer writes: inputs, constants, repeated ones."""
        outputs = zip(self._planned.graph.run_outputs, self._entry_point.outputs, strict=True)
        return [
            self._copy(ValueLocation(port.parameter, 0), value, port.bytes)
            for (_, value), port in outputs
        ]

    def _copy(self, to: ValueLocation, value: Value, nbytes: int) -> str:
        """Return the statement that copies a value, empty if it is already in place."""
        if value.constant is None and self._places.of(value) == to:
            return ""
        return _memcpy(to, self._address(value), nbytes)

    @abstractmethod
    def _address(self, value: Value) -> str:
        """Return a value's address in C."""


class Calls(Moves):
    """Makes the statements of one program's entry point."""

    def __init__(self, program: LoweredProgram, entry_point: EntryPoint, symbols: Symbols) -> None:
        super().__init__(program, entry_point)
        self._program = program
        self._symbols = symbols

    def layers(self) -> list[LayerCall]:
        """Return every layer, in order of execution."""
        return [self._call(step) for step in self._program.steps]

    def _call(self, step: LayerStep) -> LayerCall:
        result = step.node.results[0]
        what = f"{step.index}: {step.name} ({step.node.op.name})"
        read = ", ".join(type_text(v) for v in step.layer.operands)
        comment = f"{what}, {read} -> {type_text(result)}"
        return LayerCall(step.index, step.name, comment, self._statement(step, result))

    def _statement(self, step: LayerStep, result: Value) -> str:
        layer = step.layer
        if moves_nothing(self._program.plan, step.node):
            return ""
        if layer.kernel is None:
            (operand,) = layer.operands
            return self._copy(self._places.of(result), operand, result.type.nbytes)
        unpack, tables = self._tables(step)
        own_scratch = ValueLocation("memory", step.scratch + layer.own_scratch).expression
        arguments = [
            *(self._address(v) for v in layer.operands),
            *tables,
            *self._symbols.arguments(step),
            *([own_scratch] if layer.scratch_bytes > layer.own_scratch else []),
            self._address(result),
        ]
        function = f"{self._symbols.prefix}_{self._symbols.kernel(layer.kernel)}"
        return unpack + breaks(arguments, f"{function}(", ", ", ");", indent=2)

    def _tables(self, step: LayerStep) -> tuple[str, list[str]]:
        """Return the statement that unpacks a layer's weights, if one does, and its tables."""
        layer: LoweredLayer = step.layer
        tables = [self._symbols.table(t) for t in layer.tables]
        if not layer.unpacked:
            return "", tables
        weights = ValueLocation("memory", step.scratch).expression
        function = f"unpack_i{layer.weight_bits}"
        statement = f"{function}({tables[0]}, {layer.unpacked}, {weights});\n  "
        return statement, [weights, *tables[1:]]

    def _address(self, value: Value) -> str:
        """Return a value's address as a pointer of its element type."""
        if value.constant is not None:
            return self._symbols.constant(value)
        location = self._places.of(value)
        in_arena = location.base == "memory"
        if value.type.dtype is DType.I8 or not (in_arena or location.offset):
            return location.expression
        base = location.base if in_arena else f"(int8_t *)(void *){location.base}"
        expression = ValueLocation(base, location.offset).expression
        return f"({C_TYPES[value.type.dtype]} *)(void *)({expression})"


def _memcpy(to: ValueLocation, source: str, nbytes: int) -> str:
    return f"memcpy({to.expression}, {source}, {nbytes});"


def type_text(value: Value) -> str:
    """Return element type and shape, without the quantization."""
    return str(value.type.with_quant(None))
