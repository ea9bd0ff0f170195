"""The files of an emitted network."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.ir.hash import structural_hash
from rlx.support.errors import UsageError
from rlx.support.text.names import comment_text
from rlx.support.version import __version__
from rlx_c.calls import Calls
from rlx_c.entry_point import EntryPoint
from rlx_c.symbols import Symbols, with_prefix
from rlx_c.tables import tables_of, users_text
from rlx_cortexm.documents import documents
from rlx_cortexm.firmware import firmware_of
from rlx_cortexm.packages import package_files
from rlx_cortexm.render import render

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array
    from rlx.support.files.golden import Golden
    from rlx_c.layer import Kernel
    from rlx_c.ports import EntryPort
    from rlx_c.program import LoweredProgram, Named
    from rlx_cortexm.options import CortexMOptions

STACK_BYTES: Final = 1024
"""Stack that every run can do with; what compilers tell of each kernel is tested against it."""


class Emitter:
    """Renders one program as the options want it."""

    def __init__(self, program: LoweredProgram, options: CortexMOptions) -> None:
        self.prefix = options.prefix_for(program.graph.name)
        self._program = program
        self._options = options
        self._symbols = Symbols(self.prefix, program)
        self._entry_point = EntryPoint.of(program, in_arena=options.in_arena)
        self._common = self._context()

    def _context(self) -> dict[str, Any]:
        """Return the context of every template."""
        program, options, entry_point = self._program, self._options, self._entry_point
        hash_ = structural_hash(program.graph)
        return {
            "prefix": self.prefix,
            "macro": self.prefix.upper(),
            "title": comment_text(program.graph.name),
            "version": __version__,
            "hash": hash_,
            "id": hash_[:8],
            "inputs": entry_point.inputs,
            "outputs": entry_point.outputs,
            "inside": entry_point.in_arena,
            "entry_parameters": entry_point.parameters,
            "arena_bytes": program.arena_bytes,
            "alignment": program.alignment,
            "static_arena": options.static_arena,
            "cpu": options.cpu,
            "self_test": bool(options.self_test),
            "stack_bytes": STACK_BYTES,
            "constant_bytes": program.constant_bytes,
        }

    def files(self) -> Mapping[str, str]:
        """Return every file by relative path, the golden vectors left out."""
        header = self._render("model.h", layers=len(self._program.steps))
        sources, weights_header = self._sources()
        return {
            f"include/{self.prefix}.h": header,
            **weights_header,
            **sources,
            **documents(self._program, self._common, self._options),
            **firmware_of(self.prefix, self._entry_point, self_test=bool(self._options.self_test)),
            **self._package_files(list(sources)),
        }

    def _code(self) -> str:
        """Return the C file with the code."""
        program = self._program
        support = frozenset().union(
            *(k.support for k in program.kernels),
            *({f"unpack_i{s.layer.weight_bits}"} for s in program.steps if s.layer.unpacked),
        )
        kernels = [self._kernel(k, named) for k, named in program.kernels.items()]
        shared = {
            "support": support,
            "scalar": frozenset().union(
                *(k.support for k in program.kernels if "mve" not in k.support)
            ),
            "called": frozenset(re.findall(r"\w+(?=\()", "".join(kernels))),
        }
        entry = Calls(program, self._entry_point, self._symbols)
        calls, copies = entry.layers(), entry.copies()
        text = self._render(
            "model.c",
            support="".join(
                self._render(part, **shared) for part in ("support.c", "narrow.c", "mve.c")
            ),
            kernels=kernels,
            calls=calls,
            copies=copies,
            uses_arena=any("memory" in s for s in (*(c.statement for c in calls), *copies)),
            checked=self._entry_point.pointers,
            has_tables=bool(program.tables or program.constants),
        )
        return with_prefix(text, self.prefix)

    def vector_files(self, golden: Golden) -> Mapping[str, str]:
        """Return the self-test with the first of the golden vectors in it, by relative path.

        Raises:
            UsageError: There are fewer golden vectors.
        """
        if self._options.self_test > golden.frames:
            raise UsageError(
                f"a self-test of {self._options.self_test} frames needs as many golden vectors,"
                f" there are {golden.frames}",
                where="--self-test",
                hint=f"use --frames {self._options.self_test} (more vectors), or"
                f" --self-test {golden.frames}",
            )
        frames = golden.first(self._options.self_test)
        text = self._render(
            "self_test.c",
            frames=frames.frames,
            tested=[
                *_tested("input", self._entry_point.inputs, frames.inputs),
                *_tested("output", self._entry_point.outputs, frames.outputs),
            ],
        )
        return {self._self_test: text}

    def _sources(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the C files, and the header of the tables if there are some."""
        prefix, tables = self.prefix, tables_of(self._program, self._symbols)
        sources, header = {f"src/{prefix}.c": self._code()}, {}
        if tables:
            sources[f"src/{prefix}_weights.c"] = self._render("weights.c", tables=tables)
            channel = any(t["channel"] for t in tables)
            text = self._render("weights.h", tables=tables, channel=channel)
            header[f"src/{prefix}_weights.h"] = text
        if self._options.static_arena:
            sources[f"src/{prefix}_arena.c"] = self._render("arena.c")
        return sources, header

    def _package_files(self, sources: Sequence[str]) -> dict[str, str]:
        options = self._options
        every = [*sources, *([self._self_test] if options.self_test else [])]
        return package_files(options.package, self._common, every, options.package_version)

    @property
    def _self_test(self) -> str:
        return f"src/{self.prefix}_self_test.c"

    def _kernel(self, kernel: Kernel, named: Named) -> str:
        return self._render(
            f"kernels/{kernel.template}.c",
            name=self._symbols.kernel(kernel),
            users=users_text(named.users, self._program),
            **kernel.context,
        )

    def _render(self, template: str, **parameters: Any) -> str:  # noqa: ANN401 - any parameter
        return render(template, self._common, **parameters)


def _tested(
    kind: str, ports: tuple[EntryPort, ...], arrays: tuple[Array, ...]
) -> list[dict[str, Any]]:
    """Return the inputs or outputs for the self-test's template: numbers by their bits."""
    return [
        {"kind": kind, "port": port, "data": _integers(array).reshape(len(array), -1)}
        for port, array in zip(ports, arrays, strict=True)
    ]


def _integers(array: Array) -> Array:
    """Return integers, or the bits of float32 numbers."""
    return np.ascontiguousarray(array).view(np.uint32) if array.dtype == np.float32 else array
