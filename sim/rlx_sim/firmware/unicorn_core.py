"""The process in which unicorn runs firmware: ``python -m rlx_sim.firmware.unicorn_core ELF CPU``.

A third argument is the file for a trace of basic blocks (:mod:`rlx_sim.cycles.trace`), a fourth one
``reads`` if it includes reads of constants, which takes longer.

It emulates the parts of QEMU's board that the firmware uses: semihosting with files below the
working folder, and the timer that counts instructions. The exit status is the firmware's.

Unicorn's engine is under GPL-2.0: this module is the only one that imports it, is imported by none,
and imports nothing of rlx.

Tests: tests/sim/firmware/test_emulators.py
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO, Final

_MODELS: Final = {
    "cortex-m0": "UC_CPU_ARM_CORTEX_M0",
    "cortex-m3": "UC_CPU_ARM_CORTEX_M3",
    "cortex-m4": "UC_CPU_ARM_CORTEX_M4",
    "cortex-m7": "UC_CPU_ARM_CORTEX_M7",
    "cortex-m33": "UC_CPU_ARM_CORTEX_M33",
}

_MIB: Final = 1 << 20
# Private peripheral bus of Armv7-M and Armv6-M, with the system control space.
_SYSTEM: Final = (0xE0000000, _MIB)
# Code, RAM and timer of the boards: an385, an386, an500 on the left, an505 on the right.
_MEMORIES: Final = ((0x00000000, 4 * _MIB), (0x20000000, 4 * _MIB),
                    (0x10000000, 4 * _MIB), (0x38000000, 4 * _MIB))  # fmt: skip
_TIMERS: Final = {0x40000000: (8, 5), 0x50000000: (32, 25)}
"""Address of a board's timer to its ticks for each instruction of 64 ns, as a fraction."""
# Offset of the register VALUE of a CMSDK APB timer.
_TIMER_VALUE: Final = 4

# BKPT 0xAB, Arm's semihosting call in Thumb state, in memory order.
_SEMIHOSTING_BREAKPOINT: Final = b"\xab\xbe"
_CRASHED: Final = 98

# Widths of the lines that flash memories and caches read.
_LINE_BYTES: Final = (4, 8, 16, 32)


class _Files:
    """Semihosting calls that open, read and write files below the working folder."""

    def __init__(self) -> None:
        self._files: list[BinaryIO] = []

    def open(self, name: str, mode: int) -> int:
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            return -1
        try:
            self._files.append(path.open("wb" if mode & 4 else "rb"))
        except OSError:
            return -1
        return len(self._files) - 1

    def read(self, handle: int, count: int) -> bytes:
        return self._files[handle].read(count)

    def write(self, handle: int, content: bytes) -> None:
        self._files[handle].write(content)

    def close(self) -> None:
        for file in self._files:
            file.close()


class _Trace:
    """Basic blocks and reads of constants between readings of the timer.

    Attributes:
        blocks: Number of each block, by address and size.
        intervals: Executions of pairs of successive blocks, and reads, between two readings.
    """

    def __init__(self) -> None:
        self.blocks: dict[tuple[int, int], int] = {}
        self.intervals: list[dict[str, Any]] = []
        self._previous = -1
        self._begin()

    def _begin(self) -> None:
        self._pairs: Counter[tuple[int, int]] = Counter()
        self._changes = dict.fromkeys(_LINE_BYTES, 0)
        self._lines: dict[int, set[int]] = {nbytes: set() for nbytes in _LINE_BYTES}
        self._last = dict.fromkeys(_LINE_BYTES, -1)

    def block(self, key: tuple[int, int]) -> None:
        """Count a block that is about to run."""
        number = self.blocks.setdefault(key, len(self.blocks))
        self._pairs[self._previous, number] += 1
        self._previous = number

    def read(self, engine: object, kind: int, address: int, *rest: object) -> None:
        """Count a read of the memory with program and constants."""
        for nbytes in _LINE_BYTES:
            line = address // nbytes
            if line != self._last[nbytes]:
                self._last[nbytes] = line
                self._changes[nbytes] += 1
                self._lines[nbytes].add(line)

    def end_interval(self) -> None:
        """Store what was counted since the last reading of the timer."""
        self.intervals.append({
            "pairs": [(*pair, count) for pair, count in self._pairs.items()],
            "line_changes": self._changes,
            "lines": {nbytes: len(lines) for nbytes, lines in self._lines.items()},
        })  # fmt: skip
        self._begin()

    def write(self, file: Path) -> None:
        """Write everything as JSON."""
        content = {"blocks": list(self.blocks), "intervals": self.intervals}
        file.write_text(json.dumps(content), encoding="utf-8")


