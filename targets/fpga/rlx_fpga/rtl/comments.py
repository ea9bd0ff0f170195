"""Comments above a module: the docstring of its cell, without Python's markup.

Tests: tests/targets/fpga/rtl/test_layout.py
"""

from __future__ import annotations

import re
import sys
from functools import cache
from inspect import cleandoc, getattr_static
from typing import TYPE_CHECKING, Final

from rlx_fpga.rtl.layout import comment_lines
from rlx_fpga.rtl.naming import component_of, port_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amaranth.hdl import Fragment
    from amaranth.lib.wiring import Component

_SECTION: Final = re.compile(r"^([A-Z][a-z]+):$")
_ROLE: Final = re.compile(r":[a-z]+:`~?\.?([^`]+)`")
_DROPPED: Final = ("Args", "Attributes", "Raises", "Returns")
_TITLES: Final = {"Members": "Ports:", "Source": "Source:"}
_MEMBER: Final = re.compile(r"^(    )(\w[\w, .()]*?): (In|Out)\b[,:]?\s*")
_NAME: Final = re.compile(r"``([A-Za-z]\w*)``")
_SIGNAL: Final = re.compile(r"``([io])(\d*|<n>)\.(\w+)``")
_LATENCY: Final = "``latency``"
"""Placeholder of a cell's latency in its docstring."""

_WORD: Final = re.compile(r"[a-z]\w*(?:\.\w+)*")

_LIBRARY: Final = {
    "SyncFIFO": """First-in first-out queue of Amaranth's library: its first word is always shown.

    Members:
        w_rdy: Out: there is space for a word.
        r_rdy: Out: there is a word.
        w_data: In: word to add.
        w_en: In: add it, if there is space.
        r_data: Out: first word.
        r_en: In: remove it, if there is one.

    Latency 1, initiation interval 1.
    """
}
"""Docstrings of parts that are not components."""


def heading_of(fragment: Fragment) -> list[str]:
    """Return the comment lines above the module of a fragment.

    They are the part about hardware of its cell's docstring, and the values of parameters in it.
    """
    component = component_of(fragment)
    if component is None:
        kinds = [type(origin).__name__ for origin in fragment.origins or ()]
        return heading(next((_LIBRARY[kind] for kind in kinds if kind in _LIBRARY), ""))
    text = type(component).__doc__ or ""
    if _LATENCY in text:
        text = text.replace(_LATENCY, str(component.latency))
    values = ", ".join(f"{name} {value}" for name, value in _values(component, text))
    return [*heading(text), *(["//", *comment_lines(f"Here: {values}.")] if values else [])]


@cache
def heading(docstring: str) -> list[str]:
    """Return the part about hardware of a cell's docstring, as comment lines.

    Sections about Python's arguments are left out; members are called ports.
    """
    return comment_lines(_plain("\n".join(_lines(docstring))).strip())


def _values(component: Component, docstring: str) -> Iterator[tuple[str, int | str]]:
    """Yield names of parameters in a docstring, with their values in this component."""
    names = _NAME.findall("\n".join(_lines(docstring)))
    constants = vars(sys.modules[type(component).__module__])
    for name in dict.fromkeys(names):
        value = vars(component).get(name, getattr_static(component, name, constants.get(name)))
        if isinstance(value, bool):
            yield name, "yes" if value else "no"
        elif isinstance(value, int | str):
            yield name, value


def _lines(docstring: str) -> Iterator[str]:
    """Yield the lines about hardware."""
    is_python = False
    for line in cleandoc(docstring).splitlines():
        section = _SECTION.match(line)
        if section:
            is_python = section[1] in _DROPPED
            if not is_python:
                yield _TITLES.get(section[1], line)
            continue
        if line and not line[0].isspace():
            is_python = False
        if not is_python:
            yield _MEMBER.sub(_port, line)


def _port(member: re.Match[str]) -> str:
    """Return a member as ports are called: ``i: In`` is ``in (input)``."""
    names = _WORD.sub(lambda word: port_name(word[0].split(".")), member[2])
    return f"  {names} ({member[3].lower()}put): "


def _plain(text: str) -> str:
    """Return ``text`` without roles and back quotes, and with the names of ports."""
    text = _SIGNAL.sub(lambda match: f"{port_name(match[1])}{match[2]}_{match[3]}", text)
    return _ROLE.sub(lambda role: role[1].rpartition(".")[2], text).replace("``", "")
