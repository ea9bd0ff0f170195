"""Names that an emitted network must not have: headers of C, targets of CMake.

Tests: tests/targets/cortexm/test_packages.py
"""

from __future__ import annotations

from typing import Final

from rlx.support.errors import UsageError
from rlx.support.text.names import check_prefix, network_prefix

_C99_HEADERS: Final = """
assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdarg
stdbool stddef stdint stdio stdlib string tgmath time wchar wctype
"""
STANDARD_HEADERS: Final = frozenset(_C99_HEADERS.split())
"""Headers of C99: a model's header of that name would hide them."""

# Source: CMake manual, policy CMP0037, and the targets that its generators make.
_CMAKE_NAMES: Final = """
all all_build clean depend edit_cache help install list_install_components package package_source
preinstall rebuild_cache run_tests test test_memcheck zero_check
"""
_CMAKE_RESERVED: Final = frozenset(_CMAKE_NAMES.split())


def check_header_prefix(prefix: str) -> None:
    """Check that a prefix is an identifier, and no header of C.

    Raises:
        UsageError: It is not, or one.
    """
    if check_prefix(prefix).lower() in STANDARD_HEADERS:
        raise UsageError(
            f"prefix {prefix!r} would hide the C library's header {prefix}.h",
            hint=f"use another one, for example {prefix}_net",
        )


def prefix_of(prefix: str | None, name: str) -> str:
    """Return the prefix that the user chose, or one made from a model's name."""
    return network_prefix(name, STANDARD_HEADERS) if prefix is None else prefix


def cmake_target(prefix: str) -> str:
    """Return a name for the library of a network that CMake does not reserve."""
    return f"rlx_{prefix}" if prefix.lower() in _CMAKE_RESERVED else prefix
