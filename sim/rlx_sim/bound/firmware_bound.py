"""The largest count of instructions that a built firmware needs for any input, by layer."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from rlx_sim.bound.code import COUNT
from rlx_sim.bound.divisions import ROUTINES, Divisions
from rlx_sim.bound.instruction import UnboundedError
from rlx_sim.bound.machine import Machine
from rlx_sim.firmware.instruction_set import CORES, Needs
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx_sim.firmware.firmware import Firmware

_WRITE, _ALLOCATED = 1, 2

_STACK_BYTES: Final = 1 << 16
"""Bytes of stack that the program may use."""

_HOOK_CALL: Final = 2
"""Instructions that call the hook of a layer: its index into r0, and BL."""


class _FinishedError(Exception):
    """The counter was read a second time."""


@dataclass(frozen=True, slots=True)
class InstructionBound:
    """Instructions that no input exceeds.

    Attributes:
        instructions: The bound of a frame; None if there is none.
        layers: Bound of each layer, if the firmware has the hooks of the profile.
        reason: Reason that no bound can be stated, else empty.
        is_exact: Whether every input needs exactly as many.
    """

    instructions: int | None
    layers: tuple[int, ...] = ()
    reason: str = ""
    is_exact: bool = False


def instruction_bound(firmware: Firmware) -> InstructionBound:
    """Return the bound of a test program that runs frames as ``test/main.c`` does.

    It counts between the same two readings of the counter as the emulators.

    Raises:
        ToolMissingError: pyelftools is not installed.
    """
    if Needs.MVE in CORES[firmware.cpu.name]:
        return InstructionBound(None, reason="vector instructions (MVE) are not modelled")
    program = Program.read(firmware.elf)
    run = _Run(program)
    try:
        run.run()
    except UnboundedError as error:
        return InstructionBound(None, reason=f"{error.message}, at {program.place(error.address)}")
    first, last = run.readings
    layers = tuple(after - before - _HOOK_CALL for before, after in pairwise(run.marks))
    return InstructionBound(last - first, layers, is_exact=not run.varies)


@dataclass(frozen=True, slots=True)
class Program:
    """A linked program: its constant bytes, its symbols, the functions sorted by address."""

    image: Mapping[int, bytes]
    symbols: Mapping[str, int]
    functions: tuple[tuple[int, str], ...]

    @classmethod
    def read(cls, elf: Path) -> Program:
        """Read an ELF file.

        Raises:
            ToolMissingError: pyelftools is not installed.
        """
        find("pyelftools")
        from elftools.elf.elffile import ELFFile

        with elf.open("rb") as file:
            program = ELFFile(file)
            image = {
                int(section["sh_addr"]): bytes(section.data())
                for section in program.iter_sections()
                if section["sh_flags"] & (_ALLOCATED | _WRITE) == _ALLOCATED
                and section["sh_type"] != "SHT_NOBITS"
            }
            table = list(program.get_section_by_name(".symtab").iter_symbols())
        functions = {
            (symbol["st_value"] & ~1, symbol.name)
            for symbol in table
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
        # GCC adds .constprop.0 and the like to the names of copies.
        symbols = {symbol.name.partition(".")[0]: int(symbol["st_value"]) for symbol in table}
        return cls(image, symbols, tuple(sorted(functions)))

    def place(self, address: int) -> str:
        """Return function and offset of an address."""
        index = bisect_right(self.functions, (address, chr(0x10FFFF)))
        if not index:
            return f"{address:#x}"
        start, name = self.functions[index - 1]
        return f"{name}+{address - start:#x}"


class _Run:
    """The abstract execution of one frame."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._counter = program.symbols["platform_counter"] & ~1
        hooks: dict[int, Any] = {self._counter: self._read_counter}
        if "rlx_layer" in program.symbols:
            hooks[program.symbols["rlx_layer"] & ~1] = self._mark
        self.machine = Machine(program.image, hooks=hooks)
        self._divisions = Divisions(program.image)
        for name in set(ROUTINES) & set(program.symbols):
            entry = program.symbols[name] & ~1
            hooks[entry] = self._divisions.hook(entry, self.machine)
        self.readings: list[int] = []
        self.marks: list[int] = []

    def run(self) -> None:
        """Run until the second reading of the counter."""
        symbols = self._program.symbols
        # From the bottom, because the test program fills the stack from there.
        stack = min(symbols["rlx_stack_bottom"] + _STACK_BYTES, symbols["rlx_stack_top"]) & ~7
        try:
            self.machine.run(symbols["run_frame"] & ~1, stack)
        except _FinishedError:
            return
        raise UnboundedError("the counter was not read twice", symbols["run_frame"] & ~1)

    @property
    def varies(self) -> bool:
        """Whether the count depends on the input."""
        return self.machine.varies or self._divisions.varies

    def _read_counter(self, registers: list[Any], memory: Any, calls: list[int]) -> int:  # noqa: ANN401
        del memory, calls
        self._check(self._counter)
        self.readings.append(registers[COUNT])
        if len(self.readings) == 2:
            raise _FinishedError
        return self.machine.call(self._counter)

    def _mark(self, registers: list[Any], memory: Any, calls: list[int]) -> int:  # noqa: ANN401
        """Note the count before a layer, and return from the hook as a function does."""
        del memory
        self._check(calls[-1])
        self.marks.append(registers[COUNT])
        registers[:4] = [None] * 4
        registers[12] = None
        return calls.pop()

    def _check(self, address: int) -> None:
        if self.machine.in_side:
            raise UnboundedError("a layer is computed only for some inputs", address)
