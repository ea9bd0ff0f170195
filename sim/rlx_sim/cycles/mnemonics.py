"""Mnemonics of Thumb, DSP, floating-point and vector instructions, and the kinds they belong to.

Source: Armv7-M and Armv8-M Architecture Reference Manuals, alphabetical lists of instructions.

Tests: tests/sim/cycles/test_instruction.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    Rows = Sequence[tuple[str | tuple[str, ...], str]]

KINDS: Final = (
    "nop", "it", "alu", "shift", "shifted", "dsp", "multiply", "multiply-accumulate",
    "multiply-long", "multiply-accumulate-long", "divide",
    "load", "load-narrow", "load-pair", "load-multiple",
    "store", "store-indexed", "store-pair", "store-multiple",
    "branch", "call", "indirect", "table", "loop", "system",
    "float", "float-multiply", "float-accumulate", "float-divide", "float-move", "float-load",
    "float-store", "float-load-multiple", "float-store-multiple",
    "vector-integer", "vector-multiply", "vector-load", "vector-store", "vector-control",
)  # fmt: skip
"""Kinds of instructions that a table of timings must have, apart from those that a core lacks."""

WITHOUT_RESULT: Final = ("cmp", "cmn", "tst", "teq", "vcmp", "vcmpe", "vmsr", "msr")
MULTIPLYING: Final = (
    "mul", "mla", "mls", "smul", "smla", "smls", "smua", "smus", "smml", "smmu", "umul", "umla",
    "umaal",
)  # fmt: skip
"""Beginnings of the names of products."""
ACCUMULATING: Final = ("smlal", "umlal", "umaal", "smlsld")
"""Beginnings of the names of products that are added to a pair of registers."""
TWO_RESULTS: Final = ("smull", "umull", *ACCUMULATING, "asrl", "lsll", "lsrl", "sqrshrl", "uqrshll")
EARLY: Final = (
    "ubfx", "sbfx", "bfi", "rev", "rbit", "pkh", "uxta", "sxta", "ssat", "usat", "qd",
)  # fmt: skip
"""Beginnings of the names of instructions whose last operand is shifted or extracted first."""
UPDATING: Final = ("bfi", "bfc", "movt", "vfm", "vmla", "vmls", "vnml", "vfnm", "vins")
"""Beginnings of the names of instructions that also read their result's register."""
BINARY: Final = frozenset(
    f"{name}{flags}"
    for name in ("add", "adc", "sub", "sbc", "and", "orr", "eor", "bic", "mul",
                 "lsl", "lsr", "asr", "ror")
    for flags in ("", "s")
)  # fmt: skip
"""Instructions that, written with two operands, have the first as their left operand too."""

_DSP: Final = (
    "ubfx", "sbfx", "bfi", "bfc", "rev", "rbit", "clz", "pkh", "ssat", "usat", "sel", "usad",
    "uxt", "sxt", "qadd", "qsub", "qdadd", "qdsub", "qasx", "qsax", "sadd", "ssub", "sasx", "ssax",
    "shadd", "shsub", "uadd", "usub", "uasx", "usax", "uhadd", "uhsub", "uqadd", "uqsub", "shasx",
    "shsax", "uhasx", "uhsax", "uqasx", "uqsax",
)  # fmt: skip
_SYSTEM: Final = (
    "mrs", "msr", "dsb", "dmb", "isb", "svc", "bkpt", "cps", "cpsie", "cpsid", "wfi", "wfe", "sev",
    "udf", "sg", "tt", "vmrs", "vmsr", "vscclrm", "clrm", "clrex",
)  # fmt: skip
_LOOPS: Final = ("le", "letp", "dls", "dlstp", "wls", "wlstp", "lctp")

