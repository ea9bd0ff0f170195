"""Names that mean something to a compiler, a shell, a build system, a browser or a disk."""

from __future__ import annotations

from typing import Final

_WORDS = """
int while _Bool restrict asm inline main NULL errno assert stdint
module endmodule wire logic always_ff begin posedge automatic
entity signal architecture process
class namespace template lambda None
con aux NUL COM1 test all install library
9lives __attribute__ __FILE__
"""

_CODE = (
    '"; system("touch rlx_was_here"); //',
    "*/ int evil(void) { return 1; } /*",
    "*/",
    "/*",
    "//",
    "a\nint evil;\n",
    "a\r\n#include </etc/passwd>",
    "line continuation\\",
    "??/\nint evil;",
    "%:define main evil",
    "'; DROP TABLE layers; --",
    "`include `define `timescale",
    "\\escaped identifier ",
    '$readmemh("/etc/passwd")',
    "(* keep *) -- }}",
    "#define int char",
    '_Pragma("GCC error")',
)

_TOOLS = (
    "$(touch rlx_was_here)",
    "`touch rlx_was_here`",
    "${IFS}${CMAKE_COMMAND}",
    "$(shell touch rlx_was_here)",
    '[exec touch rlx_was_here] ; # {',
    "a; touch rlx_was_here && b | c > d",
    "!!python/object/apply:os.system [touch]",
    "yes: [no, *anchor, &anchor] # - |",
    '": {"evil": 1}, "',
    "{{ 7 * 7 }}{% include 'x' %}",
    "%s%n%x{0}{name}",
    "-rf --version",
    "key=value\nincludes=evil.h",
    "endmenu\nconfig EVIL",
)  # fmt: skip

_TEXT = (
    "",
    " ",
    "__",
    "<script>alert(1)</script>",
    "]]><!-- & &lt; &#x41; -- >",
    '" onload="alert(1)" x="',
    "[link](javascript:alert) | `code` *b*",
    "a|b|c\n|---|",
    "\x1b[2J\x1b]0;title\x07",
    "a\tb\vc\fd",
    "nul\0byte",
    "\u202egnp.exe\u2066",
    "e\u0301\u0308\u20dd",
    "\u0430\u0441\u0435",  # Cyrillic that looks like Latin
    "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}",
    "\u2028\u2029\x85\ufeff",
    b"\xed\xa0\x80\xff\xfe",  # what UTF-8 cannot hold
)

_DISK = (
    "../../../x",
    "/etc/passwd",
    "a/b/../c",
    "C:\\Windows\\aux.h",
    "file:///dev/zero",
    "trailing. ",
    "x" * 900,
    "conv2d/Conv2D;StatefulPartitionedCall:0",
)

NAMES: Final[tuple[bytes, ...]] = tuple(
    name if isinstance(name, bytes) else name.encode()
    for name in (*_WORDS.split(), *_CODE, *_TOOLS, *_TEXT, *_DISK)
)
"""As a file holds them."""
