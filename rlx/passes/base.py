"""The interface of passes, and sequences of passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rlx.ir import rebuild
from rlx.ir.module import GraphModule, Stage
from rlx.ir.regions import map_regions
from rlx.ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir import Graph, Node, Value


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
        """Return the rewritten graph; the operand is left as it is."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A named sequence of passes.

    Attributes:
        name: Name on the command line.
        passes: Passes in order.
        result: Stage that the graph has afterwards; None for the one that it had.
    """

    name: str
    passes: tuple[Pass, ...]
    result: Stage | None = Stage.MIR

    def run(
        self,
        module: GraphModule,
        *,
        observe: Callable[[str, Graph], None] | None = None,
    ) -> GraphModule:
        """Return ``module`` after every pass, verified before the first and after each.

        Args:
            module: What to rewrite.
            observe: Called with the name of each pass and the graph it made.

        Raises:
            VerifyError: The graph breaks an invariant; ``where`` names the pass.
        """
        verify(module)
        graph, result = module.graph, self.result or module.stage
        for number, pass_ in enumerate(self.passes, start=1):
            graph = pass_.apply(graph)
            stage = result if number == len(self.passes) else module.stage
            verify(GraphModule(graph, stage), where=f"after pass {pass_.name}")
            if observe is not None:
                observe(pass_.name, graph)
        stage = result if self.passes else module.stage
        return replace(module, graph=graph, stage=stage, plan=None)


@dataclass(frozen=True, slots=True)
class UntilStable(Pass):
    """Repeat passes until none of them changes the graph any more.

    Attributes:
        passes: Passes of one round, in order.
        rounds: Rounds after which a graph that still changes is taken for a bug.
    """

    name: ClassVar[str] = "until-stable"
    passes: tuple[Pass, ...] = ()
    rounds: int = 32

    def apply(self, graph: Graph) -> Graph:
        """Return the graph that the passes leave alone, and its regions too."""
        graph = in_regions(graph, self.apply)
        for _ in range(self.rounds):
            changed = False
            for pass_ in self.passes:
                rewritten = pass_.apply(graph)
                changed |= not same_nodes(rewritten, graph)
                graph = rewritten
            if not changed:
                return graph
        raise AssertionError(f"{[p.name for p in self.passes]} do not settle")


def in_regions(graph: Graph, change: Callable[[Graph], Graph]) -> Graph:
    """Return ``graph`` with the regions of its nodes changed; itself if none of them was.

    Args:
        graph: The graph.
        change: Returns what stands for a region; those inside of it are its business.
    """
    if not any(node.op.regions() for node in graph.op_nodes):
        return graph
    changes = 0

    def kept(region: Graph) -> Graph:
        """Return the same object where nothing changed: programs are made once for each."""
        changed = change(region)
        return region if changed is region or same_nodes(changed, region) else changed

    def visit(new: Graph, node: Node, operands: tuple[Value, ...]) -> Sequence[Value] | None:
        nonlocal changes
        op = map_regions(node.op, kept)
        if op is node.op:
            return None
        changes += 1
        return new.append(op, *operands).results

    changed = rebuild(graph, visit)
    return changed if changes else graph


def same_nodes(a: Graph, b: Graph) -> bool:
    """Whether two graphs hold the same ops on the same operands, in the same order."""
    if a is b:
        return True
    if len(a.nodes) != len(b.nodes):
        return False
    return all(
        type(x.op) is type(y.op)
        and x.types == y.types
        and _places(x.operands) == _places(y.operands)
        and _same_attributes(x.op, y.op)
        for x, y in zip(a.nodes, b.nodes, strict=True)
    ) and _places(a.outputs) == _places(b.outputs)


def _places(values: Sequence[Value]) -> list[tuple[int, int]]:
    return [(v.node.index, v.index) for v in values]


def _same_attributes(x: object, y: object) -> bool:
    """Whether ops of one class are equal; constants are when they are the same array."""
    return x is y or x == y
