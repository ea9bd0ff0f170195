"""The interface of passes, and sequences of passes.

Tests: tests/unit/passes/test_pipeline.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rlx.ir import Rewriter
from rlx.ir.module import GraphModule, Stage
from rlx.ir.regions import depth_of, map_regions
from rlx.ir.verify import verify
from rlx.support import config
from rlx.support.errors import VerifyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Graph, Node, Value

Change: TypeAlias = "Callable[[Graph], Graph]"


class Pass(ABC):
    """A named rewrite of whole graphs. Subclasses are frozen dataclasses; fields are options.

    Attributes:
        name: Name in pipelines and on the command line, such as ``fold-constants``.
        registry: Every pass class by name.
    """

    name: ClassVar[str]
    registry: ClassVar[dict[str, type[Pass]]] = {}
    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" in cls.__dict__:
            Pass.registry[cls.name] = cls

    @abstractmethod
    def apply(self, graph: Graph) -> Graph:
        """Return the rewritten graph; the operand is unchanged."""


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a pass, or another step between a model and the emitted files.

    Attributes:
        name: Name of the pass.
        round: Number of the round, from 1, of a pass that is repeated; None for any other.
        depth: Nesting depth of the graphs that it is applied to: 0 for the whole graph, 1 for
            the regions of its nodes.
    """

    name: str
    round: int | None = None
    depth: int = 0

    def __str__(self) -> str:
        round_ = "" if self.round is None else f", round {self.round}"
        return f"{self.name}{round_}" + (f", regions of depth {self.depth}" if self.depth else "")


Observer: TypeAlias = "Callable[[Step, GraphModule], None]"
"""Called with each step and its result, whether the step changed anything or not."""


def unobserved(step: Step, module: GraphModule) -> None:
    """Observe no step."""


def verifying(observe: Observer, *, each: bool | None = None) -> Observer:
    """Return an observer that verifies the module of a step before it is passed to ``observe``.

    Args:
        observe: The observer.
        each: Whether to do so; None for the setting ``verify_each``.
    """

    def verified(step: Step, module: GraphModule) -> None:
        verify(module, where=f"after pass {step}")
        observe(step, module)

    return verified if (config.current().verify_each if each is None else each) else observe


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A named sequence of passes.

    Attributes:
        name: Name on the command line.
        passes: Passes in order, and groups of them that are repeated.
        result: Stage that the graph has afterwards; None for the one that it had.
    """

    name: str
    passes: tuple[Pass | UntilStable, ...]
    result: Stage | None = Stage.MIR

    def run(
        self,
        module: GraphModule,
        *,
        observe: Observer = unobserved,
    ) -> GraphModule:
        """Return ``module`` after every pass, verified before the first and after each.

        Passes that are repeated are verified as a group, each application of each only with the
        setting ``verify_each``; where a group broke the graph, it runs again so, to find the pass.

        Args:
            module: Module to rewrite.
            observe: Called with each application of each pass and the graph it made.

        Raises:
            VerifyError: The graph breaks an invariant; ``where`` names the pass and its round.
        """
        verify(module)
        graph, result = module.graph, self.result or module.stage
        for number, pass_ in enumerate(self.passes, start=1):
            source = graph
            graph = _apply(pass_, source, _Stepper(module, verifying(observe)))
            stage = result if number == len(self.passes) else module.stage
            try:
                verify(GraphModule(graph, stage), where=f"after pass {pass_.name}")
            except VerifyError:
                _apply(pass_, source, _Stepper(module, verifying(unobserved, each=True)))
                raise
        stage = result if self.passes else module.stage
        return replace(module, graph=graph, stage=stage, plan=None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the passes, each once, in order."""
        groups = (p.passes if isinstance(p, UntilStable) else (p,) for p in self.passes)
        return tuple(dict.fromkeys(p.name for group in groups for p in group))


