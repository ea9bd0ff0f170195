"""The files of an emitted network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from rlx import __version__
from rlx.errors import UsageError
from rlx.ir.hash import structural_hash
from rlx.names import comment_text
from rlx.plan import memory_picture, memory_text, moves_nothing
from rlx_cortexm import firmware
from rlx_cortexm.code_size import kernel_bytes
from rlx_cortexm.estimate import scratch_places
from rlx_cortexm.packages import package_files, usage
from rlx_cortexm.ports import Place, Places, Port, inside, ports
from rlx_cortexm.program import Program, Step, constant_table
from rlx_cortexm.render import ENV, breaks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rlx.golden import Golden
    from rlx.ir import Array, Value
    from rlx_cortexm.layer import Kernel, Table
    from rlx_cortexm.options import CortexMOptions
    from rlx_cortexm.program import Named

STACK_BYTES: Final = 1024
"""Stack that every run can do with; what compilers tell of each kernel is tested against it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One layer in the entry point.

    Attributes:
        index: Number of the layer.
        name: Its function without the prefix, for the layer hook.
        comment: What it computes.
        statement: The call; empty where nothing has to be done.
    """

    index: int
    name: str
    comment: str
    statement: str


class Names:
    """Symbols of a program: nothing but the prefix, a kind and a number."""

    def __init__(self, prefix: str, program: Program) -> None:
        self.prefix = prefix
        self._program = program

    def kernel(self, kernel: Kernel) -> str:
        """Return the symbol of a function."""
        return f"{self.prefix}_{kernel.kind}_{self._program.kernels[kernel].index}"

    def table(self, table: Table) -> str:
        """Return the symbol of a layer's table."""
        emitted, named = self._program.table_of(table)
        return f"{self.prefix}_{emitted.role}_{named.index}"

    def constant(self, value: Value) -> str:
        """Return the symbol of a constant operand."""
        return f"{self.prefix}_constant_{self._program.constants[value]}"


