"""Bindings that a caller of a planned graph makes: names, types, bytes, places, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rlx.ir.module import Region, Stage
from rlx.support.text.tables import Column, Table, lay_out

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.ir.graph import Graph, Value
    from rlx.ir.module import GraphModule, Placement
    from rlx.ir.types import TensorType


@dataclass(frozen=True, slots=True, kw_only=True)
class IoBindingEntry:
    """An input, parameter, output or state.

    Attributes:
        name: Its name.
        node: Number of its node in the planned graph; None for a parameter that the planned graph
            does not read, as the values that depend on it are computed before.
        dtype: Element type.
        shape: Sizes of its dimensions.
        elements: Number of elements.
        nbytes: Bytes of all elements; those below 8 bits are packed.
        offset: Bytes from the start of the arena to the first element, as planned; None if it is
            not in the arena: the caller's buffer, a constant, a parameter, the buffer of a state.
        is_view: Whether it shares its bytes with another value.
    """

    name: str
    node: int | None
    dtype: str
    shape: tuple[int, ...]
    elements: int
    nbytes: int
    offset: int | None
    is_view: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBlock:
    """Parameters whose names have a common prefix.

    Attributes:
        prefix: Their common beginning, without the separator; empty for names without one.
        names: Their names, in order.
        nbytes: Bytes of all of them.
    """

    prefix: str
    names: tuple[str, ...]
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingManifest:
    """Bindings that a caller of a planned graph must make.

    Attributes:
        graph: Name of the graph.
        arena_bytes: Bytes of the arena.
        alignment: Every offset in it is a multiple of this.
        inputs: Values given with each run, in order.
        parameters: Values set before the first run, in order.
        outputs: Results of each run, in order; the next values of states are among them.
        states: Values kept from run to run, in order.
    """

    graph: str
    arena_bytes: int
    alignment: int
    inputs: tuple[IoBindingEntry, ...]
    parameters: tuple[IoBindingEntry, ...]
    outputs: tuple[IoBindingEntry, ...]
    states: tuple[IoBindingEntry, ...]

    @staticmethod
    def of(module: GraphModule, source: Graph | None = None) -> BindingManifest:
        """Return the manifest of a module.

        Args:
            module: A module at stage LIR.
            source: The graph whose parameters a caller sets, where the module was made of it and
                reads others.

        Raises:
            ValueError: The module has no plan.
        """
        if module.stage is not Stage.LIR or module.plan is None:
            raise ValueError(
                f"a manifest needs a plan; the module is at stage {module.stage.value}"
            )
        graph, plan = module.graph, module.plan
        placements = {p.value: p for p in plan.placements}
        states = {state for state, _ in graph.states}

        def entry(name: str, value: Value) -> IoBindingEntry:
            return _entry(name, value.type, value.node.index, placements.get(value))

        def parameter(value: Value) -> IoBindingEntry:
            read = here.get(value.name)
            return _entry(value.name, value.type, None if read is None else read.node.index, None)

        here = {v.name: v for v in graph.params}
        outputs = zip(graph.output_names, graph.outputs, strict=True)
        return BindingManifest(
            graph=graph.name,
            arena_bytes=plan.arena_bytes,
            alignment=plan.alignment,
            inputs=tuple(entry(v.name, v) for v in graph.inputs if v not in states),
            parameters=tuple(parameter(v) for v in (source or graph).params),
            outputs=tuple(entry(name, v) for name, v in outputs),
            states=tuple(entry(state.name, state) for state, _ in graph.states),
        )

    @property
    def input_bytes(self) -> int:
        """Bytes of all inputs."""
        return sum(e.nbytes for e in self.inputs)

    @property
    def parameter_bytes(self) -> int:
        """Bytes of all parameters."""
        return sum(e.nbytes for e in self.parameters)

    @property
    def output_bytes(self) -> int:
        """Bytes of all outputs."""
        return sum(e.nbytes for e in self.outputs)

    @property
    def state_bytes(self) -> int:
        """Bytes of all states."""
        return sum(e.nbytes for e in self.states)

    def sections(self) -> tuple[tuple[str, tuple[IoBindingEntry, ...]], ...]:
        """Return inputs, parameters, outputs and states, each with the name of one of them."""
        return (
            ("input", self.inputs),
            ("parameter", self.parameters),
            ("output", self.outputs),
            ("state", self.states),
        )

    def blocks(self, separator: str = ".", levels: int = 1) -> tuple[WeightBlock, ...]:
        """Return the parameters in groups of one prefix, in the order of their first names.

        Args:
            separator: Characters between the parts of a name.
            levels: Number of parts at the end that do not count: 1 puts ``block.0.weight`` to
                ``block.0``, 2 puts it to ``block``.

        Raises:
            ValueError: The separator is empty, or ``levels`` is not positive.
        """
        if not separator:
            raise ValueError("a separator has one character at least")
        if levels < 1:
            raise ValueError(f"one part of a name at least does not count, got {levels}")
        groups: dict[str, list[IoBindingEntry]] = {}
        for entry in self.parameters:
            parts = entry.name.split(separator)[:-levels]
            groups.setdefault(separator.join(parts), []).append(entry)
        return tuple(
            WeightBlock(
                prefix=prefix,
                names=tuple(e.name for e in entries),
                nbytes=sum(e.nbytes for e in entries),
            )
            for prefix, entries in groups.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold, and the blocks of parameters."""
        return {**asdict(self), "blocks": [asdict(block) for block in self.blocks()]}

    def tables(self) -> tuple[Table, ...]:
        """Return the entries to bind as a table, and the blocks if names have prefixes."""
        columns = (
            Column(""),
            Column("name", shortest=12),
            Column("type"),
            Column("size", "B", right=True),
            Column("offset", "B", priority=1, right=True, meaning="place in the arena"),
            Column("view", priority=2, meaning="shares its bytes with another value"),
        )
        rows = tuple(
            (kind, e.name, type_text(e), e.nbytes, e.offset, e.is_view)
            for kind, entries in self.sections()
            for e in entries
        )
        title = f"{self.graph}: arena of {self.arena_bytes:,} bytes, aligned to {self.alignment}"
        blocks = self.blocks()
        if not any(block.prefix for block in blocks):
            return (Table(title, columns, rows),)
        heads = (Column("block"), Column("parameters", right=True), Column("size", "B"))
        groups = tuple((b.prefix, len(b.names), b.nbytes) for b in blocks)
        return Table(title, columns, rows), Table("parameters by block", heads, groups)

    def __str__(self) -> str:
        return text_of_tables(self.tables())


def _entry(
    name: str, type_: TensorType, node: int | None, placement: Placement | None
) -> IoBindingEntry:
    return IoBindingEntry(
        name=name,
        node=node,
        dtype=type_.dtype.value,
        shape=type_.static_shape,
        elements=type_.size,
        nbytes=type_.nbytes,
        offset=placement.offset
        if placement is not None and placement.region is Region.ARENA
        else None,
        is_view=placement is not None and placement.alias_of is not None,
    )


def type_text(entry: IoBindingEntry) -> str:
    """Return the type of an entry as the text form of graphs has it."""
    return f"{entry.dtype}[{', '.join(map(str, entry.shape))}]"


def text_of_tables(tables: Iterable[Table]) -> str:
    """Return tables as lines, with an empty line between two of them."""
    return "\n\n".join("\n".join(line.text for line in lay_out(t).lines) for t in tables)
