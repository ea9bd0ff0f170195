"""Text of a native program: vector functions, the kernels, and the function that calls them."""

from __future__ import annotations

import re
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
class Call:
    """A call in the text of a program.

    Attributes:
        function: Name of the function.
        arguments: C expressions of its arguments. ``first`` and ``last`` are the units to compute,
            ``thread`` is the number of the thread.
        may_fail: Whether it returns 0 where an operand is not allowed.
        units: Number of units that threads may share.
        min_units: Number of units of the smallest part.
    """

    function: str
    arguments: tuple[str, ...]
    may_fail: bool
    units: int
    min_units: int

    @staticmethod
    def of(function: str, step: NativeStep) -> Call:
        """Return the call of a step."""
        layer, split = step.layer, step.layer.split
        arguments = [f"p[{step.first + i}]" for i in range(step.pointer_count)]
        if split is None:
            return Call(function, tuple(arguments), layer.may_fail, 1, 1)
        if layer.scratch_bytes:
            scratch = len(layer.operands) + len(layer.tables)
            offset = f"thread * {layer.thread_scratch_bytes}"
            arguments[scratch] = f"(void *)((char *){arguments[scratch]} + {offset})"
        arguments += ["first", "last"]
        return Call(function, tuple(arguments), layer.may_fail, split.units, split.min_units)


@dataclass(frozen=True, slots=True)
class ProgramSource:
    """The C file of a program, rendered only where it is compiled or shown.

    Attributes:
        functions: Each kernel, and the name of its function; equal layers share one.
        calls: The calls, in order.
        instructions: Instruction set it is written for.
    """

    functions: tuple[tuple[Kernel, str], ...]
    calls: tuple[Call, ...]
    instructions: InstructionSet

    @staticmethod
    def of(steps: Sequence[NativeStep], instructions: InstructionSet) -> ProgramSource:
        """Return the file that makes the calls of ``steps``."""
        names: dict[Kernel, str] = {}
        for step in steps:
            kernel = step.layer.kernel
            names.setdefault(kernel, f"{kernel.kind}_{len(names)}")
        calls = tuple(Call.of(names[step.layer.kernel], step) for step in steps)
        return ProgramSource(tuple(names.items()), calls, instructions)

    @property
    def identity(self) -> str:
        """A text that determines the file, given the files of this package."""
        return canonical((self.functions, self.calls, self.instructions.name))

    @property
    def text(self) -> str:
        """The C file of the backend."""
        from rlx_host.render import render

        code = _out_of_line(self.code, [name for _, name in self.functions])
        return render("program.c", {"code": code, "calls": self.calls})

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


def _out_of_line(code: str, names: Sequence[str]) -> str:
    """Return the code with a mark on each function of a step that keeps compilers from inlining it.

    GCC inlines a function with one call whatever its size. The steps of an unrolled network would
    become one function of 10,000 lines, on which it spends three times as long as on all of them.
    """
    marked = set(names)

    def mark(match: re.Match[str]) -> str:
        noinline = "__attribute__((noinline)) " if match[2] in marked else ""
        return f"static {noinline}{match[1]} {match[2]}("

    return re.sub(r"^static (void|int) (\w+)\(", mark, code, flags=re.MULTILINE)


def _tile(sizes: Sequence[str]) -> dict[str, int]:
    """Return the parameters that a name of shared functions, ``tile_ROWS_VECTORS``, ends with."""
    return dict(zip(("rows", "vectors"), map(int, sizes), strict=False))
