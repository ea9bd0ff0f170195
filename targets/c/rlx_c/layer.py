"""Lowered form of a node: a C function, the tables that it reads, and the call.

Tests: tests/targets/cortexm/test_program.py
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from rlx.ir import Array, Value


@dataclass(frozen=True, slots=True)
class CodeSize:
    """Parameters of the bytes of a kernel's machine code, apart from the length of its text.

    Attributes:
        per_token: Bytes for each token of the text.
        inlined: Bytes of shared functions that compilers write into it.
        shared: Names and bytes of functions that it calls and other kernels may call too.
    """

    per_token: float = 0.95
    inlined: int = 0
    shared: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One static C function: a template and the constants that it is specialised for.

    Two layers whose kernels are equal call the same function; values that may differ between them
    (tensors, tables, scalar factors) are arguments. A rule that specialises a function for one
    layer only has to put more into ``constants``.

    Attributes:
        kind: Kind of op; its name is ``<kind>_<index>``, local to the file.
        template: Its template: a path without extension.
        constants: Names and values that the template sees, sorted by name.
        support: Names of the shared C functions that it calls.
        size: Parameters of the size of its machine code.
    """

    kind: str
    template: str
    constants: tuple[tuple[str, Hashable], ...]
    support: frozenset[str] = frozenset()
    size: CodeSize = CodeSize()

    @staticmethod
    def of(
        kind: str,
        template: str,
        constants: Mapping[str, Hashable],
        support: tuple[str, ...] = (),
        size: CodeSize = CodeSize(),
    ) -> Kernel:
        """Return the kernel with ``constants`` in canonical order."""
        ordered = tuple(sorted(constants.items()))
        return Kernel(kind, template, ordered, frozenset(support), size)

    @property
    def context(self) -> Mapping[str, Hashable]:
        """The constants by name."""
        return dict(self.constants)


_HASHED_NUMBERS: Final = 1 << 18
"""Numbers of a table that are widened and hashed together."""

_ELEMENT_BYTES: Final = {"int8_t": 1, "uint8_t": 1, "int16_t": 2, "int32_t": 4, "channel": 4}


@dataclass(frozen=True, eq=False)
class ConstantTable:
    """Constant data of a layer, in read-only memory.

    Attributes:
        role: Role in the layer; the symbol is ``<prefix>_<role>_<index>``.
        element: C type of an element: ``int8_t``, ``uint8_t``, ``int16_t``, ``int32_t``, or
            ``channel`` for rows of bias, multiplier and shift.
        data: [n] values, or [n, 3] for ``channel``.
        note: Text of the comment above it.
    """

    role: str
    element: str
    data: Array
    note: str

    @property
    def nbytes(self) -> int:
        """Bytes in read-only memory."""
        return int(self.data.size) * _ELEMENT_BYTES[self.element]

    @cached_property
    def content(self) -> tuple[str, tuple[int, ...], bytes]:
        """A key that is equal for tables of equal content: it ends with a hash of the values."""
        numbers, digest = self.data.reshape(-1), hashlib.sha256()
        for start in range(0, numbers.size, _HASHED_NUMBERS):
            digest.update(numbers[start : start + _HASHED_NUMBERS].astype("<i4").tobytes())
        return self.element, self.data.shape, digest.digest()


@dataclass(frozen=True, slots=True)
class LoweredLayer:
    """A node in C. The call is ``kernel(operands, tables, arguments, scratch, result)``.

    Attributes:
        kernel: The function; None if the result has the operand's bytes: then the layer is only
            a copy, if the plan put the result elsewhere.
        operands: Values that the function reads.
        tables: Constant data.
        arguments: Scalar arguments, int32.
        scratch_bytes: Bytes of the arena that the function uses while it runs.
        macs: Multiplications of weights and activations, padding included.
        instructions: Estimate for the target processor.
        weight_bits: Stored bits of a weight; None without weights.
        packed_bytes: Bytes saved by packing several weights to a byte.
        unpacked: Weights of the first table that are unpacked to bytes at the start of the scratch
            memory before the call; 0: the function reads the table directly.
    """

    kernel: Kernel | None
    operands: tuple[Value, ...]
    tables: tuple[ConstantTable, ...] = ()
    arguments: tuple[int, ...] = ()
    scratch_bytes: int = 0
    macs: int = 0
    instructions: int = 0
    weight_bits: int | None = None
    packed_bytes: int = 0
    unpacked: int = 0

    @property
    def own_scratch(self) -> int:
        """Offset of the function's own scratch memory, in bytes: after the unpacked weights."""
        return -(-self.unpacked // 4) * 4
