"""Limits on the parts of a model file that rlx reads: one table for every format.

Tests: tests/unit/frontends/test_registry.py
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds on a model file, checked before anything is allocated.

    Attributes:
        file_bytes: Size of a file.
        nodes: Operators of a graph.
        operands: Operands, or results, of one operator.
        tensors: Tensors of a graph, and buffers of a file.
        document_bytes: Size of the text that describes the graph of a ``.rlx`` file.
        rank: Dimensions of a tensor.
        dimension: Size of one dimension, and an integer in an expression of symbols; also a kernel,
            stride, dilation or padding.
        elements: Elements of one input or computed tensor, and of an image with its padding.
        total_elements: Elements of all computed tensors of one frame together.
        operations: Multiply-accumulates of one frame, and steps of operators without products (an
            operator counts at least one step for each element of its result).
        taps: Positions of one window: height times width of a kernel.
        constant_bytes: Bytes of all constant tensors together, counted at each read.
        name_bytes: Bytes of a name that are kept; a longer name is cut.
        nesting: Depth of tables inside tables.
        overlap: Number of times that the objects of a file may cover its bytes. A shared object is
            legal in some formats; without a bound a small file can describe a huge graph.
    """

    file_bytes: int = 512 * MIB
    nodes: int = 8_000
    operands: int = 4_000
    tensors: int = 200_000
    document_bytes: int = 16 * MIB
    rank: int = 8
    dimension: int = 1 << 23
    elements: int = 1 << 23
    total_elements: int = 1 << 27
    operations: int = 1 << 36
    taps: int = 1 << 16
    constant_bytes: int = GIB
    name_bytes: int = KIB
    nesting: int = 64
    overlap: int = 4


DEFAULT_LIMITS = Limits()


def parse_limits(settings: Iterable[str], limits: Limits = DEFAULT_LIMITS) -> Limits:
    """Return ``limits`` with limits changed as the command line says.

    Args:
        settings: ``NAME=NUMBER`` each; a number may be written as ``4e9`` or ``2^32``.
        limits: Limits to change.

    Raises:
        UsageError: A name is unknown, or its number is not an integer from 1.
    """
    names = {f.name.replace("_", "-"): f.name for f in fields(Limits)}
    changes: dict[str, int] = {}
    for setting in settings:
        name, _, text = setting.partition("=")
        field = names.get(name.strip().replace("_", "-"))
        if field is None:
            raise UsageError(
                f"no limit is called {name.strip()!r}",
                hint=did_you_mean(name.strip(), names, what="limits"),
            )
        changes[field] = _number(setting, text.strip())
    return replace(limits, **changes)


def raise_hint(name: str, needed: float | None = None) -> str:
    """Return the hint for a file that is over the limit ``name``."""
    number = "NUMBER" if needed is None else str(needed)
    return (
        f"if the file is to be trusted, raise the limit with --limit "
        f"{name.replace('_', '-')}={number} (in Python: limits=Limits({name}={number}))"
    )


def _number(setting: str, text: str) -> int:
    """Return an integer from 1."""
    base, power, exponent = text.partition("^")
    try:
        value = float(base) ** int(exponent) if power else float(base)
        if value >= 1 and value.is_integer():
            return int(text) if text.isdecimal() else int(value)
    except (ValueError, OverflowError):
        pass
    raise UsageError(
        f"expected NAME=INTEGER with an integer of at least 1, got {setting!r}",
        hint="write it as --limit operations=4e12",
    )
