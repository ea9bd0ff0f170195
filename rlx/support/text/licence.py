"""The licence line that our targets write into emitted files.

Tests: tests/targets/test_licence.py
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LICENCE: Final = "Owned by the owner of the model; the parts that come from rlx are under 0BSD."
"""docs/design/0008-licence-of-emitted-files.md says why; NOTICE has the text of 0BSD."""

_BLOCK: Final = f"/* {LICENCE} */\n"
_SLASHES: Final = f"// {LICENCE}\n"
_HASH: Final = f"# {LICENCE}\n"
_SAVE_FILE: Final = f"[*] {LICENCE}\n"

COMMENTS: Final[Mapping[str, str]] = {
    **dict.fromkeys((".S", ".c", ".h", ".ld"), _BLOCK),
    **dict.fromkeys((".cpp", ".ino", ".sv", ".v", ".vlt"), _SLASHES),
    **dict.fromkeys((".core", ".lpf", ".pcf", ".py", ".sby", ".sdc", ".tcl", ".xdc"), _HASH),
    **dict.fromkeys((".in", ".sucl", ".yml", ".ys"), _HASH),
    ".gtkw": _SAVE_FILE,
    **dict.fromkeys(("CMakeLists.txt", "Kconfig", "Makefile", "meson.build"), _HASH),
}
"""The line as a comment, by the name of a file or the end of it."""

DATA: Final = frozenset(
    {".bin", ".json", ".mem", ".npy", ".pdsc", ".properties", ".rlx", ".svg", ".txt"}
)
"""Ends of names of files that hold data, or a tool's form, and not the line."""

# Tools look for these at the very beginning of a file.
_FIRST_LINES: Final = ("CAPI=2:\n", "`verilator_config\n")


def with_licence(files: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """Return files with the licence line: at the beginning, in a README (``.md``) at the end.

    Args:
        files: Content by relative path; each of a kind that ``COMMENTS`` or ``DATA`` knows.
    """
    return {name: _licensed(PurePosixPath(name), content) for name, content in files.items()}


def _licensed(path: PurePosixPath, content: str | bytes) -> str | bytes:
    if isinstance(content, bytes):
        return content
    if path.suffix == ".md":
        return f"{content}\n{LICENCE}\n"
    if path.name not in COMMENTS and path.suffix in DATA:
        return content
    comment = COMMENTS.get(path.name) or COMMENTS[path.suffix]
    first = next((line for line in _FIRST_LINES if content.startswith(line)), "")
    return first + comment + content.removeprefix(first)
