"""A netlist as a pipeline that never stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from rlx_fpga.architectures.parallel.cost import step_luts
from rlx_fpga.architectures.parallel.netlist import FREE
from rlx_fpga.cells.streams import Lanes
from rlx_fpga.cost.costs import Resources, resources_of
from rlx_fpga.cost.logic import Logic
from rlx_fpga.cost.memories import Ram

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx_fpga.architectures.parallel.netlist import Netlist, NetlistStep

LEVELS: Final = 2
"""Additions, comparisons or tables between two registers."""


def schedule(netlist: Netlist) -> list[tuple[int, int]]:
    """Return for each step its pipeline stage, and its logic level in that stage."""
    places: list[tuple[int, int]] = []
    for step in netlist.steps:
        stage, level = max((places[o] for o in step.operands), default=(0, 0))
        if step.kind not in FREE:
            stage, level = (stage + 1, 1) if level == LEVELS else (stage, level + 1)
        places.append((stage, level))
    return places


class NetlistPipeline(Component):
    """The steps of a netlist, with a register after every :data:`LEVELS` of them.

    Members:
        i: In, the operands, int8.
        o: Out, the results, ``latency`` cycles later.

    Initiation interval 1, without an enable.

    Args:
        netlist: The steps.
        inputs: Operands.
        outputs: Steps that are the results.
        width: Bits of a result.
    """

    _MustUse__silence = True

    def __init__(
        self, netlist: Netlist, inputs: int, outputs: Sequence[int], width: int = 8
    ) -> None:
        self.netlist, self.outputs, self.width = netlist, tuple(outputs), width
        self.spans = schedule(netlist)
        self.latency = 1 + max(self.spans[o][0] for o in self.outputs)
        super().__init__({"i": In(Lanes(inputs)), "o": Out(Lanes(len(self.outputs), width))})

    def cost(self, family: str) -> Resources:
        """Return the predicted cells. Additions are known bit by bit, without coefficients."""
        tables = Logic(memories=tuple(self._tables()))
        found = resources_of(tables, family)
        return found + Resources(lut=step_luts(self.netlist, family), ff=self._register_bits())

    def _tables(self) -> Iterator[Ram]:
        """Yield the tables of functions of one value."""
        for step in self.netlist.steps:
            if step.kind == "table":
                yield Ram(step.width, 256, read_only=True, synchronous=False, distinct=step.width)

    def _register_bits(self) -> int:
        """Return the bits of all registers: values that are read at a later stage."""
        last = [stage for stage, _ in self.spans]
        for step, (stage, _) in zip(self.netlist.steps, self.spans, strict=True):
            for operand in step.operands:
                last[operand] = max(last[operand], stage)
        for output in self.outputs:
            last[output] = self.latency
        return sum(
            step.width * (end - stage)
            for step, end, (stage, _) in zip(self.netlist.steps, last, self.spans, strict=True)
            if step.kind != "constant"
        )

    def elaborate(self, platform: object) -> Module:
        """Build every step, and registers where a value is read at a later stage."""
        m = Module()
        registers = _Registers(m, self.spans)
        for index, (step, (stage, _)) in enumerate(zip(self.netlist.steps, self.spans,
                                                       strict=True)):  # fmt: skip
            operands = [registers.at(o, stage) for o in step.operands]
            registers.values.append(self._built(m, index, step, operands))
        last = self.latency
        results = [registers.at(o, last) for o in self.outputs]
        m.d.comb += self.o.eq(Cat(*(_extended(value, self.width) for value in results)))
        return m

    def _built(self, m: Module, index: int, step: NetlistStep, operands: list[Value]) -> Value:
        """Return the signal of a step."""
        if step.kind == "input":
            value: Value = self.i[step.numbers[0]]
            return value
        if step.kind == "constant":
            return Const(step.numbers[0], signed(step.width))
        if step.kind == "right":
            shift = min(step.numbers[0], len(operands[0]) - 1)
            return operands[0][shift:].as_signed()
        result = Signal(signed(step.width), name=f"s{index}")
        m.d.comb += result.eq(_computed(m, index, step, operands))
        return result


class _Registers:
    """Delayed values."""

    def __init__(self, m: Module, spans: list[tuple[int, int]]) -> None:
        self.m, self.spans = m, spans
        self.values: list[Value] = []
        self.late: dict[tuple[int, int], Value] = {}

    def at(self, index: int, stage: int) -> Value:
        """Return the value of a step, delayed to pipeline stage ``stage``."""
        value = self.values[index]
        if isinstance(value, Const):
            return value
        for register_stage in range(self.spans[index][0] + 1, stage + 1):
            if (index, register_stage) not in self.late:
                # Data need no reset: there are separate flags.
                name = f"s{index}_r{register_stage}"
                late = Signal(signed(len(value)), name=name, reset_less=True)
                self.m.d.sync += late.eq(value)
                self.late[index, register_stage] = late
            value = self.late[index, register_stage]
        return value


def _extended(value: Value, width: int) -> Value:
    """Return a value extended or truncated to ``width`` bits."""
    if isinstance(value, Const):
        return Const(value.value, signed(width))
    missing = width - len(value)
    return Cat(value, value[-1].replicate(missing)) if missing > 0 else value[:width]


def _computed(m: Module, index: int, step: NetlistStep, operands: list[Value]) -> Value:
    """Return the value that a step computes."""
    numbers = step.numbers
    if step.kind == "sum":
        a, b = operands[0] << numbers[0], operands[1] << numbers[1]
        return a - b if numbers[2] else a + b
    if step.kind == "offset":
        shifted = operands[0] << numbers[0]
        return numbers[2] - shifted if numbers[1] else shifted + numbers[2]
    if step.kind == "choice":
        return operands[0] + Mux(operands[1] < 0, numbers[1], numbers[0])
    if step.kind == "clamp":
        value, (low, high) = operands[0], numbers
        return Mux(value < low, low, Mux(value > high, high, value))
    if step.kind in ("max", "pick"):
        a, b, *results = operands
        first, second = results or operands
        return Mux(b > a, second, first)
    assert step.kind == "table"
    return _looked_up(m, index, step, operands[0])


def _looked_up(m: Module, index: int, step: NetlistStep, code: Value) -> Value:
    """Return the entry of a table, read asynchronously."""
    entries = [*step.numbers[128:], *step.numbers[:128]]
    low, high = -(1 << (step.width - 1)), (1 << (step.width - 1)) - 1
    # Entries that cannot be read need no bits.
    entries = [min(max(entry, low), high) for entry in entries]
    memory = Memory(shape=signed(step.width), depth=256, init=entries)
    m.submodules[f"table{index}"] = memory
    port = memory.read_port(domain="comb")
    m.d.comb += port.addr.eq(_extended(code, 8))
    word: Value = port.data
    return word
