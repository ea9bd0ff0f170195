"""Text of a native program: vector functions, the kernels, and the function that calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx_host.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Node
    from rlx_c.layer import Kernel
    from rlx_host.instruction_set import InstructionSet
    from rlx_host.layer import NativeLayer


@dataclass(frozen=True, slots=True)
class NativeStep:
    """A node as a call in a native program.

    Attributes:
        node: The node.
        layer: Its function and pointers.
        index: Number of the call.
        first: Index of its first pointer among those of the program.
    """

    node: Node
    layer: NativeLayer
    index: int
    first: int

    @property
    def pointer_count(self) -> int:
        """Number of pointers that the call passes."""
        layer = self.layer
        passed = len(layer.operands) + len(layer.tables) + len(self.node.results)
        return passed + (1 if layer.scratch_bytes else 0)


def number_steps(layers: Sequence[tuple[Node, NativeLayer]]) -> tuple[NativeStep, ...]:
    """Return the calls of nodes, in order."""
    steps: list[NativeStep] = []
    first = 0
    for index, (node, layer) in enumerate(layers):
        steps.append(NativeStep(node, layer, index, first))
        first += steps[-1].pointer_count
    return tuple(steps)


def program_text(steps: Sequence[NativeStep], instructions: InstructionSet) -> str:
    """Return the C file of a program; equal layers share a function."""
    names: dict[Kernel, str] = {}
    for step in steps:
        kernel = step.layer.kernel
        names.setdefault(kernel, f"{kernel.kind}_{len(names)}")
    functions = [
        render(f"{k.template}.c", {**k.context, "name": n, "isa": instructions})
        for k, n in names.items()
    ]
    calls = [
        (
            names[s.layer.kernel],
            [f"p[{s.first + i}]" for i in range(s.pointer_count)],
            s.layer.may_fail,
        )
        for s in steps
    ]
    support = sorted({name for kernel in names for name in kernel.support})
    parts = [_shared_functions(name, instructions) for name in support]
    return render(
        "program.c",
        {"isa": instructions, "support": parts, "functions": functions, "calls": calls},
    )


def _shared_functions(name: str, instructions: InstructionSet) -> str:
    """Return the text of functions that kernels share: a template, or ``tile_ROWS_VECTORS``."""
    template, *sizes = name.split("_")
    parameters = dict(zip(("rows", "vectors"), map(int, sizes), strict=False))
    return render(f"{template}.c", {"isa": instructions, **parameters})
