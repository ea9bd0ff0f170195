"""The files of an emitted network.

Tests: tests/targets/cortexm/test_interface.py
"""

from __future__ import annotations

import re
from functools import cached_property
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
from rlx_cortexm.labels import c_string, check_labels
from rlx_cortexm.packages import package_files
from rlx_cortexm.render import render
from rlx_cortexm.self_check import crc_of, nibbles
from rlx_cortexm.weights_file import StoredSymbols, WeightsFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array
    from rlx.support.files.golden import Golden
    from rlx_c.layer import Kernel
    from rlx_c.ports import EntryPort
    from rlx_c.program import LoweredProgram, Named
    from rlx_cortexm.options import CortexMOptions

STACK_BYTES: Final = 1024
"""Stack that is enough for every run; tests compare it with the frames that compilers report."""


class Emitter:
    """Renders one program according to the options."""

    def __init__(self, program: LoweredProgram, options: CortexMOptions) -> None:
        self.prefix = options.prefix_for(program.graph.name)
        self._program = program
        self._options = options
        in_file = options.weights_in_file
        names = StoredSymbols(self.prefix, program) if in_file else Symbols(self.prefix, program)
        self._symbols = names
        self._tables = (
            names.tables if isinstance(names, StoredSymbols) else tables_of(program, names)
        )
        self._entry_point = EntryPoint.of(program, in_arena=options.in_arena, prefix=self.prefix)
        self._common = self._context()

    def _context(self) -> dict[str, Any]:
        """Return the context of every template."""
        program, options, entry_point = self._program, self._options, self._entry_point
        hash_ = structural_hash(program.graph)
        if not self._tables and (options.self_check or options.weights_in_file):
            option = "--self-check" if options.self_check else "--weights-at"
            raise UsageError("the network has no constants", where=option, hint="leave it out")
        if options.labels is not None:
            check_labels(options.labels, [value for _, value in program.graph.run_outputs])
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
            "states": entry_point.states,
            "entry_parameters": entry_point.parameters,
            "arena_bytes": program.arena_bytes,
            "alignment": program.alignment,
            "static_arena": options.static_arena,
            "cpu": options.cpu,
            "device": options.device,
            "self_test": bool(options.self_test),
            "check": self._self_check() if options.self_check else None,
            "stored": options.weights_in_file,
            "labels": [c_string(label) for label in options.labels or ()],
            "stack_bytes": STACK_BYTES,
            "constant_bytes": program.constant_bytes,
        }

    def _self_check(self) -> dict[str, Any]:
        """Return the parameters of the check of the constants."""
        stored = self._options.weights_in_file
        return {
            "crc": None if stored else f"{crc_of(self._tables):08x}",
            "tables": 2 if stored else len(self._tables),
        }

    @property
    def states(self) -> list[dict[str, Any]]:
        """The network's states, for the report."""
        states = self._entry_point.states
        return [{"name": port.parameter, "bytes": port.bytes} for port in states]

    @property
    def weights_file_bytes(self) -> int:
        """Size of the file of the constants; 0 if they are C arrays."""
        symbols = self._symbols
        return symbols.file_bytes if isinstance(symbols, StoredSymbols) else 0

    @cached_property
    def weights_file(self) -> WeightsFile | None:
        """The file of the constants; None if they are C arrays."""
        if not isinstance(self._symbols, StoredSymbols):
            return None
        entry = self._entry_point
        ports = (*entry.inputs, *entry.outputs, *entry.states)
        return WeightsFile(self._program, self._symbols, self._code, ports)

    def files(self) -> Mapping[str, str | bytes]:
        """Return every file by relative path, the golden vectors left out."""
        stored = self.weights_file
        common = self._common if stored is None else {**self._common, "stored": stored.context()}
        sources, weights_header = self._sources(common)
        return {
            f"include/{self.prefix}.h": render("model.h", common, layers=len(self._program.steps)),
            **weights_header,
            **sources,
            **({} if stored is None else {stored.name: stored.content()}),
            **documents(self._program, common, self._options),
            **firmware_of(
                self.prefix,
                self._entry_point,
                self_test=bool(self._options.self_test),
                self_check=self._options.self_check,
                weights_file=None if stored is None else stored.name,
                cpu=self._options.cpu,
            ),
            **self._package_files(common, list(sources)),
        }

    @cached_property
    def _code(self) -> str:
        """The C file with the code."""
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
            uses_arena=any(
                re.search(r"\bmemory\b", s) for s in (*(c.statement for c in calls), *copies)
            ),
            checked=self._entry_point.pointers,
            has_tables=bool(self._tables),
            scales=self._scales,
        )
        return with_prefix(text, self.prefix)

    def vector_files(self, golden: Golden) -> Mapping[str, str]:
        """Return the self-test with the first of the golden vectors in it, by relative path.

        Raises:
            UsageError: There are fewer golden vectors.
        """
        if self._options.self_test > golden.frames:
            raise UsageError(
                f"expected at least {self._options.self_test} golden vectors, got {golden.frames}",
                where="--self-test",
                hint=f"use --frames {self._options.self_test} to get more vectors, or"
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

    @property
    def _scales(self) -> str | None:
        """Address of the multipliers and shifts in the weights' file; None without these."""
        return self._symbols.scales if isinstance(self._symbols, StoredSymbols) else None

    def _sources(self, common: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
        """Return the C files, and the header of the tables, if any."""
        prefix, tables, crc = self.prefix, self._tables, _hex_lines(nibbles())
        sources, header = {f"src/{prefix}.c": self._code}, {}
        if tables:
            template = "weights_file.c" if common["stored"] else "weights.c"
            text = render(template, common, tables=tables, nibbles=crc)
            sources[f"src/{prefix}_weights.c"] = text
            channel = any(t["channel"] for t in tables)
            text = render("weights.h", common, tables=tables, channel=channel)
            header[f"src/{prefix}_weights.h"] = text
        if self._options.self_check:
            text = render("self_check.c", common, tables=tables, nibbles=crc)
            sources[f"src/{prefix}_self_check.c"] = text
        if self._options.labels:
            sources[f"src/{prefix}_labels.c"] = self._render("labels.c")
        if self._options.static_arena:
            sources[f"src/{prefix}_arena.c"] = self._render("arena.c")
        return sources, header

    def _package_files(self, common: Mapping[str, Any], sources: Sequence[str]) -> dict[str, str]:
        options = self._options
        every = [*sources, *([self._self_test] if options.self_test else [])]
        return package_files(
            options.package, common, every, options.package_version, options.package_url
        )

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
    """Return the inputs or outputs for the self-test's template, float32 values as their bits."""
    return [
        {"kind": kind, "port": port, "data": _integers(array).reshape(len(array), -1)}
        for port, array in zip(ports, arrays, strict=True)
    ]


def _hex_lines(values: Sequence[int]) -> str:
    """Return words of 32 bits as an initializer, four in a line."""
    words = [f"0x{value:08x}u," for value in values]
    return "\n".join("  " + " ".join(words[k : k + 4]) for k in range(0, len(words), 4))


def _integers(array: Array) -> Array:
    """Return integers, or the bits of float32 values."""
    return np.ascontiguousarray(array).view(np.uint32) if array.dtype == np.float32 else array
