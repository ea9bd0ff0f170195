"""Shared code of the sweeps: a model and its results, multipliers, bounds, the comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ops.numerics.fixed_point import Rescale
from support.files.tflite_builder import TfliteBuilder, run_tflm

if TYPE_CHECKING:
    from rlx.ir import Array, Op

Precision: TypeAlias = type[np.float32] | type[np.float64]

PRECISIONS: Mapping[str, Precision] = {"float32": np.float32, "double": np.float64}
CODES = np.arange(-128, 128, dtype=np.int8)

_FAILED_DRAWS = 500


@dataclass(frozen=True)
class Case:
    """A model of one operator, and what it computes with scales combined in each precision.

    Attributes:
        operator: Its name in the schema.
        scales: The scales, for messages.
        ops: The op that rlx must make of it, by the name of a precision.
        operands: The op's operands; the first ``inputs`` of them are the model's inputs.
        build: Writes the model.
        inputs: Number of inputs.
        right: The precision that the reference uses.
        probe: A few of the operands' codes, where the precision shows if it shows at all; None
            for all of them.
    """

    operator: str
    scales: tuple[float, ...]
    ops: Mapping[str, Op]
    operands: tuple[Array, ...]
    build: Callable[[], bytes]
    inputs: int = 1
    right: str = "double"
    probe: tuple[Array, ...] | None = None

    def codes(self, operands: tuple[Array, ...]) -> dict[str, Array]:
        """Return the result's codes by precision."""
        return {name: op.evaluate(*operands)[0] for name, op in self.ops.items()}

    @property
    def tells(self) -> bool:
        """Whether the codes show the precision, where the operator knows more than one."""
        codes = self.codes(self.probe or self.operands)
        right = codes.pop(self.right)
        return all((right != other).any() for other in codes.values())


Draw: TypeAlias = Callable[[np.random.Generator], Case]


def sweep(draw: Draw, count: int, seed: int = 0) -> Iterator[Case]:
    """Yield ``count`` models that tell, the same ones every time."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        for _ in range(_FAILED_DRAWS):
            case = draw(random)
            if case.tells:
                yield case
                break
        else:
            raise AssertionError(f"none of {_FAILED_DRAWS} draws shows the precision")


def check(case: Case) -> None:
    """Compare a model's codes and numbers: those of the reference, ours, and the restated ones."""
    data, inputs = case.build(), case.operands[: case.inputs]
    (wheel,) = run_tflm(data, *inputs)
    graph = tflite.load(data).graph
    (node,) = graph.op_nodes
    values = dict(zip((v.name for v in graph.inputs), inputs, strict=True))
    (found,) = evaluate(graph, values)
    restated = case.ops[case.right]
    if node.op == restated and np.array_equal(found, wheel):
        return
    codes = case.codes(case.operands)
    agree = [name for name, other in codes.items() if np.array_equal(other, wheel)]
    wrong = np.count_nonzero(found != wheel)
    pytest.fail(
        f"{case.operator}, scales {case.scales}: {wrong} of {wheel.size} codes differ\n"
        f"the wheel computes as with scales in {' or '.join(agree) or 'neither precision'}, "
        f"the importer should compute as in {case.right}:\n{restated}, but writes\n{node.op}"
    )


def multiplier(real: float) -> tuple[int, int]:
    """Return ``real`` as multiplier of 31 bits and shift, in exact arithmetic."""
    shift = math.frexp(real)[1]
    number = math.floor(Fraction(real) * Fraction(2) ** (31 - shift) + Fraction(1, 2))
    if number == 1 << 31:
        number, shift = number // 2, shift + 1
    return (number, shift) if shift >= -31 else (0, 0)


def rescale(*reals: float) -> Rescale:
    """Return factors as rlx writes them."""
    multipliers, shifts = zip(*(multiplier(float(r)) for r in reals), strict=True)
    return Rescale(multipliers, shifts)


# Fused activations: their ends as floats, None where there is none.
BOUNDS: Mapping[str, tuple[float | None, float | None]] = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU6": (0.0, 6.0),
    "RELU_N1_TO_1": (-1.0, 1.0),
}


def bounds(precision: Precision, activation: str, scale: float, zero_point: int) -> dict[str, int]:
    """Return ``low`` and ``high`` of a fused activation: quotients rounded, halves away from 0."""
    low, high = (
        end if real is None else zero_point + _round(float(precision(real) / precision(scale)))
        for real, end in zip(BOUNDS[activation], (-128, 127), strict=True)
    )
    return {"low": max(low, -128), "high": min(high, 127)}


def variants(
    make: Callable[[Precision, Precision], Op], activation: str
) -> tuple[dict[str, Op], str]:
    """Return an op by precision, and the right one.

    Without activation the scales are combined in that precision, and with one its ends are
    computed in it: the reference takes double for the former and float32 for the latter.
    """
    if activation == "NONE":
        return {name: make(p, np.float32) for name, p in PRECISIONS.items()}, "double"
    return {name: make(np.float64, p) for name, p in PRECISIONS.items()}, "float32"


def edge(steps: Any, factor: float) -> Any:
    """Return the least product with ``factor``, about ``steps - 0.5``, that rounds to ``steps``.

    A product is rounded twice, first to ``2^shift``: it comes over the half by half of that.
    """
    shift = math.frexp(factor)[1]
    return steps - 0.5 - (2.0 ** (shift - 1) if shift < 0 else 0)


def apart(ops: Mapping[str, Any], halves: Array) -> Array:
    """Return the sums around halves, in pairs, those first for which the ops' factors differ."""
    sums = np.where(np.arange(len(halves)) % 2, np.floor(halves), np.ceil(halves)).astype(np.int64)
    first, second = (op.rescale.apply(sums) for op in ops.values())
    return np.concatenate([sums[first != second], sums])


def draw_scale(random: np.random.Generator, low: float = 1e-3, high: float = 0.5) -> float:
    """Return a float32 scale, log-uniform."""
    return float(np.float32(np.exp(random.uniform(np.log(low), np.log(high)))))


def draw_zero_point(random: np.random.Generator) -> int:
    """Return a zero point, often at the ends of the range."""
    return int(random.choice([-128, 127, 0, int(random.integers(-128, 128))]))


def near(random: np.random.Generator, real: float) -> float:
    """Return a float32 number at most two steps from ``real``."""
    bits = np.float32(real).view(np.int32) + random.integers(-2, 3)
    return float(np.int32(bits).view(np.float32))


def draw_end(random: np.random.Generator, activation: str) -> tuple[float, int]:
    """Return scale and zero point with which an activation's upper end lies at a rounding half."""
    real = BOUNDS[activation][1]
    while True:
        steps = int(random.integers(1, 254 if activation == "RELU6" else 127))
        scale = near(random, real / (steps + 0.5))
        ends = [_round(float(p(real) / p(scale))) for p in PRECISIONS.values()]
        if len(set(ends)) == 2:
            return scale, int(random.integers(-128, 127 - steps))


def unary(
    operator: str, x: Any, result: Any, codes: Array = CODES, **options: Any
) -> Callable[[], bytes]:
    """Return the writer of a model of one input; ``x`` and ``result`` are scale and zero point."""

    def build() -> bytes:
        model = TfliteBuilder()
        given = model.tensor(codes.shape, scale=x[0], zero_point=x[1])
        made = model.tensor(codes.shape, scale=result[0], zero_point=result[1])
        model.operator(operator, [given], [made], **options)
        return model.build([given], [made])

    return build


def _round(real: float) -> int:
    return math.floor(abs(real) + 0.5) * (1 if real >= 0 else -1)
