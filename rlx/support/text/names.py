"""Untrusted names, made safe for emitted C, C++ and SystemVerilog.

A model file may call a layer ``"; system("x")`` or ``module``; none of that may reach a compiler.
Identifiers of emitters come from :func:`mangle`, texts of comments from :func:`comment_text`, and a
prefix that the user chose passes :func:`check_prefix`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Container

IDENTIFIER_LENGTH: Final = 63
"""Significant characters of an identifier in every C99 compiler (C99 5.2.4.1)."""

PREFIX_LENGTH: Final = 32
"""Longest first part of the C names of a network."""

COMMENT_LENGTH: Final = 64
"""Characters of a model's name that a comment shows."""

_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")
_NOT_WORD: Final = re.compile(r"[^A-Za-z0-9]+")
_NOT_COMMENT: Final = re.compile(r"[^A-Za-z0-9_./-]")
_NOT_ORIGIN: Final = re.compile(r"[^ -~]|[*\\`|$]")
_ORIGIN_LENGTH: Final = 72

# Source: ISO C17 6.4.1 and C23 6.4.1.
_C_KEYWORDS: Final = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum
extern false float for fortran goto if inline int long nullptr register restrict return short signed
sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
unsigned void volatile while
"""

# Source: ISO C++20 [lex.key], alternative tokens and identifiers with special meaning included.
_CPP_KEYWORDS: Final = """
and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl
concept const_cast consteval constinit decltype delete dynamic_cast explicit export final friend
import module mutable namespace new noexcept not not_eq operator or or_eq override private protected
public reinterpret_cast requires static_cast template this throw try typeid typename using virtual
wchar_t xor xor_eq
"""

# Source: IEEE 1800-2017 Annex B.
_SYSTEMVERILOG_KEYWORDS: Final = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually
expect export extends extern final first_match for force foreach forever fork forkjoin function
generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
import incdir include initial inout input inside instance int integer interconnect interface
intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive
priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on
release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually
s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran
tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor
"""

# Not keywords, but reserved where the C library's headers are included (C99 7.1.3, 7.18, 7.21).
_C_LIBRARY: Final = """
EOF INT8_C INT8_MAX INT8_MIN INT16_C INT16_MAX INT16_MIN INT32_C INT32_MAX INT32_MIN INT64_C
INT64_MAX INT64_MIN NDEBUG NULL SIZE_MAX UINT8_MAX UINT16_MAX UINT32_MAX UINT64_MAX abort abs
assert calloc errno exit free int16_t int32_t int64_t int8_t intptr_t linux main malloc memcmp
memcpy memmove memset offsetof printf ptrdiff_t realloc size_t stderr stdin stdout strlen uint16_t
uint32_t uint64_t uint8_t uintptr_t unix
"""

# Source: Microsoft, "Naming files, paths, and namespaces": no file may have these names there,
# with any suffix after a dot, in upper or lower case.
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))]
)

KEYWORDS: Final = frozenset(
    f"{_C_KEYWORDS} {_CPP_KEYWORDS} {_SYSTEMVERILOG_KEYWORDS} {_C_LIBRARY}".split()
)
"""Words that mean something already in C, C++ or SystemVerilog, or in C's standard library."""


def mangle(name: str, *, reserved: Container[str] = frozenset(), prefix: str = "") -> str:
    """Return an identifier that resembles ``name`` and is safe in C, C++ and SystemVerilog.

    The result is ``prefix``, if given, and words of ASCII letters and digits, joined by single
    underscores. It begins with a letter, is not a keyword, has at most :data:`IDENTIFIER_LENGTH`
    characters, is not a device of Windows (files are named after it) and is not in ``reserved``. It
    depends on the arguments only; a name that is in use gets ``_2``, ``_3`` and so on.

    Args:
        name: Any text, hostile text included.
        reserved: Identifiers in use; the caller adds the result.
        prefix: Put before the name with an underscore between; passes :func:`check_prefix`.
    """
    body = "_".join(word for word in _NOT_WORD.split(name) if word) or "v"
    if prefix:
        body = f"{prefix}_{body}"
    elif not body[0].isalpha():
        body = f"v{body}"
    base = body[:IDENTIFIER_LENGTH].rstrip("_")
    count, candidate = 1, base
    while candidate in reserved or candidate in KEYWORDS or candidate.lower() in _DEVICES:
        count += 1
        suffix = f"_{count}"
        candidate = base[: IDENTIFIER_LENGTH - len(suffix)].rstrip("_") + suffix
    return candidate


def network_prefix(name: str, reserved: Container[str]) -> str:
    """Return the first part of a network's C names, made from the network's name.

    Args:
        name: The network's own name, not that of the file that it is stored in.
        reserved: Words in lower case that files or targets of the output have already.
    """
    words = mangle(name)[:PREFIX_LENGTH].rstrip("_")
    return mangle(f"{words} net") if words.lower() in reserved else words


def check_prefix(text: str) -> str:
    """Return ``text``, a prefix chosen by the user, if it is safe to build identifiers from.

    Raises:
        UsageError: It is not 1 to 32 letters, digits and underscores beginning with a letter, or it
            is a keyword or a device of Windows.
    """
    if not _PREFIX.fullmatch(text):
        raise UsageError(
            f"expected a C identifier as prefix, got {text[:COMMENT_LENGTH]!a}",
            hint="use 1 to 32 ASCII letters, digits and underscores, a letter first",
        )
    if text in KEYWORDS:
        raise UsageError(
            f"prefix {text!r} is a reserved word of C, C++ or SystemVerilog",
            hint=f"use another one, for example {text}_net",
        )
    if text.lower() in _DEVICES:
        raise UsageError(
            f"prefix {text!r} is the name of a device in Windows and cannot name a file",
            hint=f"use another one, for example {text}_net",
        )
    return text


def comment_text(name: str) -> str:
    """Return ``name`` as a comment may show it: characters ``[A-Za-z0-9_./-]``, at most 64.

    Every other character becomes an underscore, so the text can neither end a comment nor continue
    it on the next line.
    """
    return _NOT_COMMENT.sub("_", name[:COMMENT_LENGTH])


def origin_text(origin: str) -> str:
    """Return a node of the model as comments and code spans of Markdown tables may show it.

    That is ASCII in one line, without characters that end a comment or a code span; dots are in
    place of what follows the first 72 characters.
    """
    return shorten(_NOT_ORIGIN.sub("_", origin), _ORIGIN_LENGTH)


def printable(name: str) -> str:
    """Return ``name`` with everything that a terminal might act on replaced by ``?``."""
    return "".join(c if c.isprintable() else "?" for c in name)


def shorten(name: str, length: int = 64) -> str:
    """Return ``name``, or its beginning with dots if it is longer than ``length``."""
    return name if len(name) <= length else f"{name[: length - 3]}..."