@dataclass(frozen=True, slots=True)
class _Stepper:
    """Takes the steps of a pipeline: errors name them, an observer sees them.

    Attributes:
        module: The module before the pipeline.
        observe: Is called with each step.
    """

    module: GraphModule
    observe: Observer

    def __call__(self, step: Step, graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
        made = _named(step, graph, change)
        self.observe(step, replace(self.module, graph=made, plan=None))
        return made


def _named(step: Step, graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """Return the changed graph; an exception names the step."""
    try:
        return change(graph)
    except Exception as error:
        error.add_note(f"in pass {step}")
        raise


def _apply(pass_: Pass | UntilStable, graph: Graph, take: _Stepper) -> Graph:
    """Return the graph after a pass, or a group of passes, of a pipeline."""
    if isinstance(pass_, UntilStable):
        return pass_.apply(graph, take)
    return take(Step(pass_.name), graph, pass_.apply)


@dataclass(frozen=True, slots=True)
class UntilStable:
    """A group of passes in a pipeline, repeated until none of them changes the graph any more.

    Attributes:
        passes: Passes of one round, in order.
        rounds: Rounds after which a graph that still changes is reported as a bug.
    """

    name: ClassVar[str] = "until-stable"
    passes: tuple[Pass, ...] = ()
    rounds: int = 32

    def apply(self, graph: Graph, take: Callable[[Step, Graph, Change], Graph] = _named) -> Graph:
        """Return the graph that the passes leave alone; regions first, the innermost before others.

        Args:
            graph: The graph.
            take: Returns the graph after a step; the last operand makes it of the one before.
        """
        for depth in range(depth_of(graph), -1, -1):
            graph = self._run_until_stable(graph, depth, take)
        return graph

    def _run_until_stable(
        self, graph: Graph, depth: int, take: Callable[[Step, Graph, Change], Graph]
    ) -> Graph:
        """Return the graph after all rounds, on the graphs at one depth.

        Raises:
            AssertionError: It still changes after all rounds; the passes that do it are named.
        """
        for number in range(1, self.rounds + 1):
            unsettled = []
            for pass_ in self.passes:
                step = Step(pass_.name, number, depth)
                changed = take(step, graph, partial(_at_depth, depth=depth, change=pass_.apply))
                if change := first_change(graph, changed):
                    unsettled.append(f"{step}, still changes {change}")
                graph = changed
            if not unsettled:
                return graph
        raise AssertionError(f"the graph does not settle: {'; '.join(unsettled)}")


def _at_depth(graph: Graph, *, depth: int, change: Change) -> Graph:
    """Return ``graph`` with the graphs at a depth changed; itself if none of them was."""
    if depth == 0:
        return change(graph)
    return in_regions(graph, partial(_at_depth, depth=depth - 1, change=change))


def in_regions(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """Return ``graph`` with the regions of its nodes changed; itself if none of them was.

    Args:
        graph: The graph.
        change: Returns the replacement of a region, and handles those inside of it.
    """
    if not any(node.op.regions() for node in graph.op_nodes):
        return graph

    def kept(region: Graph) -> Graph:
        """Return the same object where nothing changed: programs are made once for each."""
        changed = change(region)
        return region if changed is region or same_nodes(changed, region) else changed

    rewriter, changed = Rewriter(graph), False
    for node in rewriter:
        op = map_regions(node.op, kept)
        if op is not node.op:
            node_copy = rewriter.new.append(op, *rewriter.operands(node))
            rewriter.replace(node, *node_copy.results)
            changed = True
    return rewriter.finish() if changed else graph


def same_nodes(a: Graph, b: Graph) -> bool:
    """Return whether two graphs hold the same ops on the same operands, in the same order."""
    return first_change(a, b) is None


def first_change(a: Graph, b: Graph) -> str | None:
    """Return the first thing in ``b`` that is not as in ``a``; None if they are the same.

    Constants are the same where they are one array, inputs where they are one op: copies differ.
    """
    if a is b:
        return None
    for x, y in zip(a.nodes, b.nodes, strict=False):
        if not _same(x, y):
            return f"{y.label} ({y.op.name})"
    if a.count != b.count:
        return f"the number of nodes ({a.count} to {b.count})"
    return None if _places(a.outputs) == _places(b.outputs) else "the outputs"


def _same(x: Node, y: Node) -> bool:
    """Return whether two nodes apply the same op to the same operands."""
    return (
        type(x.op) is type(y.op)
        and x.types == y.types
        and _places(x.operands) == _places(y.operands)
        and (x.op is y.op or x.op == y.op)
    )


def _places(values: Sequence[Value]) -> list[tuple[int, int]]:
    return [(v.node.index, v.index) for v in values]
