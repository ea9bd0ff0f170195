"""The text form of small graphs, for people to write: defaults are left out.

``rlx.ir.parser`` reads it, as it reads every text form::

    graph "tiny" {
      %0 = core.input() : i8[1, 4, 4, 8] name "x"
      %1 = core.constant() {value=dense<seed 1>} : i8[8, 3, 3, 8]
      %2 = core.constant() {value=dense<all 0>} : i32[8]
      ...

- Attributes and fields of records that have their defaults are left out.
- ``dense<all 0>`` has equal elements, ``dense<seed 1>`` those of :func:`rlx.ir.payload.seeded`.
- Lines have at most 120 columns, unless a single string is longer; further lines are indented.
"""

from __future__ import annotations

import base64
import json
import re
import textwrap
from dataclasses import MISSING, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.graph import Constant, Graph, Source
from rlx.ir.payload import MAX_SEEDED, seeded, to_bytes, to_numbers
from rlx.ir.plain import PlainRecord, encode_fields
from rlx.ir.printer import MAX_NUMBERS, format_origin, format_plain, format_type, format_value

if TYPE_CHECKING:
    from rlx.ir.graph import Node
    from rlx.ir.plain import Plain

WIDTH: Final = 120
"""Columns of a line."""

MAX_LISTED_EQUAL: Final = 4
"""Elements up to which equal ones are written one by one."""

_MAX_SEEDS: Final = 16
"""Seeds that are tried for a constant: those of tests are small integers."""
_SPACE: Final = "\0"
"""Stands for a space in a string, where no line may end."""


def format_compact(graph: Graph) -> str:
    """Return the text of ``graph`` without attributes at their default, in lines of 120 columns."""
    return "\n".join(_wrap(line) for line in _graph(graph).split("\n")) + "\n"


def _wrap(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    protected_line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: m[0].replace(" ", _SPACE), line)
    lines = textwrap.wrap(
        protected_line,
        WIDTH,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(_SPACE, " ")


def _graph(graph: Graph) -> str:
    lines = [f"graph {json.dumps(graph.name)} {{"]
    for node in graph.nodes:
        lines += [f"  {line}" for line in _node(node).split("\n")]
    outputs = zip(graph.outputs, graph.output_names, strict=True)
    returned = ", ".join(f"{format_value(v)} {json.dumps(name)}" for v, name in outputs)
    return "\n".join([*lines, f"  return {returned}".rstrip(), "}"])


def _node(node: Node) -> str:
    count = f":{len(node.types)}" if len(node.types) != 1 else ""
    operands = ", ".join(map(format_value, node.operands))
    parts = [f"%{node.index}{count} = {node.op.name}({operands})"]
    if isinstance(node.op, Constant):
        parts.append(f"{{value=dense<{_dense(node.op)}>}}")
    elif not isinstance(node.op, Source) and (
        attributes := _non_default_fields(node.op, encode_fields(node.op))
    ):
        parts.append(f"{{{', '.join(f'{name}={text}' for name, text in attributes.items())}}}")
    parts.append(f": {', '.join(map(format_type, node.types))}")
    if node.name:
        parts.append(f"name {json.dumps(node.name)}")
    return " ".join([*parts, *format_origin(node.origin)])


def _non_default_fields(value: Any, encoded: dict[str, Plain]) -> dict[str, str]:  # noqa: ANN401 - a dataclass
    """Return the text of each field of a dataclass that has not its default."""
    defaults = {f.name: f.default for f in fields(value) if f.default is not MISSING}
    return {
        name: _plain(getattr(value, name), plain)
        for name, plain in encoded.items()
        if name not in defaults or getattr(value, name) != defaults[name]
    }


def _plain(value: Any, plain: Plain) -> str:  # noqa: ANN401 - any attribute
    """Return the text of an attribute and its plain value."""
    if isinstance(plain, Graph):
        return _graph(plain)
    if isinstance(plain, tuple):
        return f"[{', '.join(_plain(v, p) for v, p in zip(value, plain, strict=True))}]"
    if isinstance(plain, PlainRecord) and is_dataclass(value) and not hasattr(value, "to_plain"):
        attributes = _non_default_fields(value, dict(plain.fields))
        return f"{plain.name}({', '.join(f'{name}={text}' for name, text in attributes.items())})"
    return format_plain(plain)


def _dense(op: Constant) -> str:
    """Return the elements of a constant in the shortest form that reads back."""
    array = op.value
    if MAX_LISTED_EQUAL < array.size <= MAX_SEEDED and (short := _short(op)):
        return short
    numbers = to_numbers(array) if array.size <= MAX_NUMBERS else None
    if numbers is not None:
        return f"[{', '.join(map(format_plain, numbers))}]"
    return json.dumps(base64.b64encode(to_bytes(array)).decode())


def _short(op: Constant) -> str | None:
    """Return the element that all are equal to, or the seed that makes them; None if none does."""
    array, data = op.value, to_bytes(op.value)
    first = to_numbers(array.reshape(-1)[:1])
    if first is not None and data == to_bytes(array.reshape(-1)[:1]) * array.size:
        return f"all {format_plain(first[0])}"
    if op.type.dtype.is_integer or op.type.dtype.is_float:
        for seed in range(_MAX_SEEDS):
            if data == to_bytes(seeded(seed, op.type)):
                return f"seed {seed}"
    return None
