"""How many bytes of machine code a kernel becomes, known without compiling it."""

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
_INSTRUCTION_BYTES: Final = 4
_PREFIX: Final = "p"
_SIZED: Final = re.compile(r"(multiply|positions|quads)_(\d+)")

FACTORS: Final[dict[str, float]] = {
    "add_mve/kernel": 0.5,
    "add_table/kernel": 0.7,
    "argmax/kernel": 0.6,
    "pool2d/lanes": 0.7,
    "pool2d_mve/average": 0.4,
    "pool2d/average": 0.45,
    "clamp/kernel": 0.5,
    "conv2d_mve/kernel": 0.6,
    "conv2d_winograd/kernel": 0.5,
    "dense_mve/kernel": 0.5,
    "dense_quads/kernel": 0.7,
    "depthwise_planes/kernel": 0.6,
    "depthwise_mve/kernel": 0.5,
    "depthwise/kernel": 1.25,
    "pool2d_mve/max": 0.4,
    "pool2d/max": 0.6,
    "softmax/kernel": 1.15,
}
"""Bytes of code for each token of a template's text, where it is far from :data:`FACTOR`."""

FACTOR: Final = 0.95

INLINED: Final = {"mve_dot": 300, "dot4": 150, "dot1": 50, "multiply": 28, "positions": 70}
"""Bytes of shared functions that are written out in a kernel; for each step of the last two."""

SHARED: Final = {"quads": 76, "planes4": 130}
"""Bytes of shared functions that are there once, beside the kernels; of the first for each step."""

ENTRY: Final = 64
"""Of the entry point, without its calls."""

CALL: Final = 16
"""Of a call in the entry point."""


def kernel_bytes(kernel: Kernel | None) -> int:
    """Return about how many bytes a kernel's function takes; nothing for a layer without one."""
    return 0 if kernel is None else _rendered_bytes(kernel)


def code_sizes(kernel: Kernel) -> dict[Hashable, int]:
    """Return the bytes of a kernel's function and of each that it calls and others may call too."""
    shared = {f: _listed_bytes(f, SHARED) for f in kernel.support}
    return {kernel: kernel_bytes(kernel), **{f: n for f, n in shared.items() if n}}


def entry_bytes(layers: int) -> int:
    """Return about how many bytes the entry point takes."""
    return ENTRY + CALL * layers


def code_bytes(kernels: Iterable[Kernel], layers: int) -> int:
    """Return about how many bytes of machine code a network becomes.

    Args:
        kernels: Its distinct functions.
        layers: Calls of them.
    """
    parts: dict[Hashable, int] = {}
    for kernel in kernels:
        parts |= code_sizes(kernel)
    return entry_bytes(layers) + sum(parts.values())


def text_bytes(text: str) -> int:
    """Return about how much machine code a compiler makes of C from this target.

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
    own = FACTORS.get(kernel.template, FACTOR) * text_bytes(text)
    return int(own) + sum(_listed_bytes(f, INLINED) for f in kernel.support)


def _listed_bytes(function: str, listed: dict[str, int]) -> int:
    """Return the bytes that a list has for a function, by its steps if it has some."""
    sized = _SIZED.match(function)
    return listed.get(sized[1], 0) * int(sized[2]) if sized else listed.get(function, 0)
