"""Streams: names of ports and signals that belong together, for lines that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx_fpga.rtl.layout import MAX_LINE_LENGTH, indented

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PARTS: Final = ("data", "valid", "ready")
"""Signals of a stream, by the last part of their names."""

_CLOCKED: Final = ("clk", "rst")

_WIDTH: Final = MAX_LINE_LENGTH - len("  ")
"""Characters of a line within a module."""

_INSTANCE_WIDTH: Final = _WIDTH - len("  ") - len(");")
"""Characters of connections in a line within an instance."""


def stream_of(name: str, names: Iterable[str]) -> str | None:
    """Return the stream that ``name`` is a signal of, if ``names`` has its other signals."""
    stem, _, part = name.rpartition("_")
    if part in PARTS and f"{stem}_valid" in names and f"{stem}_ready" in names:
        return stem
    return None


def streams(names: Iterable[str]) -> list[list[str]]:
    """Return the signals of each stream among ``names``, data first."""
    known = list(names)
    found: dict[str, list[str]] = {}
    for name in known:
        stream = stream_of(name, known)
        if stream is not None:
            found.setdefault(stream, []).append(name)
    return [sorted(group, key=_place) for group in found.values()]


def instance(
    module: str, parameters: Sequence[str], name: str, ports: Mapping[str, str]
) -> list[str]:
    """Return an instance: in a line if it fits, else its connections in lines of their own.

    Args:
        module: Name of the module.
        parameters: Parameters with their values, as ``.X(8)``.
        name: Name of the instance.
        ports: Connection of each port.
    """
    lines = _connections(ports)
    heads = _heads(module, parameters, name)
    whole = f"{heads[-1]}{', '.join(lines)});"
    if len(heads) == 1 and len(whole) <= _WIDTH:
        return [whole]
    if len(lines) == 1:
        return [*heads, *indented([f"{lines[0]});"])]
    return [*heads, *indented([f"{line}," for line in lines[:-1]] + lines[-1:]), ");"]


def _heads(module: str, parameters: Sequence[str], name: str) -> list[str]:
    """Return the lines of an instance up to the parenthesis before its connections."""
    if not parameters:
        return [f"{module} {name} ("]
    texts = ", ".join(parameters)
    line = f"{module} #({texts}) {name} ("
    return [line] if len(line) <= _WIDTH else [f"{module} #(", *indented([texts]), f") {name} ("]


def _connections(ports: Mapping[str, str]) -> list[str]:
    """Return the lines of connections: each stream in one, or its signals in lines of their own."""
    texts = {port: f".{port}" if port == to else f".{port}({to})" for port, to in ports.items()}
    lines: list[str] = []
    for stream, group in _groups(list(ports)):
        line = ", ".join(texts[port] for port in group)
        if len(line) <= _INSTANCE_WIDTH:
            lines.append(line)
        elif stream:
            lines += [texts[port] for port in group]
        else:
            lines += _filled([texts[port] for port in group])
    return lines


def _groups(names: Sequence[str]) -> list[tuple[bool, list[str]]]:
    """Return groups of ports, with whether each is a stream.

    Clock and reset are a group of their own; without streams, all ports are one group.
    """
    streams_of = {name: stream_of(name, names) for name in names}
    if not any(streams_of.values()):
        return [(False, list(names))]
    groups: list[tuple[str, list[str]]] = []
    for name in names:
        key = streams_of[name] or ("clk" if name in _CLOCKED else "")
        if groups and groups[-1][0] == key:
            groups[-1][1].append(name)
        else:
            groups.append((key, [name]))
    return [(bool(streams_of[group[0]]), group) for _, group in groups]


def _filled(texts: Sequence[str]) -> list[str]:
    """Return the connections, in each line those that fit."""
    lines: list[str] = []
    for text in texts:
        line = f"{lines[-1]}, {text}" if lines else text
        if lines and len(line) <= _INSTANCE_WIDTH:
            lines[-1] = line
        else:
            lines.append(text)
    return lines


def _place(name: str) -> int:
    """Return the place of a stream's signal among ``PARTS``."""
    return PARTS.index(name.rpartition("_")[2])
