"""Table of MISRA C:2012 deviations in docs/guide/firmware.md, from cppcheck's MISRA add-on.

``python tools/misra.py MODELS --update`` emits the networks in the folder MODELS, checks their C
with and without assembly, and writes the table; without ``--update`` it compares. A count is the
largest of one network in one configuration. cppcheck is a program of its own (tested with 2.22).

Tests: tests/tools/test_misra.py
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rlx

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs" / "guide" / "firmware.md"
BEGIN, END = "<!-- misra: begin -->\n", "<!-- misra: end -->\n"
NETWORKS: Final = ("kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8")
TIMEOUT_S: Final = 300

CONFIGURATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "with assembly": (
        "-D__GNUC__=12", "-D__OPTIMIZE__=1", "-D__thumb2__=1", "-D__ARM_FEATURE_SIMD32=1",
        "-D__ARM_FEATURE_UNALIGNED=1",
    ),
    "plain C": ("-DNET_NO_ASM=1",),
}  # fmt: skip
"""Macros of the compiler in each configuration that is checked."""

_ASSEMBLY: Final = re.compile(r"__asm__(?: volatile)?\(")
_STRING_OR_PARENTHESIS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
_HIT: Final = re.compile(r"^misra-c2012-([0-9]+\.[0-9]+)\|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that emitted C breaks on purpose.

    Attributes:
        required: It is required; else it is advisory.
        reason: Code that it is broken by, and why.
    """

    required: bool
    reason: str


RULES: Final[Mapping[str, Rule]] = {
    "2.3": Rule(False, "types of static assertions are not used"),
    "2.5": Rule(False, "macros for your settings and for facts of the model are not used here"),
    "2.7": Rule(True, "false alarm: assembly reads the parameter, which the add-on does not see"),
    "8.7": Rule(False, "false alarm: `net_run` is called from your files"),
    "9.3": Rule(True, "`= {0}` and vectors of sums: the rest is zero"),
    "10.1": Rule(True, "`>>` of negative numbers keeps the sign, which a static assertion checks"),
    "10.3": Rule(True, "int32 results are stored as int8 after a clamp; pointers move by int32"),
    "10.4": Rule(True, "int8 values, int32 sums and constants are operands of one operator"),
    "10.7": Rule(True, "products of int8 values are widened by an operand, not by a cast"),
    "10.8": Rule(True, "differences of int8 values are cast to float or to a wider integer"),
    "11.5": Rule(False, "parts of the arena, `void *`, hold int8 values, sums or packed pairs"),
    "11.6": Rule(True, "`(uintptr_t)arena`: its alignment is tested"),
    "12.1": Rule(False, "no parentheses where the precedence of `*`, `+`, `<` decides"),
    "12.2": Rule(True, "false alarm: the add-on takes `1u` for a number of 8 bits"),
    "12.3": Rule(False, "two variables in one declaration, two steps in a `for`"),
    "13.3": Rule(False, "`*to++ = ...`"),
    "13.4": Rule(False, "`a = b = ...` of tables in scratch memory"),
    "14.2": Rule(True, "`for` loops that move a pointer with their counter"),
    "14.4": Rule(True, "int32 conditions: C99's `bool` is not used"),
    "15.5": Rule(False, "the entry point returns early on a bad argument"),
    "15.7": Rule(True, "`else if` without `else` in the conversion of floats"),
    "17.7": Rule(True, "results of `memcpy`, `memset` and of helpers that return the next address"),
    "17.8": Rule(False, "parameters are counted down, pointers moved"),
    "18.4": Rule(False, "pointer arithmetic on tensors"),
    "20.10": Rule(False, "`#` and `##` in macros of unrolled assembly"),
    "21.15": Rule(True, "`memcpy` reads a word of int8 values from any address"),
}  # fmt: skip
"""Reason for each rule that the add-on reports."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check or update the table; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, help="folder of the int8 models of MLPerf Tiny")
    parser.add_argument("--update", action="store_true", help="write the table into the page")
    parser.add_argument("--cppcheck", default="cppcheck", help="the program [cppcheck]")
    options = parser.parse_args(arguments)
    files = [options.models / f"{name}.tflite" for name in NETWORKS]
    counts = most(count(file, options.cppcheck) for file in files)
    if unknown := sorted(set(counts) - set(RULES)):
        sys.stderr.write(f"add a reason to RULES for {', '.join(unknown)}: {counts}\n")
        return 1
    text = PAGE.read_text(encoding="utf-8")
    updated = with_table(text, table(counts))
    if options.update:
        PAGE.write_text(updated, encoding="utf-8")
    elif text != updated:
        sys.stderr.write(f"{PAGE.name} has another table: run it with --update\n")
        return 1
    return 0


def count(model: Path, cppcheck: str) -> Counter[str]:
    """Count the reports of each rule for a network: the most of one configuration."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "net"
        rlx.emit(rlx.load(model), "cortexm", folder, prefix="net", frames=1)
        return most(hits(folder, macros, cppcheck) for macros in CONFIGURATIONS.values())


