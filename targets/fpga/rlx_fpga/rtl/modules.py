"""Modules: from an elaborated design to one SystemVerilog module for each distinct cell.

Tests: tests/targets/fpga/rtl/test_parts.py
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from amaranth.hdl import Instance, MemoryInstance, Signal, Value
from amaranth.hdl._ir import PortDirection

from rlx.support.text.names import mangle
from rlx_fpga.rtl import memories
from rlx_fpga.rtl.aliases import aliases
from rlx_fpga.rtl.comments import heading_of
from rlx_fpga.rtl.expressions import Expressions
from rlx_fpga.rtl.hierarchy import Hierarchy, clocks, kind_of
from rlx_fpga.rtl.layout import indented, wrap_lines
from rlx_fpga.rtl.liveness import prune
from rlx_fpga.rtl.naming import Names
from rlx_fpga.rtl.processes import Process, Processes
from rlx_fpga.rtl.statements import Statements
from rlx_fpga.rtl.streams import instance, streams

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from amaranth.hdl import Fragment
    from amaranth.hdl._ast import Statement
    from amaranth.hdl._ir import Design

_SELF: Final = "module_itself"
"""Placeholder of the module's name until its text is complete."""

_DIGITS: Final = 6
"""Hexadecimal digits of a module's hash."""

_FILE: Final = "File"
"""Parameter of a memory: its file, or the common prefix of the files of a layer."""

_FILES: Final = "Files"
"""Parameter of a module that hands the former down: layers that differ only in it share one."""

_SENT: Final = re.compile(r"^out_(?=(?:data|valid|ready)$)")
"""Beginning of the port names of a stream that a part sends."""

_SENT_READY: Final = re.compile(r"out\d*_ready")


@dataclass(frozen=True)
class ModulePort:
    """A port of a module.

    Attributes:
        name: Its name.
        signal: Its signal.
        output: Whether the module drives it.
    """

    name: str
    signal: Signal
    output: bool


@dataclass(frozen=True)
class Module:
    """A printed module.

    Attributes:
        name: Its name.
        ports: In the order of declaration; signals are those of the fragment that was printed.
        lines: From its comment to ``endmodule``; long ones are not wrapped yet.
        files: Value of the parameter ``Files`` for the fragment that was printed; None if the
            module lacks the parameter.
    """

    name: str
    ports: tuple[ModulePort, ...]
    lines: list[str]
    files: str | None


@dataclass
class Modules:
    """Prints the modules of a design.

    Args:
        design: The elaborated design.
        prefix: Prefix of the names of modules.
        comments: Lines above an instance, by the instance's name; of the top module only.

    Attributes:
        texts: Text of each module below the top, by name, in the order in which they are complete.
        hierarchy: Signals and ports of the parts of the design.
        parts: Ports of each module that the top has an instance of, by the instance's name without
            ``u_``, in order; foreign modules are left out.
    """

    design: Design
    prefix: str
    comments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    parts: dict[str, tuple[ModulePort, ...]] = field(default_factory=dict)
    hierarchy: Hierarchy = field(init=False)

    def __post_init__(self) -> None:
        self.hierarchy = Hierarchy(self.design)

    def core(self, name: str) -> str:
        """Return the text of the top module, which has the design's ports."""
        fragment = self.design.fragment
        clocked = dict(clocks(fragment))
        ports = [
            ModulePort(clocked.get(id(signal), port), signal, direction is PortDirection.Output)
            for port, signal, direction in self.design.ports
        ]
        ports.sort(key=lambda port: id(port.signal) not in clocked)
        return _text(self._print(fragment, name, ports, comments=self.comments).lines)

    def _module(self, fragment: Fragment, instance: str) -> Module:
        """Return the module of a fragment below the top; equal ones are one."""
        printed = self._print(fragment, _SELF, list(self._ports(fragment)))
        # The hash leaves out the prefix and line breaks: the same cell has the same one in every
        # design.
        plain = "".join(re.sub(rf"\b{self.prefix}_", "", "\n".join(printed.lines)).split())
        digest = hashlib.sha256(plain.encode()).hexdigest()[:_DIGITS]
        name = mangle(f"{kind_of(fragment, instance)}_{digest}", prefix=self.prefix)
        text = _text([line.replace(_SELF, name) for line in printed.lines])
        assert self.texts.setdefault(name, text) == text, "two modules have one hash"
        return replace(printed, name=name)

    def _ports(self, fragment: Fragment) -> Iterator[ModulePort]:
        """Yield the ports: clock and reset, members of the component, other crossing signals."""
        crossing = self.hierarchy.crossing(fragment)
        driven = self.hierarchy.driven(fragment)
        names = Names(("clk", "rst"))
        named_signals: list[tuple[str, Signal]] = []
        for key, name in clocks(fragment):
            if key in crossing:
                named_signals.append((name, crossing.pop(key)))
        for name, signal in self.hierarchy.members(fragment):
            if id(signal) in crossing:
                named_signals.append((names.free(name), crossing.pop(id(signal))))
        named_signals += [(names.free(signal.name), signal) for signal in crossing.values()]
        for name, signal in named_signals:
            yield ModulePort(name, signal, id(signal) in driven)

    def _print(
        self,
        fragment: Fragment,
        name: str,
        ports: list[ModulePort],
        comments: Mapping[str, Sequence[str]] | None = None,
    ) -> Module:
        return _Printer(self, fragment, name, ports, comments or {}).module()


