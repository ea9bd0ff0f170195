"""A graph with the stage it has reached."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeVar, cast

from rlx.ir import supplied
from rlx.ir.graph import Graph
from rlx.support.annotations import described
from rlx.support.errors import UsageError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.ir.graph import Node, Value


class Stage(enum.Enum):
    """Stage of a graph on its way to a target.

    ``HIR`` holds ops of any level, ``MIR`` no ``nn.*`` ops any more, ``LIR`` is one target's
    view: legal ops only, with a schedule and a place in memory for every value.
    """

    HIR = "hir"
    MIR = "mir"
    LIR = "lir"


class Region(enum.Enum):
    """Memory region of a value while the program runs.

    ``INPUT`` and ``OUTPUT`` are buffers of the caller, one for each value. ``STATE`` is the buffer
    of a state, which keeps its bytes from run to run. Everything else shares the arena.
    """

    INPUT = "input"
    OUTPUT = "output"
    ARENA = "arena"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Placement:
    """The place of one value.

    Attributes:
        value: The value; constants have no placement, they are in read-only memory.
        region: The caller's input or output buffer, the buffer of a state, or the arena.
        offset: Bytes from the start of the region's buffer.
        nbytes: Size in bytes.
        first: Step of the schedule that writes it (-1 for inputs).
        last: Last step that reads it (number of steps for outputs).
        alias_of: The value whose bytes it shares (a view or an in-place result), or None.
    """

    value: Value
    region: Region
    offset: int
    nbytes: int
    first: int
    last: int
    alias_of: Value | None = None


@dataclass(frozen=True, slots=True)
class StateCopy:
    """The next value of a state, moved to the state's buffer after the last step.

    Attributes:
        source: The next value.
        state: The state.
        through: Offset in the arena of the copy in which the next value waits: before anything is
            moved to a state, every such value is moved there. None if it is moved directly.
    """

    source: Value
    state: Value
    through: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class MemoryPlan:
    """Order of execution and place of every value.

    Attributes:
        schedule: Every node that computes, in order of execution.
        placements: One entry for each value that is not a constant.
        arena_bytes: Bytes of the arena.
        alignment: Every arena offset is a multiple of this.
        copies: Next values of states that are not computed in the buffers of the states, and are
            moved there after the last step, in order.
    """

    schedule: tuple[Node, ...]
    placements: tuple[Placement, ...]
    arena_bytes: int
    alignment: int
    copies: tuple[StateCopy, ...] = ()
    _by_value: dict[Value, Placement] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_value", {p.value: p for p in self.placements})

    def of(self, value: Value) -> Placement:
        """Return the placement of ``value``.

        Raises:
            KeyError: It has none: it is constant, or not of the planned graph.
        """
        try:
            return self._by_value[value]
        except KeyError:
            raise KeyError(f"{value.node.label} has no placement") from None

    def __repr__(self) -> str:
        steps = counted(len(self.schedule), "step")
        return f"<MemoryPlan: {steps}, arena of {self.arena_bytes:,} bytes>"


@dataclass(frozen=True, slots=True)
class Reference:
    """The interpreter of a model file whose outputs a graph reproduces bit for bit.

    Attributes:
        name: Name of the Python package that runs it, for example ``tflite-micro``.
        version: The package's version; another one may compute other bits.
    """

    name: str
    version: str


_CAPTIONS: Final = {
    Stage.HIR: "layers of the model",
    Stage.MIR: "steps of computation",
    Stage.LIR: "steps as they are run, with a memory plan",
}
"""Captions of graphs in notebooks."""


@dataclass(frozen=True, slots=True, repr=False)
class GraphModule:
    """A graph, its stage and, at the last stage, its memory plan.

    The guarantees of each stage are checked by ``rlx.ir.verify.verify``, not by this class.

    Attributes:
        graph: The graph.
        stage: Its stage.
        plan: Its memory plan; None before stage LIR.
        reference: Reference that the importer follows; None if no importer made the graph
            (builders, and ``.rlx`` files, which hold integers, not their sources).
    """

    graph: Graph
    stage: Stage
    plan: MemoryPlan | None = None
    reference: Reference | None = None

    def __repr__(self) -> str:
        plan = f", arena of {self.plan.arena_bytes:,} bytes" if self.plan is not None else ""
        return (
            f"<GraphModule {supplied.summarize_graph(self.graph)}; stage {self.stage.value}{plan}>"
        )

    def _repr_html_(self) -> str | None:
        """Return the drawing and the table of layers that notebooks show."""
        return supplied.graph_html(self.graph, _CAPTIONS[self.stage])

    @staticmethod
    def hir(graph: Graph) -> GraphModule:
        """Return a module at the first stage, as frontends and builders make it."""
        return GraphModule(graph, Stage.HIR)

    @staticmethod
    def mir(graph: Graph) -> GraphModule:
        """Return a module without model-level ops, as passes work on it."""
        return GraphModule(graph, Stage.MIR)

    @staticmethod
    def lir(graph: Graph, plan: MemoryPlan) -> GraphModule:
        """Return a module that is ready for a target."""
        return GraphModule(graph, Stage.LIR, plan)

    def with_graph(self, graph: Graph) -> GraphModule:
        """Return a module of the same stage with another graph, as a pass makes it.

        Raises:
            ValueError: The module has a plan, which holds for its own graph only.
        """
        if self.plan is not None:
            raise ValueError("a planned graph cannot be replaced; rewrite it before planning")
        return replace(self, graph=graph)

    def advance(self, stage: Stage, plan: MemoryPlan | None = None) -> GraphModule:
        """Return the module at a later stage (or the same).

        Raises:
            ValueError: ``stage`` is an earlier one, or LIR without a plan.
        """
        order = list(Stage)
        if order.index(stage) < order.index(self.stage):
            raise ValueError(f"stage {self.stage.value} cannot go back to {stage.value}")
        plan = plan or self.plan
        if (stage is Stage.LIR) != (plan is not None):
            raise ValueError(f"stage {stage.value} {'needs a' if plan is None else 'has no'} plan")
        return replace(self, stage=stage, plan=plan)


@dataclass(frozen=True, slots=True)
class HasModule:
    """Base class of objects that hold a module, and are accepted in place of one.

    Attributes:
        module: The module.
    """

    module: GraphModule


Given = TypeVar("Given", bound="Graph | GraphModule | HasModule")
"""A graph in the form of a function's argument."""


