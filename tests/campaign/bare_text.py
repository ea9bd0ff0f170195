"""Emitted files with all that may show a model's names taken out, so that the rest can be compared.

A file is read as its own reader would read it: comments by C's and Verilog's rules, JSON, XML,
YAML and Python by parsers, build files line by line.
"""

from __future__ import annotations

import ast
import json
import re
import xml.etree.ElementTree as ET
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

MAY_DIFFER: Final = re.compile(r"[A-Za-z0-9_./-]*")
"""Text of a line where another one has the harmless name; see ``comment_text`` of rlx."""

_C = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'|/\*.*?\*/|//(?:\\\n|[^\n])*", re.DOTALL
)
_PORT_NAME = re.compile(r", [A-Za-z0-9_./-]+ in the model\b")
"""Name of a port in the header's first comment."""

# Where a model's names may stand in parsed files.
_JSON_NAMES = ("description", "name", "instance", "origins", "slowest", "parts")
_XML_NAMES = ("description", "title", "text", "tspan")
_XML_LABELS = ("data-layer", "aria-label")
_SVG = "{http://www.w3.org/2000/svg}"


def bare(path: str, text: str) -> object:
    """Return the meaning of ``text`` without comments and names.

    Raises:
        ValueError: It is not what the file's name says.
    """
    place = PurePosixPath(path)
    read = _BY_NAME.get(place.name) or _BY_SUFFIX.get(place.suffix)
    return text if read is None else read(text)


def renamed_alike(plain: object, hostile: object) -> bool:
    """Return whether two texts of code differ in their identifiers alone, one for one."""
    tokens = [re.findall(r"\w+|[^\w\s]", str(text)) for text in (plain, hostile)]
    if len(tokens[0]) != len(tokens[1]):
        return False
    pairs = set(zip(*tokens, strict=True))
    names = [pair for pair in pairs if pair[0] != pair[1]]
    one_for_one = len({p for p, _ in pairs}) == len({h for _, h in pairs}) == len(pairs)
    return one_for_one and all(re.fullmatch(r"[A-Za-z_]\w*", name) for p in names for name in p)


def suspicious(plain: str, hostile: str) -> str:
    """Return the first difference that more than a harmless name makes, or nothing."""
    lines = plain.split("\n"), _PORT_NAME.sub("", hostile).split("\n")
    if len(lines[0]) != len(lines[1]):
        return f"{len(lines[1])} lines, not {len(lines[0])}"
    for one, other in zip(*lines, strict=True):
        words = [re.findall(r"[A-Za-z0-9_./-]+|.", line) for line in (one, other)]
        # Several names in a line, each a word, or a single one of several words.
        apart = len(words[0]) != len(words[1]) or any(
            a != b and not MAY_DIFFER.fullmatch(b) for a, b in zip(*words, strict=True)
        )
        if one != other and apart and not MAY_DIFFER.fullmatch(_between(one, other)):
            return f"line {other[:200]!r}"
    return ""


def _between(one: str, other: str) -> str:
    """Return the part of ``other`` between the characters that it has in common with ``one``."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    end = 0
    while end < min(len(one), len(other)) - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return other[start : len(other) - end]


def _c(text: str) -> str:
    """Return C, C++ or Verilog with comments empty; strings are left as they are."""
    return _C.sub(lambda m: m[0] if m[0][0] in "\"'" else "/**/", text)


def _json(text: str) -> Any:
    return _json_bare(json.loads(text))


def _json_bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_json_bare(item) for item in value]
    if isinstance(value, dict):
        return {k: len(v) if k == "sources" and isinstance(v, dict) else _json_bare(v)
                for k, v in value.items() if k not in _JSON_NAMES}  # fmt: skip
    return value


def _manifest(text: str) -> Any:
    """Return a manifest without the hashes and sizes of what holds names."""
    values = json.loads(text)
    del values["input_sha256"]
    values["options"].pop("prefix", None)
    return values | {"files": sorted(values["files"])}


def _network(text: str) -> Any:
    """Return the description of a network without its own names."""
    values = json.loads(text)
    del values["name"]
    values.get("totals", {}).pop("slowest", None)
    for port in (*values["inputs"], *values["outputs"]):
        del port["name"]
    for layer in values["layers"]:
        for key in ("source", "name", "origins"):
            layer.pop(key, None)
    return values


def _xml(text: str) -> list[Any]:
    return [
        (
            element.tag,
            {k: v for k, v in element.attrib.items() if k not in _XML_LABELS},
            "" if element.tag.removeprefix(_SVG) in _XML_NAMES else element.text,
        )
        for element in ET.fromstring(text).iter()
    ]


def _yaml(text: str) -> Any:
    return _json_bare(yaml.safe_load(text))


def _python(text: str) -> str:
    return ast.dump(ast.parse(text))


def _commented(text: str) -> list[str]:
    """Return the lines of a build file that are not comments."""
    return [line for line in text.split("\n") if not line.lstrip().startswith("#")]


def _gtkwave(text: str) -> list[str]:
    """Return the lines of a save file of GTKWave, the titles of groups empty."""
    return ["-" if line.startswith("-") else line for line in text.split("\n")]


def _surfer(text: str) -> list[str]:
    """Return commands of Surfer; the names of dividers, one word each, are empty."""
    return [re.sub(r"^(divider_add) \w+$", r"\1", line) for line in _commented(text)]


def _kconfig(text: str) -> list[str]:
    return [re.sub(r'(bool) "[^"\\$\n]*"', r"\1", line) for line in _commented(text)]


def _properties(text: str) -> dict[str, str]:
    values = dict(line.split("=", 1) for line in text.splitlines())
    del values["sentence"]
    return values


_BY_NAME: dict[str, Callable[[str], object]] = {
    "CMakeLists.txt": _commented,
    "Makefile": _commented,
    "Kconfig": _kconfig,
    "library.properties": _properties,
    "manifest.json": _manifest,
    "network.json": _network,
}
# Of other files, such as README.md, only ``suspicious`` says anything.
_BY_SUFFIX: dict[str, Callable[[str], object]] = {
    **dict.fromkeys((".c", ".h", ".cpp", ".v", ".sv", ".vlt", ".ld"), _c),
    **dict.fromkeys((".pdsc", ".svg"), _xml),
    **dict.fromkeys((".yml", ".core"), _yaml),
    **dict.fromkeys((".tcl", ".ys", ".xdc", ".sdc", ".lpf", ".pcf"), _commented),
    **dict.fromkeys((".md", ".txt"), lambda text: text.count("\n")),
    ".gtkw": _gtkwave,
    ".sucl": _surfer,
    ".json": _json,
    ".py": _python,
}
