"""Memories: arrays of words with their ports, in the form that synthesis maps to block RAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth.hdl import Signal

from rlx_fpga.rtl.layout import indented
from rlx_fpga.rtl.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from amaranth.hdl import MemoryInstance

    from rlx_fpga.rtl.expressions import Expressions


def declaration(memory: MemoryInstance, name: str) -> list[str]:
    """Return the array of words, and its content unless it is unspecified."""
    data = memory._data
    marks = ", ".join(
        f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"'
        for key, value in memory._attrs.items()
    )
    width = len(memory_word(memory))
    digits = -(-width // 4)
    words = [word & ((1 << width) - 1) for word in data._init._raw]
    return [
        f"{f'(* {marks} *) ' if marks else ''}logic [{width - 1}:0] {name} [0:{data.depth - 1}];",
        *_content(name, words, width, digits),
    ]


def signals(memory: MemoryInstance) -> Iterator[tuple[str, Signal]]:
    """Yield the signals of the ports, by names within the memory."""
    for kind, found in (("write", memory._write_ports), ("read", memory._read_ports)):
        for index, port in enumerate(found):
            label = kind if len(found) == 1 else f"{kind}{index}"
            parts = (("address", port._addr), ("data", port._data), ("enable", port._en))
            for name, value in parts:
                if isinstance(value, Signal):
                    yield f"{label}_{name}", value


def memory_word(memory: MemoryInstance) -> Signal:
    """Return the data of a port: as wide as a word."""
    ports = (*memory._read_ports, *memory._write_ports)
    return ports[0]._data


def _content(name: str, words: list[int], width: int, digits: int) -> list[str]:
    """Return the block that initializes the words."""
    if len(set(words)) == 1:
        value = f"{width}'h{words[0]:0{digits}x}"
        count = len(words)
        return [
            "initial begin",
            f"  for (int i = 0; i < {count}; i++) {name}[i] = {value};",
            "end",
        ]
    lines = [f"{name}[{k}] = {width}'h{word:0{digits}x};" for k, word in enumerate(words)]
    return ["initial begin", *indented(lines), "end"]


def ports(
    memory: MemoryInstance,
    name: str,
    expressions: Expressions,
    name_of: Callable[[Signal], str],
) -> list[str]:
    """Return the blocks of a memory's ports."""
    lines: list[str] = []
    targets = Statements(expressions, name_of, "<=")
    for write in memory._write_ports:
        lines += _write(memory, write, name, expressions, name_of)
    for read in memory._read_ports:
        address = expressions.exact(read._addr).text
        target = targets.target(read._data)
        if read._domain == "comb":
            lines.append(f"assign {target} = {name}[{address}];")
            continue
        body = [f"{target} <= {name}[{address}];"]
        for index in read._transparent_for:
            body += _forwarded(memory._write_ports[index], read, target, expressions)
        lines += _clocked(memory, read._domain, name_of, _guarded(expressions, read._en, body))
    return lines


def _write(
    memory: MemoryInstance,
    port: MemoryInstance._WritePort,
    name: str,
    expressions: Expressions,
    name_of: Callable[[Signal], str],
) -> list[str]:
    """Return the block of a write port, which may write parts of a word."""
    address, data = expressions.exact(port._addr).text, port._data
    body: list[str] = []
    step = port._granularity
    if step == len(data):
        write = [f"{name}[{address}] <= {expressions.exact(data).text};"]
        body = _guarded(expressions, port._en, write)
    else:
        for index in range(len(port._en)):
            low, high = index * step, (index + 1) * step
            part = expressions.exact(data[low:high]).text
            write = [f"{name}[{address}][{high - 1}:{low}] <= {part};"]
            body += _guarded(expressions, port._en[index], write)
    # IEEE 1800 allows no other writer to variables of an always_ff block; an initial block writes
    # the words too.
    return _clocked(memory, port._domain, name_of, body, "always")


def _forwarded(
    write: MemoryInstance._WritePort,
    read: MemoryInstance._ReadPort,
    target: str,
    expressions: Expressions,
) -> list[str]:
    """Return the lines that hand a word that is being written to a port that reads it."""
    hit = write._en.bool() & (write._addr == read._addr)
    assert write._granularity == len(write._data)
    return [
        f"if ({expressions.condition(hit)}) begin",
        f"  {target} <= {expressions.exact(write._data).text};",
        "end",
    ]


def _guarded(expressions: Expressions, enable: object, body: list[str]) -> list[str]:
    condition = expressions.condition(enable)
    if condition == "1'b1":
        return body
    return [f"if ({condition}) begin", *indented(body), "end"]


def _clocked(
    memory: MemoryInstance,
    domain: str,
    name_of: Callable[[Signal], str],
    body: list[str],
    process: str = "always_ff",
) -> list[str]:
    clock = memory.domains[domain].clk
    return ["", f"{process} @(posedge {name_of(clock)}) begin", *indented(body), "end", ""]
