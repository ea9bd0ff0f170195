"""Fit the cost model of cells.

``python -m benchmarks.fpga.cell_model`` writes ``rlx_fpga/cell_model.json``: it counts the netlists
of a few hundred cells (half a minute, without synthesis), and fits the factors of the features that
``rlx_fpga.cell_model`` computes of them. To be run when the logic of a cell has changed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import rlx_fpga
from benchmarks.fpga.fit import PRIORS, not_negative
from rlx_fpga.cell_model import breakdown_of
from rlx_fpga.cells.accumulate import Accumulator, Ranges, drain_lanes
from rlx_fpga.cells.arith import ScaledSum
from rlx_fpga.cells.channelwise import Depthwise, GlobalPool, Pool
from rlx_fpga.cells.credit import ResultQueue
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.mvu import MatrixVector
from rlx_fpga.cells.pad import Pad
from rlx_fpga.cells.requantize import Requantize
from rlx_fpga.cells.rom import CyclicRom, Store
from rlx_fpga.cells.softmax import EXPONENTIAL_BITS, Softmax
from rlx_fpga.cells.whole_window import Replay, WholeWindow
from rlx_fpga.cells.width import Gather, Scatter
from rlx_fpga.cells.window import WindowGenerator
from rlx_fpga.structure import structure_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx_fpga.cells.streams import Part
    from rlx_fpga.cells.window import Order

MODEL = Path(rlx_fpga.__file__).parent / "cell_model.json"
KINDS = sorted({*PRIORS["lut"], *PRIORS["ff"]} - {"one"})
EXACT = ("product", "scaled", "multiply")
"""Kinds whose bits cells with products compute exactly, without a formula."""

ROUNDS = 400
SMALLEST = 1e-3


def main() -> None:
    """Count, find the factors, and write them."""
    model = {kind: fitted(rows) for kind, rows in sorted(observations().items())}
    MODEL.write_text(json.dumps(model, indent=1, sort_keys=True) + "\n")


def observations() -> dict[str, list[tuple[dict[str, float], Counter[str]]]]:
    """Return for each kind of cell its numbers and counts, of many of them."""
    found = defaultdict(list)
    for cell in cells():
        for one, counted in _own(cell):
            own = breakdown_of(one)
            assert own is not None
            for kind in EXACT if own.bits else ():
                counted[kind] = 0
            # Cells compute these bits exactly, and sums of adder trees apart from others.
            counted["add"] -= own.bits.get("tree", 0)
            found[type(one).__name__].append((dict(own.numbers), counted))
    return dict(found)


def _own(cell: Part) -> Iterator[tuple[Part, Counter[str]]]:
    """Yield ``cell`` with what is counted in it, but not in its parts; and parts like that."""
    own = breakdown_of(cell)
    assert own is not None
    counted: Counter[str] = Counter()
    for name, structure in structure_of(cell).items():
        if name not in own.parts:
            counted.update(structure.bits)
        elif type(own.parts[name]).__name__ == "AddressGenerator":
            yield own.parts[name], structure.bits
    yield cell, counted


def fitted(rows: list[tuple[dict[str, float], Counter[str]]]) -> dict[str, dict[str, float]]:
    """Return for each kind of logic the factors of numbers, none of them negative."""
    names = sorted({name for numbers, _ in rows for name in numbers})
    terms = np.array([[numbers.get(name, 0) for name in names] for numbers, _ in rows], float)
    scale = np.maximum(terms.max(axis=0), 1)
    found = {}
    for kind in KINDS:
        wanted = np.array([counted[kind] for _, counted in rows], float)
        if not wanted.any():
            continue
        weights = 1 / np.maximum(wanted, 8)
        left = terms / scale * weights[:, None]
        # A little towards nothing, so that numbers that always go together share their part.
        left = np.vstack([left, 1e-4 * np.eye(len(names))])
        right = np.concatenate([wanted * weights, np.zeros(len(names))])
        factors = not_negative(left, right, ROUNDS) / scale
        found[kind] = {
            name: round(float(n), 4) for name, n in zip(names, factors, strict=True) if n > SMALLEST
        }
    return found


def cells() -> Iterator[Part]:
    """Yield cells of all kinds and many sizes."""
    rng = np.random.default_rng(1)
    for bits in (1, 3, 16):
        yield SkidBuffer(bits)
    for count in (2, 3, 5):
        yield Fork(2, count)
    for depth in (2, 3, 5, 8, 20, 32, 33, 65, 100, 500, 513, 3000):
        yield Fifo(2, depth)
    for few, ratio in product((1, 4), (2, 3, 8, 17)):
        yield Gather(few, few * ratio)
        yield Scatter(few * ratio, few)
    for lanes, width, depth, burst in product((1, 8), (8, 20), (3, 8, 21), (1, 3)):
        yield ResultQueue(lanes, width, depth, burst)
    for depth in (2, 3, 9, 30, 64, 100, 200, 500, 1000, 3000):
        yield CyclicRom([*map(int, rng.integers(0, 1 << 16, depth))], 16)
    for pe, taps in product((1, 4), (4, 9)):
        yield Pool("sum", taps=taps, pe=pe)
    yield from _accumulators()
    yield from _arrays(rng)
    yield from _requantizers(rng)
    yield from _windows()
    yield from _whole_windows()
    yield from _sums(rng)
    yield from _global_pools()
    yield from _softmaxes(rng)
    yield from _banked(rng)


def _sums(rng: Any) -> Iterator[Part]:  # noqa: ANN401 - a generator of numbers
    for lanes, bits in product((1, 2, 5), (12, 20, 28)):
        tables = rng.integers(-(1 << bits), 1 << bits, (2, 256)).tolist()
        yield ScaledSum(lanes, tables[0], tables[1])


def _accumulators() -> Iterator[Part]:
    for pe, group, bits in product((1, 2, 6, 16), (1, 3, 9, 100), (12, 20)):
        kinds: list[tuple[int, Literal["sum", "max"]]] = [
            (0, "sum"), (0, "max"), (pe, "sum"), (11, "sum"), (45, "sum"),
        ]  # fmt: skip
        for outputs, kind in kinds:
            bias = np.linspace(-1000, 1000, pe if outputs == pe else 48).astype(np.int64)
            ranges = Ranges(bits, 11 if kind == "sum" else 0, bits + (kind == "sum"))
            if (outputs % pe and drain_lanes(pe, group, 1, outputs) is None) or 0 < outputs < pe:
                continue
            yield Accumulator(
                kind, pe=pe, group=group, term_bits=bits - 2, ranges=ranges, delay=6,
                bias=bias if kind == "sum" else None, outputs=outputs,
            )  # fmt: skip


def _arrays(rng: Any) -> Iterator[Part]:  # noqa: ANN401 - a generator of numbers
    for pe, simd, bits in product((1, 2, 6), (1, 2, 4, 9, 16), (2, 4, 8)):
        high = (1 << (bits - 1)) - 1
        weights = rng.integers(-high, high + 1, (12, simd * 3)).astype(np.int8)
        weights[0, 0] = high
        for logic in (0, pe * simd):
            yield MatrixVector(weights, np.arange(12) * 100, pe=pe, simd=simd, logic=logic)
    for pe, simd in product((1, 3, 8), (1, 4, 9)):
        weights = rng.integers(-127, 128, (pe, simd)).astype(np.int8)
        yield MatrixVector(weights, np.arange(pe) * 100, pe=pe, simd=simd, logic=pe * simd)
    for pe, bits, taps in product((1, 3, 12), (4, 8), (4, 9)):
        high = (1 << (bits - 1)) - 1
        weights = rng.integers(-high, high + 1, (12, taps)).astype(np.int8)
        weights[0, 0] = high
        for logic in (0, pe):
            yield Depthwise(weights, np.arange(12) * 100, channels=12, pe=pe, logic=logic)


def _requantizers(rng: Any) -> Iterator[Part]:  # noqa: ANN401 - a generator of numbers
    for acc, lanes, beats, channels, spread in product(
        (16, 19, 24, 31), (1, 3), (1, 2, 4, 8, 16, 31), (1, 12), (1, 3)
    ):
        shift = -(acc - 11)
        try:
            yield Requantize(
                channels=12, lanes=lanes, acc_width=acc, beat_cycles=beats, zero_point=-5,
                multiplier=[*map(int, rng.integers(1 << 30, (1 << 31) - 1, channels))],
                shift=[*map(int, rng.integers(shift, shift + spread, channels))],
            )  # fmt: skip
        except ValueError:
            # Not every product can be had in so many cycles.
            continue


def _windows() -> Iterator[Part]:
    folds: list[tuple[int, int, Order]] = [(1, 1, "channelwise"), (4, 1, "dense"), (2, 6, "dense")]
    for height, width, blocks, kernel, stride, pad in (
        (12, 10, 3, (3, 3), (1, 1), 1), (12, 10, 1, (3, 3), (1, 1), 0),
        (28, 28, 1, (3, 3), (1, 1), 1), (32, 32, 8, (3, 3), (2, 2), 1),
        (49, 10, 1, (10, 4), (2, 2), 1), (25, 5, 16, (3, 3), (1, 1), 1),
        (96, 96, 2, (3, 3), (2, 2), 1), (48, 48, 8, (3, 3), (1, 1), 1),
        (6, 6, 32, (3, 3), (1, 1), 1), (24, 24, 4, (2, 2), (2, 2), 0),
        (500, 1, 4, (1, 1), (1, 1), 0), (1000, 1, 16, (1, 1), (1, 1), 0),
        (1, 1, 64, (1, 1), (1, 1), 0), (8, 8, 2, (8, 8), (1, 1), 0),
        (13, 9, 5, (5, 3), (1, 1), 2),
    ):  # fmt: skip
        for lanes, repeat, order in folds:
            yield WindowGenerator(
                height=height, width=width, channels=blocks * lanes, lanes=lanes, kernel=kernel,
                stride=stride, padding=((pad, pad), (pad, pad)), repeat=repeat,
                order=order,
            )  # fmt: skip


def _whole_windows() -> Iterator[Part]:
    """Yield whole windows, and what stands in front of them and behind."""
    for height, width, channels, kernel, stride, pad in (
        (49, 10, 1, (10, 4), (2, 2), (4, 1, 5, 1)), (96, 96, 3, (3, 3), (2, 2), (0, 0, 1, 1)),
        (32, 32, 3, (3, 3), (1, 1), (1, 1, 1, 1)), (28, 28, 1, (5, 5), (1, 1), (2, 2, 2, 2)),
        (12, 10, 2, (3, 3), (1, 1), (0, 1, 0, 1)), (500, 3, 4, (8, 3), (1, 1), (3, 1, 4, 1)),
        (40, 200, 1, (1, 7), (1, 2), (0, 3, 0, 3)), (7, 7, 8, (2, 2), (1, 1), (1, 0, 0, 1)),
    ):  # fmt: skip
        top, left, bottom, right = pad
        yield Pad(channels, (height, width), (top, left), (bottom, right), -5)
        window = WholeWindow(
            height=height + top + bottom, width=width + left + right, channels=channels,
            kernel=kernel, stride=stride,
        )  # fmt: skip
        yield window
        for parts, times in product((1, window.lanes // channels, window.lanes), (1, 5, 16)):
            yield Replay(window.lanes, window.lanes // parts, times)


def _softmaxes(rng: Any) -> Iterator[Part]:  # noqa: ANN401 - a generator of numbers
    for count in (1, 2, 3, 5, 10, 12, 30, 100, 1000, 4000):
        yield Softmax(count, rng.integers(0, 1 << EXPONENTIAL_BITS, 256).tolist())


def _banked(rng: Any) -> Iterator[Part]:  # noqa: ANN401 - a generator of numbers
    for depth, width in (
        (1440, 56), (2880, 56), (3328, 40), (4608, 32), (5504, 24), (7680, 60), (12000, 9),
        (7000, 62), (1300, 40), (20000, 8),
    ):  # fmt: skip
        yield CyclicRom([*map(int, rng.integers(0, 1 << width, depth))], width, Store.BANKS)


def _global_pools() -> Iterator[Part]:
    kinds: tuple[Literal["sum", "max"], ...] = ("sum", "max")
    for kind, pixels, lanes, blocks in product(kinds, (1, 9, 64, 125), (1, 4, 16), (1, 2, 12, 64)):
        yield GlobalPool(kind, pixels=pixels, channels=lanes * blocks, lanes=lanes)


if __name__ == "__main__":
    main()