class _Printer:
    """Prints one module."""

    def __init__(
        self,
        modules: Modules,
        fragment: Fragment,
        name: str,
        ports: list[ModulePort],
        comments: Mapping[str, Sequence[str]],
    ) -> None:
        self._modules = modules
        self._fragment = fragment
        self._name = name
        self._ports = ports
        self._comments = comments
        self._names = Names()
        self._hierarchy = modules.hierarchy
        self._statements, self._used = self._pruned()
        # Ports keep their names, for modules outside; an instance of the same name is renamed.
        for port in ports:
            self._names.give(port.signal, port.name)
        assert [self._names.of(port.signal) for port in ports] == [port.name for port in ports]
        self._instances = [self._names.free(f"{n or 'part'}") for _, n, _ in fragment.subfragments]
        self._driven = self._hierarchy.driven(fragment)
        self._copies: set[int] = set()
        self._sent: set[int] = set()
        self._files: str | None = None
        self._name_signals()
        self._join_aliases()
        self._expressions = Expressions(self._names.of, self._names.free)
        self._processes = Processes(self._expressions, self._names.of)

    def module(self) -> Module:
        """Return the module."""
        parts = self._parts()
        blocks = self._blocks()
        inputs = {id(port.signal) for port in self._ports if not port.output}
        undriven = [s for s in self._used if id(s) not in self._driven | inputs]
        constants = [f"assign {self._names.of(s)}{self._start(s)};" for s in undriven]
        registers = {self._names.of(s): s for block in blocks for s in block.registers}
        declarations = self._declarations(registers)
        body = _join_groups(
            [
                self._states(),
                declarations,
                self._wires(),
                constants,
                *[block.lines for block in blocks],
                parts,
            ]
        )
        lines = [
            *self._head(),
            *self._opening(),
            *indented(self._port_lines(registers)),
            ");",
            "",
            *indented(body),
            "",
            "endmodule",
        ]
        return Module(self._name, tuple(self._ports), lines, self._files)

    def _opening(self) -> list[str]:
        if self._files is None:
            return [f"module {self._name} ("]
        return [f"module {self._name} #(", f'  parameter {_FILES} = ""', ") ("]

    def _pruned(self) -> tuple[Mapping[str, Sequence[Statement]], list[Signal]]:
        """Return the statements that have an effect, and all signals of the module."""
        fragment, used = self._fragment, self._hierarchy.used(self._fragment)
        roots = {id(port.signal) for port in self._ports} | self._hierarchy.at_parts(fragment)
        statements, found = prune(fragment.statements, roots)
        return statements, [signal for signal in used if id(signal) in found]

    def _name_signals(self) -> None:
        """Name members, then ports of parts after these, then other signals."""
        here = {id(signal) for signal in self._used}
        for name, signal in self._hierarchy.members(self._fragment):
            if id(signal) in here:
                self._names.give(signal, name)
        for (part, _, _), owner in zip(self._fragment.subfragments, self._instances, strict=True):
            for name, signal in self._hierarchy.members(part):
                if id(signal) in here:
                    # The stream that a part sends has the name of the part.
                    self._names.give(signal, f"{owner}_{_SENT.sub('', name)}")
                    if _SENT_READY.fullmatch(name):
                        self._sent.add(id(signal))
        for signal in self._used:
            name = signal.name.replace("__", "_").replace("fsm_state", "state")
            self._names.give(signal, name or "value")

    def _join_aliases(self) -> None:
        ports = {id(port.signal) for port in self._ports}
        statements = self._statements.get("comb", ())
        for statement, signal, other in aliases(statements, ports, self._driven):
            self._copies.add(id(statement))
            if id(signal) in self._sent and id(other) not in ports:
                # A stream between two parts is named after its source.
                signal, other = other, signal
            self._names.join(signal, other)

    def _head(self) -> list[str]:
        if self._fragment is self._modules.design.fragment:
            return []
        return heading_of(self._fragment)

    def _port_lines(self, registers: Mapping[str, Signal]) -> list[str]:
        lines = []
        for index, port in enumerate(self._ports):
            last = index == len(self._ports) - 1
            direction = "output" if port.output else "input "
            init = self._start(registers[port.name]) if port.name in registers else ""
            kind = "logic" if port.output else "wire logic"
            lines.append(
                f"{direction} {kind} {_shape(port.signal)}{port.name}{init}{'' if last else ','}"
            )
        return lines

    def _declarations(self, registers: Mapping[str, Signal]) -> list[str]:
        ports = {port.name for port in self._ports}
        inner = {self._names.of(s): s for s in self._used if self._names.of(s) not in ports}
        found = streams(name for name in inner if name not in registers)
        sent = {name for stream in found for name in stream}
        others = {name: signal for name, signal in inner.items() if name not in sent}
        lines = [self._declared({n: inner[n] for n in stream}, registers) for stream in found]
        return [*(" ".join(line) for line in lines), *self._declared(others, registers)]

    def _declared(
        self, signals: Mapping[str, Signal], registers: Mapping[str, Signal]
    ) -> list[str]:
        """Return declarations, one for all signals of a shape that are next to each other."""
        found = []
        for kind, names in groupby(signals, key=lambda n: (_shape(signals[n]), n in registers)):
            texts = [n + (self._start(registers[n]) if kind[1] else "") for n in names]
            found.append(f"logic {kind[0]}{', '.join(texts)};")
        return found

    def _states(self) -> list[str]:
        """Return the names of states; to be called after the other parts are printed."""
        return [
            f"localparam logic [{width - 1}:0] {name} = {width}'d{number};"
            for name, (width, number) in sorted(
                self._expressions.states.items(), key=lambda state: state[1]
            )
        ]

    def _wires(self) -> list[str]:
        """Return the wires of expressions; to be called after the other parts are printed."""
        return [
            f"wire logic {f'[{width - 1}:0] ' if width > 1 else ''}{name} = {text};"
            for name, (width, text) in self._expressions.wires.items()
        ]

    def _start(self, signal: Signal) -> str:
        return f" = {self._expressions.constant(signal, signal.init)}"

    def _blocks(self) -> list[Process]:
        blocks = []
        for domain, statements in self._statements.items():
            if domain == "comb":
                assignments = [s for s in statements if id(s) not in self._copies]
                blocks.append(self._processes.combinational(assignments))
            elif statements:
                blocks.append(self._processes.clocked(self._fragment, domain, statements))
        return blocks

    def _parts(self) -> list[str]:
        """Return memories and instances."""
        lines: list[str] = []
        for (part, _, _), name in zip(self._fragment.subfragments, self._instances, strict=True):
            if isinstance(part, MemoryInstance):
                lines += ["", *memories.declaration(part, name)]
                lines += memories.ports(part, name, self._expressions, self._names.of)
            elif isinstance(part, Instance):
                lines += ["", *self._foreign(part, name)]
            else:
                comment = self._comment(part, name)
                module = self._modules._module(part, name)
                if self._fragment is self._modules.design.fragment:
                    self._modules.parts[name] = module.ports
                ports = {port.name: self._names.of(port.signal) for port in module.ports}
                files = [] if module.files is None else [f".{_FILES}({self._file(module.files)})"]
                lines += ["", *comment, *instance(module.name, files, f"u_{name}", ports)]
        return _join_groups([lines])

    def _comment(self, part: Fragment, name: str) -> list[str]:
        """Return the lines above an instance; in the top module every instance has some."""
        if self._fragment is not self._modules.design.fragment:
            return []
        lines = self._comments.get(name)
        return [f"// {line}" for line in lines] if lines else heading_of(part)[:1]

    def _foreign(self, part: Instance, name: str) -> list[str]:
        """Return an instance of a module that is not printed here."""
        parameters = [
            f".{key}({self._file(value) if key == _FILE else _parameter(value)})"
            for key, value in part.parameters.items()
        ]
        connected = {}
        for port, (value, direction) in part.ports.items():
            text = self._expressions.exact(Value.cast(value)).text
            connected[port] = self._target(value) if direction == "o" else text
        return instance(part.type, parameters, f"u_{name}", connected)

    def _file(self, path: str) -> str:
        """Return a path: below the top, that of the module's parameter."""
        if self._fragment is self._modules.design.fragment or self._files not in (None, path):
            return _parameter(path)
        self._files = path
        return _FILES

    def _target(self, value: Value) -> str:
        return Statements(self._expressions, self._names.of, "=").target(value)


def _text(lines: Sequence[str]) -> str:
    return "\n".join(wrap_lines(lines)) + "\n"


def _parameter(value: Any) -> str:  # noqa: ANN401 - any value that Amaranth accepts
    if isinstance(value, str):
        return f'"{value}"'
    return str(int(value))


def _shape(signal: Signal) -> str:
    """Return sign and range of a declaration, followed by a space."""
    sign = "signed " if signal.shape().signed else ""
    return sign + (f"[{len(signal) - 1}:0] " if len(signal) > 1 else "")


def _join_groups(groups: Sequence[Sequence[str]]) -> list[str]:
    """Return groups of lines with an empty line between."""
    joined_lines: list[str] = []
    for group in groups:
        lines = list(group)
        while lines and not lines[0]:
            lines.pop(0)
        if not lines:
            continue
        if joined_lines:
            joined_lines.append("")
        for line in lines:
            if line or joined_lines[-1]:
                joined_lines.append(line)
    while joined_lines and not joined_lines[-1]:
        joined_lines.pop()
    return joined_lines
