"""Bytes of machine code of a kernel, estimated without compiling it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rlx_cortexm.render import ENV

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from rlx_c.layer import Kernel

_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_TOKEN: Final = re.compile(r"\w+|[^\s\w]")
# Upper bound: a Thumb-2 instruction has 2 or 4 bytes.
_INSTRUCTION_BYTES: Final = 4
_PREFIX: Final = "p"

ENTRY_BYTES: Final = 64
"""Bytes of machine code of the entry point, without its calls."""

CALL_BYTES: Final = 16
"""Bytes of machine code per call in the entry point."""


def kernel_bytes(kernel: Kernel | None) -> int:
    """Return the approximate bytes of a kernel's function; empty for a layer without one."""
    return 0 if kernel is None else _rendered_bytes(kernel)


def code_sizes(kernel: Kernel) -> dict[Hashable, int]:
    """Return the bytes of a kernel's function and of each that it calls and others may call too."""
    return {kernel: kernel_bytes(kernel), **dict(kernel.size.shared)}


_MARGIN_BYTES: Final = 256
_MARGIN_DIVISOR: Final = 8
"""Margin of a predicted size: fixed bytes, and the divisor that gives its share. GCC 12 exceeds the
predictions for whole networks by 3 to 11 %, and that for a small one by 253 bytes."""


def entry_bytes(layers: int) -> int:
    """Return the approximate bytes of the entry point."""
    return ENTRY_BYTES + CALL_BYTES * layers


def code_bytes(kernels: Iterable[Kernel], layers: int) -> int:
    """Return the approximate bytes of machine code of a network.

    Args:
        kernels: Its distinct functions.
        layers: Calls of them.
    """
    parts: dict[Hashable, int] = {}
    for kernel in kernels:
        parts |= code_sizes(kernel)
    return entry_bytes(layers) + sum(parts.values())


def with_margin(code: int) -> int:
    """Return predicted bytes of machine code with a margin for the compiler."""
    return code + code // _MARGIN_DIVISOR + _MARGIN_BYTES


def sizes_with_margin(kernel: Kernel) -> dict[Hashable, int]:
    """Return ``code_sizes`` with a margin; :func:`entry_with_margin` has the fixed part of it."""
    return {part: size + size // _MARGIN_DIVISOR + 1 for part, size in code_sizes(kernel).items()}


def entry_with_margin(layers: int) -> int:
    """Return the approximate bytes of the entry point, with a margin."""
    return with_margin(entry_bytes(layers))


def text_bytes(text: str) -> int:
    """Return the approximate bytes of machine code that a compiler generates from C of this target.

    Fitted to GCC 12 at -O2 for a Cortex-M4; right within a third. A line of inline assembly counts
    as one instruction.
    """
    plain = _COMMENT.sub(" ", text)
    assembly: int = sum(string.count("\\n") for string in _STRING.findall(plain))
    return len(_TOKEN.findall(_STRING.sub(" ", plain))) + assembly * _INSTRUCTION_BYTES


@lru_cache(maxsize=4096)
def _rendered_bytes(kernel: Kernel) -> int:
    template = ENV.get_template(f"kernels/{kernel.template}.c.j2")
    text = template.render(
        prefix=_PREFIX, macro=_PREFIX.upper(), name=_PREFIX, users="", **kernel.context
    )
    return int(kernel.size.per_token * text_bytes(text)) + kernel.size.inlined
