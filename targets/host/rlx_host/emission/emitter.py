"""The files of a network for this machine.

Tests: tests/targets/host/test_target.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rlx.ir import DType, GraphModule, State
from rlx.ir.file import to_file_bytes
from rlx.ir.graph import Source
from rlx.ir.hash import structural_hash
from rlx.runtime.checking import exact_values
from rlx.support.text.names import comment_text
from rlx.support.version import __version__
from rlx_c.calls import Moves, type_text
from rlx_c.entry_point import EntryPoint
from rlx_c.ports import C_TYPES
from rlx_c.render import breaks
from rlx_c.reserved import cmake_target
from rlx_host.compiler import CODE_FLAGS
from rlx_host.emission import REFERENCE_NETWORK
from rlx_host.emission.constants import ALIGNMENT
from rlx_host.emission.report import layer_rows
from rlx_host.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlx.ir import Graph, Value
    from rlx_host.emission.options import HostOptions
    from rlx_host.emission.program import HostProgram
    from rlx_host.source import NativeStep

PORT_TYPES: Final[Mapping[DType, str]] = {
    **C_TYPES,
    DType.I64: "int64_t",
    DType.BOOL: "uint8_t",
}
"""C types of the elements of inputs, outputs and states."""


class Emitter:
    """Renders one program according to the options."""

    def __init__(self, program: HostProgram, options: HostOptions) -> None:
        self.prefix = options.prefix_for(program.graph.name)
        self._program = program
        self._entry_point = EntryPoint.of(
            program, in_arena=False, prefix=self.prefix, types=PORT_TYPES
        )
        self._statements = Statements(program, self._entry_point, self.prefix)

    def files(self) -> dict[str, str | bytes]:
        """Return every file by relative path, the golden vectors left out."""
        prefix, context = self.prefix, self._context()
        named = {
            f"include/{prefix}.h": "model.h",
            f"src/{prefix}.c": "model.c",
            f"src/{prefix}_main.c": "main.c",
            "CMakeLists.txt": "CMakeLists.txt",
            f"{prefix}.pc.in": "pkgconfig.pc.in",
            "README.md": "README.md",
        }
        constants: dict[str, str | bytes] = {}
        if len(self._program.file):
            named[f"src/{prefix}_weights.c"] = "weights.c"
            constants[f"src/{prefix}_weights.bin"] = self._program.file.content
        if not is_exact(self._program.graph):
            module = GraphModule.mir(self._program.graph)
            constants[REFERENCE_NETWORK] = to_file_bytes(module)
        texts = {path: render(f"emission/{name}", context) for path, name in named.items()}
        return {**texts, **constants}

    def facts(self) -> dict[str, Any]:
        """Return the entries of the manifest that the verifier reads."""
        return {
            "prefix": self.prefix,
            "instruction_set": self._program.source.instructions.name,
            "compared_with": "NumPy" if is_exact(self._program.graph) else "native",
        }

    def _context(self) -> dict[str, Any]:
        """Return the context of every template."""
        program, entry_point = self._program, self._entry_point
        instructions = program.source.instructions
        hash_ = structural_hash(program.graph)
        calls = self._statements.layers()
        copies = self._statements.copies()
        return {
            "prefix": self.prefix,
            "macro": self.prefix.upper(),
            "title": comment_text(program.graph.name),
            "version": __version__,
            "hash": hash_,
            "inputs": entry_point.inputs,
            "outputs": entry_point.outputs,
            "inside": False,
            "states": entry_point.states,
            "entry_parameters": entry_point.parameters,
            "pointers": entry_point.pointers,
            "arena_bytes": program.arena_bytes,
            "alignment": program.plan.alignment,
            "constant_bytes": len(program.file),
            "constant_alignment": ALIGNMENT,
            "isa": instructions,
            "code": program.source.code,
            "code_flags": CODE_FLAGS,
            "calls": calls,
            "copies": copies,
            "uses_arena": any("memory" in text for text in (*(t for _, t in calls), *copies)),
            "may_fail": any(step.layer.may_fail for step in program.steps),
            "target": cmake_target(self.prefix),
            "layers": layer_rows(program),
            "is_exact": is_exact(program.graph),
        }


class Statements(Moves):
    """Makes the statements of the entry point of one program."""

    def __init__(self, program: HostProgram, entry_point: EntryPoint, prefix: str) -> None:
        super().__init__(program, entry_point)
        self._program = program
        self._prefix = prefix

    def layers(self) -> list[tuple[str, str]]:
        """Return a comment and a statement for each call, in order."""
        functions = [call.function for call in self._program.source.calls]
        return [
            (self._comment(step), self._statement(step, function))
            for step, function in zip(self._program.steps, functions, strict=True)
        ]

    def _comment(self, step: NativeStep) -> str:
        node = step.node
        read = ", ".join(type_text(node.operands[index]) for index in step.layer.operands)
        name = comment_text(self._program.names[node])
        return f"{step.index}: {name} ({node.op.name}), {read} -> {type_text(node.results[0])}"

    def _statement(self, step: NativeStep, function: str) -> str:
        node, layer = step.node, step.layer
        scratch = [self._arena(self._program.scratch[step.index])] if layer.scratch_bytes else []
        arguments = [
            *(self._address(node.operands[index]) for index in layer.operands),
            *(self._constant(offset) for offset in self._program.tables[step.index]),
            *scratch,
            *(self._address(value) for value in node.results),
            *(["0", str(layer.split.units)] if layer.split is not None else []),
        ]
        if not layer.may_fail:
            return breaks(arguments, f"{function}(", ", ", ");", indent=2)
        call = breaks(arguments, f"if (!{function}(", ", ", ")) {", indent=2)
        return f"{call}\n    return {self._prefix.upper()}_ERROR_INDEX;\n  }}"

    def _address(self, value: Value) -> str:
        """Return a value's address, without its type."""
        if value.constant is not None:
            return self._constant(self._program.constants[value])
        location = self._places.of(value)
        if location.base == "memory":
            return self._arena(location.offset)
        is_read_only = isinstance(value.node.op, Source) and not isinstance(value.node.op, State)
        kind = "const void *" if is_read_only else "void *"
        if not location.offset:
            return f"({kind}){location.base}"
        byte = "const uint8_t *" if is_read_only else "uint8_t *"
        return f"({kind})(({byte})({kind}){location.base} + {location.offset})"

    def _arena(self, offset: int) -> str:
        return f"(void *)(memory + {offset})" if offset else "(void *)memory"

    def _constant(self, offset: int) -> str:
        weights = f"{self._prefix}_weights"
        return f"(const void *)({weights} + {offset})" if offset else f"(const void *){weights}"


def is_exact(graph: Graph) -> bool:
    """Whether every output, and every next value of a state, has the bits of NumPy."""
    exact = exact_values(graph)
    return all(v in exact or isinstance(v.node.op, Source) for v in graph.outputs)
