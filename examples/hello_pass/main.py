"""Write a pass, run it until the graph settles, and see that every bit stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rlx.ir import Graph, GraphModule, Node, Op, Rewriter, Value, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QMaxPool2d, QPad, Window
from rlx.passes import Pass, Pipeline, Step, UntilStable
from rlx.passes.dead_code import DeadCode


@dataclass(frozen=True, slots=True)
class MergePads(Pass):
    """``pad(pad(x))`` of one value becomes one pad."""

    name: ClassVar[str] = "merge-pads"

    def apply(self, graph: Graph) -> Graph:
        """Return the graph with pads merged; the same graph if there is nothing to merge."""
        if not any(_is_double(node, node.operands) for node in graph.op_nodes):
            return graph
        rewriter = Rewriter(graph, by=self.name)
        for node in rewriter:
            operands = rewriter.operands(node)
            if _is_double(node, operands):
                (x,) = operands[0].node.operands
                pad = _both(node.op, operands[0].node.op)
                merged = rewriter.new.apply(pad, x, quant=node.types[0].quant)
                rewriter.replace(node, merged)
        return rewriter.finish()


def _is_double(node: Node, operands: tuple[Value, ...]) -> bool:
    """Whether a node is a pad of a pad with the same value."""
    if not isinstance(node.op, QPad):
        return False
    inner = operands[0].node.op
    return isinstance(inner, QPad) and inner.value == node.op.value


def _both(outer: Op, inner: Op) -> QPad:
    """Return the pad that does the same as two."""
    assert isinstance(outer, QPad)
    assert isinstance(inner, QPad)
    return QPad(
        before=tuple(a + b for a, b in zip(outer.before, inner.before, strict=True)),
        after=tuple(a + b for a, b in zip(outer.after, inner.after, strict=True)),
        value=outer.value,
    )


def build() -> GraphModule:
    """Return three pads, of which two have one value, before a pooling layer."""
    graph = Graph("pads")
    x = graph.input("x", i8(1, 4, 4, 2))
    for number, value in enumerate((0, -3, -3)):
        pad = QPad(before=(0, 1, 0, 0), after=(0, 0, 1, 0), value=value)
        x = graph.apply(pad, x, name=f"pad{number}")
    graph.output(graph.apply(QMaxPool2d(window=Window((2, 2))), x, name="pool"), names=["y"])
    return GraphModule.mir(graph)


def show(step: Step, made: GraphModule) -> None:
    """Print how many nodes there are after a step."""
    print(f"{step}: {made.graph.count} nodes")


def main() -> None:
    """Run the pass; compare what the graph computes before and after."""
    module = build()
    pipeline = Pipeline("pads", (UntilStable((MergePads(), DeadCode())),))
    made = pipeline.run(module, observe=show)
    print(made.graph, end="")
    x = np.random.default_rng(0).integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    (before,), (after,) = (evaluate(m.graph, {"x": x}) for m in (module, made))
    print("every bit stays:", np.array_equal(before, after))


if __name__ == "__main__":
    main()