class Emitter:
    """Renders one program as the options want it."""

    def __init__(self, program: Program, options: CortexMOptions) -> None:
        prefix = options.prefix_for(program.graph.name)
        self.program = program
        self._options = options
        self.names = Names(prefix, program)
        self.inputs = ports("input", program.graph.inputs)
        self.outputs = ports("output", program.graph.outputs)
        self._inside = options.io == "arena"
        if self._inside:
            self.inputs = inside(self.inputs, program.graph.inputs, program.plan)
            self.outputs = inside(self.outputs, program.graph.outputs, program.plan)
        self._places = Places(program.graph, program.plan, self.inputs, self.outputs)
        self._hash = structural_hash(program.graph)
        self._common: dict[str, Any] = {
            "prefix": prefix,
            "macro": prefix.upper(),
            "title": comment_text(program.graph.name),
            "version": __version__,
            "hash": self._hash,
            "id": self._hash[:8],
            "inputs": self.inputs,
            "outputs": self.outputs,
            "inside": self._inside,
            "entry_parameters": [*self._port_parameters(), "void *arena"],
            "arena_bytes": program.arena_bytes,
            "alignment": program.alignment,
            "static_arena": options.static_arena,
            "cpu": options.cpu,
            "self_test": bool(options.self_test),
            "stack_bytes": STACK_BYTES,
            "constant_bytes": program.constant_bytes,
        }

    def _port_parameters(self) -> list[str]:
        """Return the declarations of the entry point's pointers to inputs and outputs."""
        if self._inside:
            return []
        inputs = [port.constant_pointer for port in self.inputs]
        return [*inputs, *(port.pointer for port in self.outputs)]

    def files(self) -> Mapping[str, str]:
        """Return every file by relative path, the golden vectors left out."""
        prefix = self._common["prefix"]
        tables = self._tables()
        sources = {f"src/{prefix}.c": self.code}
        headers = {
            f"include/{prefix}.h": self._render("model.h", layers=len(self.program.steps)),
        }
        if tables:
            sources[f"src/{prefix}_weights.c"] = self._render("weights.c", tables=tables)
            headers[f"src/{prefix}_weights.h"] = self._render(
                "weights.h", tables=tables, channel=any(t["channel"] for t in tables)
            )
        if self._common["static_arena"]:
            sources[f"src/{prefix}_arena.c"] = self._render("arena.c")
        return {
            **headers,
            **sources,
            "README.md": self._render(
                "README.md",
                layers=[self.row(step) for step in self.program.steps],
                macs=sum(step.layer.macs for step in self.program.steps),
                packages=usage(self._options.package, prefix),
            ),
            **self._reports(),
            **self._test_files(),
            **self._package_files(sources),
        }

    @cached_property
    def code(self) -> str:
        """The C file with the code."""
        return self._model()

    def _reports(self) -> dict[str, str]:
        """Return the memory map as text and as a picture."""
        scratch = scratch_places(self.program)
        return {
            "report/memory.txt": memory_text(self.program.plan, scratch),
            "report/memory.svg": memory_picture(self.program.plan, scratch),
        }

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
                *_tested("input", self.inputs, frames.inputs),
                *_tested("output", self.outputs, frames.outputs),
            ],
        )
        return {self._self_test: text}

    @property
    def _self_test(self) -> str:
        return f"src/{self.names.prefix}_self_test.c"

    def _package_files(self, sources: Iterable[str]) -> dict[str, str]:
        every = [*sources, *([self._self_test] if self._options.self_test else [])]
        options = self._options
        return package_files(options.package, self._common, every, options.package_version)

    def row(self, step: Step) -> dict[str, Any]:
        """Return what a report says about a layer."""
        return {
            "index": step.index,
            "op": step.node.op.name,
            "name": self._layer_name(step),
            "result": _type_text(step.node.results[0]),
            "macs": step.layer.macs,
            "weight_bits": step.layer.weight_bits,
            "kernel": step.candidate.name,
            "instructions": step.candidate.instructions,
            "constant_bytes": sum(t.nbytes for t in step.layer.tables),
            "code_bytes": kernel_bytes(step.layer.kernel),
            "scratch_bytes": step.layer.scratch_bytes,
        }

    def _render(self, template: str, **parameters: Any) -> str:  # noqa: ANN401 - any parameter
        return ENV.get_template(f"{template}.j2").render(self._common, **parameters)

    def _model(self) -> str:
        """Return the C file with the code."""
        support = frozenset().union(
            *(k.support for k in self.program.kernels),
            *({f"unpack_i{s.layer.weight_bits}"} for s in self.program.steps if s.layer.unpacked),
        )
        calls = [self._call(step) for step in self.program.steps]
        copies = self._copies()
        statements = [*(c.statement for c in calls), *copies]
        parameters = [port.parameter for port in (*self.inputs, *self.outputs)]
        return self._render(
            "model.c",
            support=self._render("support.c", support=support)
            + self._render("narrow.c", support=support)
            + self._render("mve.c", support=support),
            kernels=[self._kernel(k, named) for k, named in self.program.kernels.items()],
            calls=calls,
            copies=copies,
            uses_arena=any("memory" in s for s in statements),
            checked=[*(() if self._inside else parameters), "arena"],
            has_tables=bool(self.program.tables or self.program.constants),
        )

    def _kernel(self, kernel: Kernel, named: Named) -> str:
        return self._render(
            f"kernels/{kernel.template}.c",
            name=self.names.kernel(kernel),
            users=_users(named.users),
            **kernel.context,
        )

    def _tables(self) -> list[dict[str, Any]]:
        """Return what the templates print of each table."""
        rows = [
            (self.names.table(table), table, named.users)
            for table, named in self.program.tables.values()
        ]
        rows += [
            (self.names.constant(value), constant_table(value), ())
            for value in self.program.constants
        ]
        return [self._table(symbol, table, users) for symbol, table, users in rows]

    def _table(self, symbol: str, table: Table, users: tuple[int, ...]) -> dict[str, Any]:
        channel = table.element == "channel"
        return {
            "symbol": symbol,
            "type": f"{self._common['prefix']}_channel" if channel else table.element,
            "channel": channel,
            "length": len(table.data),
            "note": table.note,
            "users": _users(users),
            "data": table.data,
        }

    def _call(self, step: Step) -> Call:
        name = self._layer_name(step)
        result = step.node.results[0]
        label = comment_text(step.node.name)
        what = f"{step.index}: {step.node.op.name} {label}".rstrip()
        read = ", ".join(_type_text(v) for v in step.layer.operands)
        comment = f"{what}, {read} -> {_type_text(result)}"
        return Call(step.index, name, comment, self._statement(step, result))

    def _layer_name(self, step: Step) -> str:
        """Return kind and number of a layer's function, or the op's where there is none."""
        kernel = step.layer.kernel
        if kernel is None:
            return f"{step.node.op.name.partition('.')[2]}_{step.index}"
        return f"{kernel.kind}_{self.program.kernels[kernel].index}"

    def _statement(self, step: Step, result: Value) -> str:
        layer = step.layer
        if moves_nothing(self.program.plan, step.node):
            return ""
        if layer.kernel is None:
            (operand,) = layer.operands
            return self._copy(self._places.of(result), operand, result.type.nbytes)
        tables = [self.names.table(t) for t in layer.tables]
        unpack = ""
        if layer.unpacked:
            packed, tables[0] = tables[0], Place("memory", step.scratch).expression
            unpack = f"{self.names.prefix}_unpack_i{layer.weight_bits}({packed}, {layer.unpacked}, "
            unpack += f"{tables[0]});\n  "
        own = Place("memory", step.scratch + layer.own_scratch).expression
        arguments = [
            *(self._address(v) for v in layer.operands),
            *tables,
            *map(str, layer.arguments),
            *([own] if layer.scratch_bytes > layer.own_scratch else []),
            self._address(result),
        ]
        call = breaks(arguments, f"{self.names.kernel(layer.kernel)}(", ", ", ");", indent=2)
        return unpack + call

    def _address(self, value: Value) -> str:
        """Return a value's address as a pointer of its element type."""
        if value.constant is not None:
            return self.names.constant(value)
        place = self._places.of(value)
        if place.base == "memory" and value.type.dtype.numpy.itemsize > 1:
            return f"(int32_t *)(void *)({place.expression})"
        return place.expression

    def _copies(self) -> list[str]:
        """Return statements for outputs that no layer writes: inputs, constants, repeated ones."""
        if self._inside:
            return []
        statements = [
            self._copy(Place(port.parameter, 0), value, port.bytes)
            for value, port in zip(self.program.graph.outputs, self.outputs, strict=True)
        ]
        return [s for s in statements if s]

    def _copy(self, to: Place, value: Value, nbytes: int) -> str:
        """Return the statement that copies a value, or nothing if it lies there already."""
        if value.constant is None and self._places.of(value) == to:
            return ""
        return f"memcpy({to.expression}, {self._address(value)}, {nbytes});"

    def _test_files(self) -> dict[str, str]:
        """Return the test program that runs the golden vectors."""
        prefix, macro = self._common["prefix"], self._common["macro"]

        def tested(of: tuple[Port, ...]) -> list[firmware.Port]:
            return [
                firmware.Port(
                    f"{macro}_{p.macro}_BYTES", p.type,
                    f"{prefix}_{p.parameter}" if self._inside else None,
                )
                for p in of
            ]  # fmt: skip

        return firmware.firmware_files(
            prefix,
            tested(self.inputs),
            tested(self.outputs),
            arena_bytes=f"{macro}_ARENA_BYTES",
            self_test=bool(self._options.self_test),
        )


def _tested(kind: str, ports: tuple[Port, ...], arrays: tuple[Array, ...]) -> list[dict[str, Any]]:
    """Return what the self-test's template sees of the inputs or outputs."""
    return [
        {"kind": kind, "port": port, "data": array.reshape(len(array), -1)}
        for port, array in zip(ports, arrays, strict=True)
    ]


def _users(steps: tuple[int, ...]) -> str:
    """Return for a comment which layers use something."""
    if not steps:
        return "An operand"
    return f"Layer{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}"


def _type_text(value: Value) -> str:
    """Return element type and shape, without the quantization."""
    return str(value.type.with_quant(None))
