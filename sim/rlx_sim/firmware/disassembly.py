"""Stack frames and calls of each function, from a linked program's machine code.

Only for functions that the compiler did not compile itself, such as those of its library. A frame
is the sum over the instructions that lower the stack pointer, which is an upper bound where a
function allocates its frame in several steps.

Tests: tests/sim/firmware/test_stack.py
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx.support.process import run
from rlx_sim.toolchain import find

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIMEOUT_S: Final = 60.0

_LABEL: Final = re.compile(r"^([0-9a-f]+) <([^>]+)>:$")
_LINE: Final = re.compile(r"^\s*[0-9a-f]+:\s+(\S+)\s*(.*)$")
_TARGET: Final = re.compile(r"\b([0-9a-f]+) <[^>+]+>")
_PADDING: Final = re.compile(r"\.|nop")
_RANGE: Final = re.compile(r"([a-z]+)(\d+)-[a-z]+(\d+)")

_LOWERED: Final = re.compile(r"(?:sp, )?sp, #(\d+)")
_STORED: Final = re.compile(r"\[sp, #-(\d+)\]!")
_BRANCH: Final = re.compile(r"(?:b|bl|blx|cbn?z)(?:eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?")
_LEAVES: Final = re.compile(r"(?:b|bx|udf|bkpt)")


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """Stack frame and calls of a function.

    Attributes:
        frame: Bytes by which it lowers the stack pointer; None if an instruction sets it from a
            register.
        calls: Addresses that it calls, branches to or falls through to.
    """

    frame: int | None
    calls: frozenset[int]


@dataclass(frozen=True, slots=True)
class Disassembly:
    """The functions of a program.

    Attributes:
        functions: Function by address.
        addresses: Address by name; a function may have several names.
    """

    functions: Mapping[int, FunctionCode]
    addresses: Mapping[str, int]


def disassemble(elf: Path) -> Disassembly:
    """Return the functions of a linked program for an ARM core.

    Raises:
        ToolMissingError: GCC for ARM, whose binutils read the program, or pyelftools is missing.
        SimulationError: objdump failed; carries its last lines.
    """
    return Disassembly(read_functions(listing(elf)), _addresses(elf))


def listing(elf: Path) -> str:
    """Return the output of ``objdump -d --no-show-raw-insn``.

    Raises:
        ToolMissingError: GCC for ARM, whose binutils read the program, is missing.
        SimulationError: objdump failed; carries its last lines.
    """
    gcc = find("arm-none-eabi-gcc").command[0]
    # The one that belongs to the compiler, wherever that was found.
    objdump = run([gcc, "-print-prog-name=objdump"], timeout_s=TIMEOUT_S).stdout.strip()
    return run([objdump, "-d", "--no-show-raw-insn", str(elf)], timeout_s=TIMEOUT_S).stdout


def read_functions(text: str) -> dict[int, FunctionCode]:
    """Return the functions in the output of ``objdump -d --no-show-raw-insn``."""
    bodies: dict[int, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        label, instruction = _LABEL.match(line), _LINE.match(line)
        if label is not None:
            body = bodies.setdefault(int(label[1], 16), [])
        elif instruction is not None and bodies and not _PADDING.match(instruction[1]):
            mnemonic = instruction[1].removesuffix(".w").removesuffix(".n")
            body.append((mnemonic, instruction[2].split("@")[0].strip()))
    starts = list(bodies)
    following = [*starts[1:], None]
    return {
        start: _function(bodies[start], after)
        for start, after in zip(starts, following, strict=True)
    }


def _function(body: list[tuple[str, str]], after: int | None) -> FunctionCode:
    frames = [_lowers(mnemonic, operands) for mnemonic, operands in body]
    calls = {
        int(target[1], 16)
        for mnemonic, operands in body
        if _BRANCH.fullmatch(mnemonic) and (target := _TARGET.search(operands))
    }
    if after is not None and body and not _ends(*body[-1]):
        calls.add(after)
    known = [frame for frame in frames if frame is not None]
    return FunctionCode(sum(known) if len(known) == len(frames) else None, frozenset(calls))


def _lowers(mnemonic: str, operands: str) -> int | None:
    """Return the bytes by which an instruction lowers the stack pointer, None if unknown."""
    if mnemonic == "push" or (mnemonic == "stmdb" and operands.startswith("sp!")):
        return 4 * _registers(operands)
    if mnemonic == "vpush":
        return (8 if "d" in operands else 4) * _registers(operands)
    if mnemonic in {"sub", "subw", "subs"} and operands.startswith("sp,"):
        lowered = _LOWERED.fullmatch(operands)
        return int(lowered[1]) if lowered else None
    stored = _STORED.search(operands)
    return int(stored[1]) if stored else 0


def _registers(operands: str) -> int:
    """Return the number of registers in a list such as ``{r4, r5, lr}`` or ``{d8-d9}``."""
    text = operands[operands.index("{") + 1 : operands.index("}")]
    count = 0
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        count += int(found[3]) - int(found[2]) + 1 if found else 1
    return count


def _ends(mnemonic: str, operands: str) -> bool:
    """Whether execution never continues after an instruction."""
    return bool(_LEAVES.fullmatch(mnemonic)) or "pc" in operands


def _addresses(elf: Path) -> dict[str, int]:
    find("pyelftools")
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        # The lowest bit of an address marks Thumb code.
        return {
            symbol.name: symbol["st_value"] & ~1
            for symbol in table.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