class _Core:
    """A Cortex-M with memory, a timer that counts instructions, and semihosting."""

    def __init__(self, elf: Path, cpu: str, *, traced: bool = False, reads: bool = False) -> None:
        import unicorn
        from unicorn import arm_const

        self._arm = arm_const
        # With UC_MODE_MCLASS unicorn 2.1 always emulates a Cortex-M33.
        self._engine = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        self._engine.ctl_set_cpu_model(getattr(arm_const, _MODELS[cpu]))
        for start, size in (*_MEMORIES, _SYSTEM):
            self._engine.mem_map(start, size)
        for start, ratio in _TIMERS.items():
            self._engine.mmio_map(start, 0x1000, self._read_timer, ratio, self._write_timer, ratio)
        self._instructions = 0
        self._timer_start = 0
        self._lengths: dict[tuple[int, int], int] = {}
        self._files = _Files()
        self._status: int | None = None
        self.trace = _Trace() if traced else None
        self._engine.hook_add(unicorn.UC_HOOK_BLOCK, self._trace if traced else self._count)
        self._engine.hook_add(unicorn.UC_HOOK_INTR, self._interrupt)
        self._vectors = self._load(elf)
        if self.trace is not None and reads:
            start = self._vectors & ~(4 * _MIB - 1)
            end = start + 4 * _MIB - 1
            self._engine.hook_add(unicorn.UC_HOOK_MEM_READ, self.trace.read, None, start, end)

    def _load(self, elf: Path) -> int:
        """Put the program into memory and return the address of its vector table."""
        from elftools.elf.elffile import ELFFile

        with elf.open("rb") as file:
            program = ELFFile(file)
            for segment in program.iter_segments():
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                    self._engine.mem_write(segment["p_paddr"], segment.data())
            return int(program.get_section_by_name(".text")["sh_addr"])

    def run(self) -> int:
        """Run from reset until the program exits, and return its status."""
        stack, reset = (self._word(self._vectors + offset) for offset in (0, 4))
        self._engine.reg_write(self._arm.UC_ARM_REG_SP, stack)
        try:
            self._engine.emu_start(reset | 1, 0xFFFFFFFF)
        finally:
            self._files.close()
        return _CRASHED if self._status is None else self._status

    def where(self) -> str:
        """Return the program counter in hex."""
        return hex(self._engine.reg_read(self._arm.UC_ARM_REG_PC))

    def _word(self, address: int) -> int:
        return int.from_bytes(self._engine.mem_read(address, 4), "little")

    def _count(self, engine: Any, address: int, size: int, data: object) -> None:  # noqa: ANN401
        """Add the instructions of a block that is about to run."""
        key = (address, size)
        if key not in self._lengths:
            self._lengths[key] = count_instructions(bytes(engine.mem_read(address, size)))
        self._instructions += self._lengths[key]

    def _trace(self, engine: Any, address: int, size: int, data: object) -> None:  # noqa: ANN401
        """Count a block, and add it to the trace."""
        assert self.trace is not None
        self.trace.block((address, size))
        self._count(engine, address, size, data)

    def _read_timer(self, engine: object, offset: int, size: int, ratio: tuple[int, int]) -> int:
        if offset != _TIMER_VALUE:
            return 0
        if self.trace is not None:
            self.trace.end_interval()
        ticks, instructions = ratio
        return 0xFFFFFFFF - (self._instructions - self._timer_start) * ticks // instructions

    def _write_timer(
        self, engine: object, offset: int, size: int, value: int, ratio: tuple[int, int]
    ) -> None:
        if offset == _TIMER_VALUE:
            self._timer_start = self._instructions

    def _interrupt(self, engine: Any, number: int, data: object) -> None:  # noqa: ANN401
        """Answer a semihosting call; other interrupts are faults of the program."""
        pc = engine.reg_read(self._arm.UC_ARM_REG_PC)
        if bytes(engine.mem_read(pc, 2)) != _SEMIHOSTING_BREAKPOINT:
            _print(f"rlx fault\nexception {number} at {pc:#x}\n")
            engine.emu_stop()
            return
        operation = engine.reg_read(self._arm.UC_ARM_REG_R0)
        argument = engine.reg_read(self._arm.UC_ARM_REG_R1)
        answer = self._semihosting(operation, argument)
        if self._status is not None:
            engine.emu_stop()
            return
        engine.reg_write(self._arm.UC_ARM_REG_R0, answer & 0xFFFFFFFF)
        engine.reg_write(self._arm.UC_ARM_REG_PC, (pc + 2) | 1)

    def _semihosting(self, operation: int, argument: int) -> int:
        """Execute a call of ``test/semihosting.c`` and return its answer."""
        memory = self._engine
        if operation == 0x04:
            _print(self._text(argument))
            return 0
        first, second, third = (self._word(argument + 4 * k) for k in range(3))
        if operation == 0x01:
            return self._files.open(bytes(memory.mem_read(first, third)).decode(), second)
        if operation == 0x05:
            self._files.write(first, bytes(memory.mem_read(second, third)))
            return 0
        if operation == 0x06:
            content = self._files.read(first, third)
            memory.mem_write(second, content)
            return third - len(content)
        if operation == 0x20:
            self._status = second
            return 0
        return -1

    def _text(self, address: int) -> str:
        content = bytearray()
        while (byte := self._engine.mem_read(address + len(content), 1)[0]) != 0:
            content.append(byte)
        return content.decode("ascii", errors="replace")


def count_instructions(code: bytes) -> int:
    """Return the number of Thumb instructions in ``code``.

    An instruction has two half-words if the five upper bits of the first are 29, 30 or 31.
    Source: Armv7-M Architecture Reference Manual, A5.1.
    """
    count = at = 0
    while at < len(code):
        at += 4 if code[at + 1] >> 3 >= 29 else 2
        count += 1
    return count


def _print(text: str) -> None:
    sys.stdout.write(text)


def main(argv: list[str]) -> int:
    """Run the program ``argv[1]`` on the processor ``argv[2]`` in the working folder."""
    import unicorn

    core = _Core(Path(argv[1]), argv[2], traced=len(argv) > 3, reads="reads" in argv[4:])
    try:
        status = core.run()
    except unicorn.UcError as error:
        _print(f"rlx fault\n{error} at {core.where()}\n")
        return _CRASHED
    if core.trace is not None:
        core.trace.write(Path(argv[3]))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv))
