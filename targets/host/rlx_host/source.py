"""Text of a native program: vector functions, the kernels, and the function that calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlx_host.identity import canonical

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


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """The C file of a program, rendered only where it is compiled or shown.

    Attributes:
        functions: Each kernel, and the name of its function; equal layers share one.
        calls: Function of each call, index and number of its pointers, and whether it may fail.
        instructions: Instruction set it is written for.
    """

    functions: tuple[tuple[Kernel, str], ...]
    calls: tuple[tuple[str, int, int, bool], ...]
    instructions: InstructionSet

    @staticmethod
    def of(steps: Sequence[NativeStep], instructions: InstructionSet) -> ProgramSource:
        """Return the file that makes the calls of ``steps``."""
        names: dict[Kernel, str] = {}
        for step in steps:
            kernel = step.layer.kernel
            names.setdefault(kernel, f"{kernel.kind}_{len(names)}")
        calls = ((names[s.layer.kernel], s.first, s.pointer_count, s.layer.may_fail) for s in steps)
        return ProgramSource(tuple(names.items()), tuple(calls), instructions)

    @property
    def identity(self) -> str:
        """A text that determines the file, given the files of this package."""
        return canonical((self.functions, self.calls, self.instructions.name))

    @property
    def text(self) -> str:
        """The C file of the backend."""
        from rlx_host.render import render

        calls = [
            (name, [f"p[{first + i}]" for i in range(count)], may_fail)
            for name, first, count, may_fail in self.calls
        ]
        return render("program.c", {"code": self.code, "calls": calls})

    @property
    def code(self) -> str:
        """The functions, in C, and all that they call."""
        # The template engine is imported only to compile code that is not on disk.
        from rlx_host.render import render

        support = sorted({name for kernel, _ in self.functions for name in kernel.support})
        shared = (name.split("_") for name in support)
        isa = self.instructions
        return render(
            "code.c",
            {
                "isa": isa,
                "support": [
                    render(f"{template}.c", {"isa": isa, **_tile(sizes)})
                    for template, *sizes in shared
                ],
                "functions": [
                    render(f"{k.template}.c", {**k.context, "name": n, "isa": isa})
                    for k, n in self.functions
                ],
            },
        )


def _tile(sizes: Sequence[str]) -> dict[str, int]:
    """Return the parameters that a name of shared functions, ``tile_ROWS_VECTORS``, ends with."""
    return dict(zip(("rows", "vectors"), map(int, sizes), strict=False))
