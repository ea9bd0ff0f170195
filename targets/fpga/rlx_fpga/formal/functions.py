"""Proofs of cells that compute a function of every element.

Tests: tests/targets/fpga/formal/test_induction.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from amaranth import Cat, Signal, Value, signed

from rlx_fpga.cells.table import ENTRIES
from rlx_fpga.formal.bench import ProofBench, Transfer, Watch, register

if TYPE_CHECKING:
    from collections.abc import Sequence


def clamp(bench: ProofBench) -> None:
    """Every element between two bounds, in order; one outside becomes the nearer bound."""
    cell = bench.cell
    # All 256 results as a list: not the comparisons of the cell.
    entries = np.clip(np.arange(-128, 128), cell.low, cell.high).tolist()
    _looked_up(bench, entries, 8)


def table(bench: ProofBench) -> None:
    """The table's entry for every code, in order."""
    _looked_up(bench, bench.cell.table, bench.cell.width)


def offset(bench: ProofBench) -> None:
    """Every element plus the offset, in order and without overflow."""
    cell = bench.cell
    # The result less the offset is the element, also in more bits than either has.
    bits = cell.out_bits + 2
    elements, results = cell.i.payload, cell.o.payload
    expected = [_fitted(bench, elements[n], bits, f"element_{n}") for n in range(cell.lanes)]
    actual = [
        _fitted(bench, results[n] - cell.offset, bits, f"result_{n}") for n in range(cell.lanes)
    ]
    _computes(bench, expected, actual)


def _looked_up(bench: ProofBench, entries: Sequence[int], width: int) -> None:
    lanes = range(bench.cell.lanes)
    # In the order of two's complement.
    by_bits = [*entries[ENTRIES // 2 :], *entries[: ENTRIES // 2]]
    codes, results = bench.cell.i.payload, bench.cell.o.payload
    wanted = [bench.listed(codes[n], by_bits, width, f"entry_{n}") for n in lanes]
    _computes(bench, wanted, [results[n] for n in lanes])


def _computes(bench: ProofBench, expected: Sequence[Value], actual: Sequence[Value]) -> None:
    """State that each output beat, ``actual``, is ``expected`` for the input beats."""
    offer, given = bench.source("i"), bench.sink("o")
    arrive = Transfer(offer.offered, offer.accepted, Cat(*expected))
    leave = Transfer(given.offered, given.accepted, Cat(*actual))
    watch = Watch(bench, "beats", arrive, leave, 1, len(leave.codes))
    watch.flows(leave.offered, 2)
    bench.moves(["i"], ["o"], 1)
    watch.held_in((register(leave.codes), leave.offered))


def _fitted(bench: ProofBench, value: Value, bits: int, name: str) -> Value:
    """Return ``value`` as two's complement of ``bits`` bits."""
    found = Signal(signed(bits), name=name)
    bench.m.d.comb += found.eq(value)
    return found