def graph_of(model: Graph | GraphModule | HasModule) -> Graph:
    """Return the graph of a graph, a module, or an object that holds a module.

    Raises:
        UsageError: It is none of these.
    """
    if isinstance(model, Graph):
        return model
    return as_module(model).graph


def as_module(model: Graph | GraphModule | HasModule) -> GraphModule:
    """Return the module of a module, an object that holds one, or a graph of HIR.

    Raises:
        UsageError: It is none of these.
    """
    if isinstance(model, Graph):
        return GraphModule.hir(model)
    if isinstance(model, GraphModule):
        return model
    if isinstance(model, HasModule):
        return model.module
    if isinstance(model, str | os.PathLike):
        hint = f"read it first: rlx.load({os.fspath(model)!r})"
    else:
        hint = "give what rlx.load returned, or a graph; of a traced graph its .module"
    raise UsageError(f"expected a network, got {described(model)}", hint=hint)


def with_graph(model: Given, graph: Graph) -> Given:
    """Return a rewritten graph in the form of the given graph.

    Raises:
        ValueError: There is a plan, which holds for its own graph only.
    """
    if isinstance(model, Graph):
        return cast("Given", graph)
    if isinstance(model, GraphModule):
        return cast("Given", model.with_graph(graph))
    return replace(model, module=model.module.with_graph(graph))
