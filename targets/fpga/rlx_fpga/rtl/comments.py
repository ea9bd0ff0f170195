"""Comments above a module: the docstring of its cell, without Python's markup."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from rlx_fpga.rtl.layout import commented
from rlx_fpga.rtl.naming import port_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION: Final = re.compile(r"^([A-Z][a-z]+):$")
_ROLE: Final = re.compile(r":[a-z]+:`~?\.?([^`]+)`")
_DROPPED: Final = ("Args", "Attributes", "Raises", "Returns")
_TITLES: Final = {"Members": "Ports:", "Source": "Source:"}
_MEMBER: Final = re.compile(r"^(    )(\w[\w, .()]*?): (In|Out)\b[,:]?\s*")
_WORD: Final = re.compile(r"[a-z]\w*(?:\.\w+)*")


@cache
def heading(docstring: str) -> list[str]:
    """Return what the docstring of a cell says about its hardware, as comment lines.

    Sections about Python's arguments are left out; members are called ports.
    """
    return commented("\n".join(_lines(inspect.cleandoc(docstring))).strip())


def _lines(text: str) -> Iterator[str]:
    dropped = False
    for line in _plain(text).splitlines():
        section = _SECTION.match(line)
        if section:
            dropped = section[1] in _DROPPED
            if not dropped:
                yield _TITLES.get(section[1], line)
            continue
        if line and not line[0].isspace():
            dropped = False
        if not dropped:
            yield _MEMBER.sub(_port, line)


def _port(member: re.Match[str]) -> str:
    """Return a member as ports are called: ``i: In`` is ``in (input)``."""
    names = _WORD.sub(lambda word: port_name(word[0].split(".")), member[2])
    return f"  {names} ({member[3].lower()}put): "


def _plain(text: str) -> str:
    """Return ``text`` without roles and back quotes."""
    return _ROLE.sub(lambda role: role[1].rpartition(".")[2], text).replace("``", "")