_EXACT: Final = {
    "mul": "multiply", "muls": "multiply", "mla": "multiply-accumulate",
    "mls": "multiply-accumulate", "smull": "multiply-long", "umull": "multiply-long",
    "smlal": "multiply-accumulate-long", "umlal": "multiply-accumulate-long",
    "umaal": "multiply-accumulate-long", "sdiv": "divide", "udiv": "divide",
    "ldrd": "load-pair", "strd": "store-pair", "bl": "call", "blx": "call", "bx": "indirect",
    "b": "branch", "cbz": "branch", "cbnz": "branch", "tbb": "table", "tbh": "table",
    "vldr": "float-load", "vstr": "float-store", "vdiv": "float-divide", "vsqrt": "float-divide",
    "nop": "nop",
} | dict.fromkeys(_SYSTEM, "system") | dict.fromkeys(_LOOPS, "loop")  # fmt: skip

_STARTS: Final[Rows] = (
    ("it", "it"),
    (("ldm", "pop"), "load-multiple"), (("stm", "push"), "store-multiple"),
    (("vldm", "vpop"), "float-load-multiple"), (("vstm", "vpush"), "float-store-multiple"),
    (("ldrb", "ldrh", "ldrsb", "ldrsh"), "load-narrow"), (("ldr", "pld"), "load"), ("str", "store"),
    (("smlal", "smlsld"), "multiply-accumulate-long"),
    (("smla", "smls", "smmla", "smmls"), "multiply-accumulate"),
    (("smul", "smua", "smus", "smmul"), "multiply"),
    (("lsl", "lsr", "asr", "ror", "rrx"), "shift"), (_DSP, "dsp"),
)  # fmt: skip

_FLOATS: Final[Rows] = (
    (("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms"), "float-accumulate"),
    (("vmul", "vnmul"), "float-multiply"), ("vmov", "float-move"),
)  # fmt: skip
_VECTORS: Final[Rows] = (
    (("vldr", "vld2", "vld4"), "vector-load"), (("vstr", "vst2", "vst4"), "vector-store"),
    (("vpst", "vpt", "vctp", "vpnot", "vmrs", "vmsr"), "vector-control"),
    (("vmul", "vqdmul", "vqrdmul", "vmla", "vrmla", "vmls", "vrmls", "vrmulh", "vqdmla", "vqrdmla",
      "vqdml", "vfma", "vfms", "vaddv", "vaddlv", "vcmp", "vcmul", "vcmla", "vcvt", "vmulh"),
     "vector-multiply"),
)  # fmt: skip

_VECTOR_REGISTER: Final = re.compile(r"\bq[0-7]\b")
_SHIFT: Final = re.compile(r", *(?:lsl|lsr|asr|ror|rrx)\b")
_REGISTER_OFFSET: Final = re.compile(r"\[\w+, *[a-z]")
_CONSTANT: Final = re.compile(r"#(\d+)")
_MAX_PLAIN_CONSTANT: Final = 0xFFF
"""Largest constant of 12 bits; others are made by shifting eight bits."""


def kind_of(name: str, operands: str) -> str:
    """Return the kind of an instruction; ``name`` has neither width nor condition."""
    base = name.partition(".")[0]
    if name.startswith("v"):
        return _vector_kind(base, operands)
    kind = _EXACT.get(base) or _by_start(base, _STARTS, "alu")
    if kind == "store" and _REGISTER_OFFSET.search(operands):
        return "store-indexed"
    if kind != "alu" or not _is_shifted(base, operands):
        return kind
    return "shift" if base in ("mov", "movs") else "shifted"


def _vector_kind(base: str, operands: str) -> str:
    is_vector = _VECTOR_REGISTER.search(operands) or base.startswith(("vpst", "vpt", "vctp"))
    if is_vector and base not in ("vldm", "vstm", "vpush", "vpop"):
        return _by_start(base, _VECTORS, "vector-integer")
    return _EXACT.get(base) or _by_start(base, (*_STARTS[3:5], *_FLOATS), "float")


def _by_start(base: str, rows: Rows, other: str) -> str:
    return next((kind for start, kind in rows if base.startswith(start)), other)


def _is_shifted(base: str, operands: str) -> bool:
    """Whether the last operand is shifted in line, or a constant made by a shift."""
    if _SHIFT.search(operands) is not None:
        return True
    constant = _CONSTANT.search(operands)
    is_move = base.startswith(("movw", "movt", "mov"))
    return constant is not None and not is_move and int(constant[1]) > _MAX_PLAIN_CONSTANT
