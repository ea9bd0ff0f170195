"""File of an emitted network's constants, which firmware finds at an address given at run time.

Layout, little-endian: 32 bytes of header (see :meth:`WeightsFile.content`), then every table at a
multiple of four bytes from the beginning of the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from rlx.ir.hash import structural_hash
from rlx_c.symbols import Symbols
from rlx_c.tables import tables_of
from rlx_cortexm.self_check import table_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Value
    from rlx_c.layer import ConstantTable
    from rlx_c.ports import EntryPort
    from rlx_c.program import LayerStep, LoweredProgram

MAGIC: Final = b"RLXW"
"""First bytes of the file."""

FORMAT: Final = 1
"""Version of the header and of the order of the tables."""

HEADER_BYTES: Final = 32
"""Bytes before the first table."""

CRC_OFFSET: Final = 28
"""Offset of the CRC, the only bytes that it does not cover."""

ALIGNMENT: Final = 4
"""Alignment of the file in memory, and of every table in it."""

LAYOUT_BYTES: Final = 8
"""Bytes of the layout's hash in the header."""

CODE_BYTES: Final = 416
"""Bytes of flash for the check and the tables' addresses, as GCC -O2 makes them for a Cortex-M4."""

VARIABLE_BYTES: Final = 4
"""Bytes of RAM beside the arena: the address of the file."""

_COMMENTS_AND_STRINGS: Final = re.compile(r'/\*.*?\*/|"[^"\n]*"', re.DOTALL)


class StoredSymbols(Symbols):
    """Names of a program whose constants are offsets from the pointer ``weights``.

    Multipliers and shifts that a linked network passes as numbers are elements of ``scales``, the
    last table: they change when a network is trained again.
    """

    def __init__(self, prefix: str, program: LoweredProgram) -> None:
        super().__init__(prefix, program)
        self.tables: list[dict[str, Any]] = tables_of(program, Symbols(prefix, program))
        self._first_scale, scales = _scales(program.steps)
        if scales:
            self.tables.append(_scale_table(prefix, scales))
        self.offsets: dict[str, int] = {}
        end = 0
        for table in self.tables:
            self.offsets[table["symbol"]] = end
            end += _padded(len(table_bytes(table)))
        self.file_bytes = HEADER_BYTES + end

    def table(self, table: ConstantTable) -> str:
        """Return the address of a layer's table."""
        return self._address(super().table(table))

    def constant(self, value: Value) -> str:
        """Return the address of a constant operand."""
        return self._address(super().constant(value))

    def arguments(self, step: LayerStep) -> list[str]:
        """Return the scalar arguments of a layer's call."""
        arguments = super().arguments(step)
        first = self._first_scale.get(step.index)
        if first is None:
            return arguments
        return [f"scales[{first}]", f"scales[{first + 1}]", *arguments[2:]]

    @property
    def scales(self) -> str | None:
        """Address of the multipliers and shifts that layers take as arguments; None without."""
        return self._address(self.tables[-1]["symbol"]) if self._first_scale else None

    def _address(self, symbol: str) -> str:
        row = next(table for table in self.tables if table["symbol"] == symbol)
        offset = self.offsets[symbol]
        address = f"weights + {offset}" if offset else "weights"
        if row["type"] == "int8_t":
            return address
        return f"(const {row['type']} *)(const void *)({address})"


class WeightsFile:
    """The file of one emission.

    Attributes:
        name: Name in the folder.
        layout: Hash of the code and of the order of the tables, 16 hexadecimal digits: code takes
            the files of all emissions with the same.
        bytes: Size.
    """

    def __init__(
        self, program: LoweredProgram, symbols: StoredSymbols, code: str, ports: Sequence[EntryPort]
    ) -> None:
        self.name = f"{symbols.prefix}_weights.bin"
        self.layout = _layout(program, symbols, code, ports)
        self.bytes = symbols.file_bytes
        self._network = bytes.fromhex(structural_hash(program.graph))[:LAYOUT_BYTES]
        self._tables = symbols.tables
        self._offsets = {name: HEADER_BYTES + at for name, at in symbols.offsets.items()}

    def content(self) -> bytes:
        """Return the file.

        The header has the magic, the format (uint32), the layout's hash (8 bytes), the first 8
        bytes of the network's hash, the size of the file (uint32) and the CRC-32 of all other bytes
        (uint32).
        """
        payload = b"".join(_with_padding(table_bytes(table)) for table in self._tables)
        head = struct.pack(
            "<4sI8s8sI", MAGIC, FORMAT, bytes.fromhex(self.layout), self._network, self.bytes
        )
        return head + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload

    def facts(self) -> dict[str, Any]:
        """Return the entry of the manifest."""
        return {"name": self.name, "bytes": self.bytes, "layout": self.layout}

    def context(self) -> dict[str, Any]:
        """Return the parameters of the templates."""
        head = MAGIC + struct.pack("<I", FORMAT)
        return {
            "name": self.name,
            "layout": self.layout,
            "bytes": self.bytes,
            "alignment": ALIGNMENT,
            "header_bytes": HEADER_BYTES,
            "crc_offset": CRC_OFFSET,
            "head": list(head),
            "layout_bytes": list(bytes.fromhex(self.layout)),
            "offsets": self._offsets,
        }


def _layout(
    program: LoweredProgram, symbols: StoredSymbols, code: str, ports: Sequence[EntryPort]
) -> str:
    """Return the hash of everything that firmware and file must agree on, the names left out."""
    text = _COMMENTS_AND_STRINGS.sub(" ", code)
    for name in (symbols.prefix, symbols.prefix.upper()):
        text = re.sub(rf"\b{re.escape(name)}_", "_", text)
    agreed = {
        "format": FORMAT,
        "code": text.split(),
        "tables": [
            [str(t["type"]).removeprefix(symbols.prefix), t["length"]] for t in symbols.tables
        ],
        "ports": [[port.type, list(port.shape), str(port.quant)] for port in ports],
        "arena": [program.arena_bytes, program.alignment],
    }
    digest = hashlib.sha256(json.dumps(agreed, sort_keys=True).encode()).hexdigest()
    return digest[: 2 * LAYOUT_BYTES]


def _scales(steps: Sequence[LayerStep]) -> tuple[dict[int, int], list[int]]:
    """Return the place of each step's multiplier and shift, and all of them.

    A kernel that scales all channels alike takes them as its first two arguments.
    """
    first_scales: dict[int, int] = {}
    scales: list[int] = []
    for step in steps:
        kernel, arguments = step.layer.kernel, step.layer.arguments
        if kernel is not None and arguments and kernel.context.get("per_channel") is False:
            first_scales[step.index] = len(scales)
            scales += arguments[:2]
    return first_scales, scales


def _scale_table(prefix: str, scales: Sequence[int]) -> dict[str, Any]:
    return {
        "symbol": f"{prefix}_scales",
        "type": "int32_t",
        "channel": False,
        "length": len(scales),
        "note": "multiplier and shift of each layer that has one pair for all channels",
        "users": "Layers with one scale",
        "data": scales,
    }


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _with_padding(content: bytes) -> bytes:
    return content + bytes(_padded(len(content)) - len(content))
