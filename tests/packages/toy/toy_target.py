"""A target whose emitted file lists the ops of a network in order of execution."""

from dataclasses import dataclass, field

from rlx.ir import Refusal
from rlx.ops.q import Q_OPS
from rlx.targets import Emission, Lowering, Target


@dataclass(frozen=True)
class Options:
    indent: int = field(default=0, metadata={"help": "Spaces before each line [0]."})


class Listing(Target):
    api = 1
    name = "listing"
    summary = "a text with a line for each op"
    options = Options

    def knows(self, op):
        return op in Q_OPS

    def lowering(self, node, options):
        return Lowering() if self.knows(type(node.op)) else Refusal("only integer ops are listed")

    def emit(self, module, options):
        rows = [{"op": n.op.name, "result": str(n.result.type)} for n in module.graph.op_nodes]
        lines = [f"{' ' * options.indent}{row['op']} {row['result']}\n" for row in rows]
        return Emission({"listing.txt": "".join(lines)}, {"layers": rows, "ops": len(rows)})


TARGET = Listing()