def hits(folder: Path, macros: Sequence[str], cppcheck: str) -> Counter[str]:
    """Count cppcheck's reports of each rule for an emitted folder.

    Assembly is taken out: the add-on reads it as C. The file of the tables is not read: it takes
    minutes, and holds nothing but initializers.
    """
    sources = [file for file in sorted((folder / "src").glob("*.c")) if "_weights" not in file.name]
    for source in sources:
        source.write_text(without_assembly(source.read_text(encoding="utf-8")), encoding="utf-8")
    command = [
        *(cppcheck, "-q", "--addon=misra", "--std=c99", "--platform=unix32", "--enable=style"),
        *(
            "--max-configs=1",
            "--template={id}|{file}:{line}:{column}",
            "-DUINT32_C(x)=x##U",
            *macros,
        ),
        *("-I", str(folder / "include"), *map(str, sources)),
    ]
    report = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    ).stderr
    if "syntaxError" in report:
        raise ValueError(f"cppcheck cannot read {folder}")
    return Counter(_HIT.findall(report))


def without_assembly(text: str) -> str:
    """Return C code without the statements that are assembly."""
    pieces, end = [], 0
    for statement in _ASSEMBLY.finditer(text):
        pieces.append(text[end : statement.start()])
        depth, end = 1, statement.end()
        while depth:
            token = _STRING_OR_PARENTHESIS.search(text, end)
            assert token is not None
            depth += {"(": 1, ")": -1}.get(token[0], 0)
            end = token.end()
    return "".join(pieces) + text[end:]


def most(counts: Iterable[Counter[str]]) -> Counter[str]:
    """Return the largest count of each rule."""
    total: Counter[str] = Counter()
    for one in counts:
        total |= one
    return total


def table(counts: Mapping[str, int]) -> str:
    """Return the table, sorted by rule."""
    rows = [
        f"| {rule} | {'required' if RULES[rule].required else 'advisory'} | {number}"
        f" | {RULES[rule].reason} |\n"
        for rule, number in sorted(counts.items(), key=lambda item: _order(item[0]))
    ]
    return "| rule | | reports | where and why |\n| --- | --- | ---: | --- |\n" + "".join(rows)


def with_table(text: str, new: str) -> str:
    """Return a page with another table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def rules_of(text: str) -> dict[str, int]:
    """Return the counts in a page's table, by rule."""
    part = text.partition(BEGIN)[2].partition(END)[0]
    rows = re.findall(r"^\| ([0-9.]+) \| \w+ \| (\d+) \|", part, re.MULTILINE)
    return {rule: int(number) for rule, number in rows}


def _order(rule: str) -> tuple[int, ...]:
    return tuple(int(part) for part in rule.split("."))


if __name__ == "__main__":
    sys.exit(main())
