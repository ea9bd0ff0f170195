"""Instructions of a disassembly, classified by kind, with the registers that they read and write.

The text is that of ``objdump -d --no-show-raw-insn``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rlx_sim.cycles.mnemonics import (
    ACCUMULATING,
    BINARY,
    EARLY,
    MULTIPLYING,
    TWO_RESULTS,
    UPDATING,
    WITHOUT_RESULT,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FLAGS: Final = "flags"

_CONDITIONS: Final = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH: Final = re.compile(rf"b(?:{_CONDITIONS})?")
_COMMENT: Final = re.compile(r"\s*[@;].*$|\s*<[^>]*>")
_REGISTER: Final = re.compile(r"\b(?:[rsdq]\d+|sp|lr|pc|ip|fp|sl)\b")
_RANGE: Final = re.compile(r"([rsdq])(\d+)-[rsdq](\d+)")
_SHIFT: Final = re.compile(r",? *(?:lsl|lsr|asr|ror|rrx|uxtw)\b.*$")
_ALIASES: Final = {"sl": "r10", "fp": "r11", "ip": "r12"}
_UPDATES_FLAGS: Final = (
    "adds", "subs", "rsbs", "adcs", "sbcs", "ands", "orrs", "eors", "bics", "orns", "movs", "mvns",
    "lsls", "lsrs", "asrs", "rors", "rrxs", "muls", "negs", "cmp", "cmn", "tst", "teq", "vmrs",
)  # fmt: skip


_LONG: Final = ("bl", "ldmdb")
"""Instructions of 32 bits, without ``.w``, that may end a section."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction as the timing model sees it.

    Attributes:
        address: Its address.
        size: Bytes of its encoding; 0 if unknown.
        mnemonic: Mnemonic without width and condition.
        kind: Kind in the tables of timings.
        reads: Use of each register that it reads: ``value``, ``address``, ``multiply``,
            ``accumulate``, ``early`` (shifted or extracted), ``store``.
        writes: Registers of its results.
        base: Address register that it also updates; empty if none.
        words: Registers that it transfers.
        memory: Base register and constant offset of its address; None if it has no such address.
        is_conditional: Whether it depends on the flags.
    """

    address: int
    size: int
    mnemonic: str
    kind: str
    reads: Mapping[str, str]
    writes: frozenset[str]
    base: str = ""
    words: int = 0
    memory: tuple[str, int] | None = None
    is_conditional: bool = False

    @property
    def end(self) -> int:
        """Address after it."""
        return self.address + self.size

    @property
    def is_narrow(self) -> bool:
        """Whether its encoding has 16 bits."""
        return self.size == 2

    @property
    def leaves(self) -> bool:
        """Whether it may transfer control."""
        return self.kind in ("branch", "call", "indirect", "table", "loop") or "pc" in self.writes


def instructions(text: str) -> Iterator[Instruction]:
    """Yield the instructions of a listing: lines of ``ADDRESS: MNEMONIC OPERANDS``.

    Lines of other forms and constants (``.word``) are skipped. The size of an instruction is the
    distance to the next line with an address.
    """
    rows = [row for line in text.splitlines() if (row := _row(line)) is not None]
    ends = [row[0] for row in rows[1:]] + [None]
    conditional = 0
    for (address, mnemonic, operands), end in zip(rows, ends, strict=True):
        size = 0 if end is None else end - address
        if mnemonic.startswith("."):
            continue
        if size not in (2, 4):  # the last one of a section
            size = 4 if mnemonic.endswith(".w") or mnemonic in _LONG else 2
        yield parse(mnemonic, operands, address=address, size=size, in_it=conditional > 0)
        conditional = len(mnemonic) - 1 if mnemonic.startswith("it") else max(conditional - 1, 0)


def _row(line: str) -> tuple[int, str, str] | None:
    head, colon, rest = line.partition(":")
    try:
        address = int(head, 16)
    except ValueError:
        return None
    parts = rest.split(maxsplit=1)
    if not colon or not parts or parts[0].startswith("<"):
        return None
    return address, parts[0], _COMMENT.sub("", parts[1]).strip() if len(parts) > 1 else ""


def parse(
    mnemonic: str, operands: str = "", *, address: int = 0, size: int = 4, in_it: bool = False
) -> Instruction:
    """Return one instruction.

    Args:
        mnemonic: As objdump writes it, with width and condition.
        operands: Its operands.
        address: Its address.
        size: Bytes of its encoding.
        in_it: Whether an IT instruction makes it conditional; its mnemonic then has a condition.
    """
    name = re.sub(r"\.(?:w|n)$", "", mnemonic)
    conditional = in_it
    if _BRANCH.fullmatch(name):
        conditional, name = conditional or name != "b", "b"
    elif in_it:
        stem, _, types = name.partition(".")
        name = stem[:-2] + (f".{types}" if types else "")
    base = name.partition(".")[0]
    kind = kind_of(name, operands)
    reads, writes = _registers(base, kind, operands)
    # A branch on the flags begins before they are known, if the core issues two instructions.
    if conditional and kind != "branch":
        reads = {**reads, FLAGS: "value"}
    if base in _UPDATES_FLAGS:
        writes |= {FLAGS}
    if kind in ("alu", "shift") and base not in WITHOUT_RESULT and "pc" in writes:
        kind = "indirect"
    return Instruction(
        address, size, base, kind, reads, frozenset(writes), _updated_base(base, kind, operands),
        _words(base, kind, operands), _memory(operands), conditional,
    )  # fmt: skip


def _registers(base: str, kind: str, operands: str) -> tuple[dict[str, str], set[str]]:
    """Return the use of each register that is read, and the registers that are written."""
    listed = _listed(operands)
    address = operands[operands.find("[") :] if "[" in operands else ""
    reads = dict.fromkeys(_names(address), "address")
    if kind.endswith(("load-multiple", "store-multiple")):
        return _multiple(base, kind, operands, listed)
    if address:
        data = _names(operands[: operands.find("[")]) or listed
        if "store" in kind:
            return {**dict.fromkeys(data, "store"), **reads}, {_written_base(operands)} - {""}
        written = {"pc"} if kind == "table" else set(data)
        return reads, (written | {_written_base(operands)}) - {""}
    if kind in ("branch", "call", "loop"):
        return dict.fromkeys(_names(operands), "value"), {"lr"} if kind == "call" else set()
    if kind == "indirect":
        return dict.fromkeys(_names(operands), "value"), {"pc"}
    return _computed(base, operands)


def _multiple(
    base: str, kind: str, operands: str, listed: list[str]
) -> tuple[dict[str, str], set[str]]:
    """Return the registers of a transfer of several."""
    moved = {_updated_base(base, kind, operands)} - {""}
    pointer = next(iter(moved), "") or _names(operands)[0]
    if "store" in kind:
        return {**dict.fromkeys(listed, "store"), pointer: "address"}, moved
    return {pointer: "address"}, moved | set(listed)


def _computed(base: str, operands: str) -> tuple[dict[str, str], set[str]]:
    """Return the registers of an instruction without address."""
    parts = [part.strip() for part in operands.split(",")]
    plain = _names(_SHIFT.sub("", operands))
    shift = _SHIFT.search(operands)
    results = 2 if base.startswith(TWO_RESULTS) else 0 if base in WITHOUT_RESULT else 1
    written, sources = set(plain[:results]), plain[results:]
    reads = dict.fromkeys(sources, "value")
    if base.startswith(MULTIPLYING):
        reads = dict.fromkeys(sources[:2], "multiply")
        accumulated = plain[:2] if results == 2 and base.startswith(ACCUMULATING) else sources[2:]
        reads |= dict.fromkeys(accumulated, "accumulate")
    elif base.startswith(EARLY):
        reads |= dict.fromkeys(sources[-1:], "early")
    if shift is not None:
        reads |= dict.fromkeys([*sources[-1:], *_names(shift[0])], "early")
    # Two operands: the first is also the left operand, as in ADDS r0, #1.
    if base.startswith(UPDATING) or (len(parts) == 2 and base in BINARY):
        reads |= dict.fromkeys(plain[:1], "value")
    return reads, written


def _names(text: str) -> list[str]:
    """Return the registers in a text, in order."""
    return [_ALIASES.get(name, name) for name in _REGISTER.findall(re.sub(r"\b0x\w+", "", text))]


def _listed(operands: str) -> list[str]:
    """Return the registers of a list in braces."""
    if "{" not in operands:
        return []
    listed = operands[operands.index("{") + 1 : operands.index("}")]
    names = []
    for part in listed.split(","):
        several = _RANGE.fullmatch(part.strip())
        if several is not None:
            first, last = int(several[2]), int(several[3])
            names += [f"{several[1]}{number}" for number in range(first, last + 1)]
        else:
            names += _names(part)
    return names


def _written_base(operands: str) -> str:
    """Return the address register of pre- or post-indexed addressing, else nothing."""
    address = operands[operands.find("[") :]
    is_written = address.endswith("!") or re.search(r"\]\s*,", address)
    return _names(address)[0] if is_written else ""


def _updated_base(base: str, kind: str, operands: str) -> str:
    if "[" in operands:
        return _written_base(operands) if "load" in kind or "store" in kind else ""
    if not kind.endswith("multiple"):
        return ""
    if base in ("push", "pop", "vpush", "vpop"):
        return "sp"
    return _names(operands)[0] if "!" in operands else ""


def _words(base: str, kind: str, operands: str) -> int:
    """Return the words that are transferred; doubles count twice."""
    if kind.endswith("multiple"):
        listed = _listed(operands)
        return sum(2 if name.startswith("d") else 1 for name in listed)
    if kind.endswith("pair"):
        return 2
    if "load" in kind or "store" in kind:
        return 2 if base in ("vldr", "vstr") and operands.startswith("d") else 1
    return 0


def _memory(operands: str) -> tuple[str, int] | None:
    """Return base and offset of an address such as ``[r1, #4]``."""
    match = re.search(r"\[(\w+)(?:, #(-?\d+))?\]", operands)
    return None if match is None else (_ALIASES.get(match[1], match[1]), int(match[2] or 0))
