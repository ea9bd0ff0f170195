"""Shared code of the strategies: their case, knobs, codes, zero points, clamps, factors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

from rlx.ir import Array, DType, Graph, Op, QuantParams, TensorType, Value
from rlx.ops.numerics.fixed_point import INT32_MAX, Rescale, Rounding

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Case:
    """A graph, and a value for each of its inputs."""

    graph: Graph
    inputs: dict[str, Array]


@dataclass(frozen=True)
class Knobs:
    """Choices of a caller.

    Attributes:
        size: Bound on shapes: most dimensions are at most some two more than it.
        batch: Largest leading dimension of what has a batch.
        weight_types: Element types of weights.
        roundings: Ways of rounding.
    """

    size: int = 4
    batch: int = 1
    weight_types: tuple[DType, ...] = (DType.I8, DType.I4, DType.I2)
    # Factors in float32 are those of layers only.
    roundings: tuple[Rounding, ...] = tuple(r for r in Rounding if r is not Rounding.FLOAT32)


@dataclass
class Maker:
    """Draws the parts of one case and puts them into its graph.

    Attributes:
        draw: Draws an example of a strategy.
        knobs: The caller's choice.
        graph: The graph that grows.
        inputs: A value for each input so far.
        rounding: Rounding of every factor of the case.
    """

    draw: Draw
    knobs: Knobs
    graph: Graph = field(default_factory=lambda: Graph("case"))
    inputs: dict[str, Array] = field(default_factory=dict)
    rounding: Rounding = field(init=False)

    def __post_init__(self) -> None:
        # Rounding.DOUBLE, which stands first, is what models come with.
        self.rounding = self.pick(*self.knobs.roundings[:1] * 2, *self.knobs.roundings)

    def integer(self, low: int, high: int) -> int:
        """Return a number in [low, high]."""
        return int(self.draw(st.integers(low, high)))

    def pick(self, *choices: Any) -> Any:
        """Return one of ``choices``; failing examples shrink to the first one."""
        return self.draw(st.sampled_from(choices))

    def shape(self, least: int = 1, most: int = 4) -> tuple[int, ...]:
        """Return a shape of ``least`` to ``most`` dimensions, its first one within the batch."""
        rank = self.integer(least, most)
        inner = [self.integer(1, self.knobs.size + 1) for _ in range(rank - 1)]
        return (self.batch(), *inner) if rank > 1 else (self.integer(1, 2 * self.knobs.size),)

    def batch(self) -> int:
        """Return a leading dimension."""
        return self.integer(1, self.knobs.batch)

    def image(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Return an NHWC shape with some channels."""
        return (self.batch(), height, width, self.integer(1, self.knobs.size + 1))

    def codes(self, shape: tuple[int, ...], low: int = -128, high: int = 127) -> Array:
        """Return int8 codes: random ones, the extremes only, or one code everywhere."""
        generator = np.random.default_rng(self.integer(0, 2**16 - 1))
        kind = self.pick(*["random"] * 5, "extremes", "least", "greatest")
        if kind == "random":
            return generator.integers(low, high, shape, np.int8, endpoint=True)
        if kind == "extremes":
            return generator.choice(np.array([low, high], np.int8), shape)
        return np.full(shape, low if kind == "least" else high, np.int8)

    def input(
        self, shape: tuple[int, ...], *, name: str = "x", zero_point: int | None = None
    ) -> Value:
        """Append an input of codes; with ``zero_point`` its type may say what they represent."""
        quant = None
        if zero_point is not None and self.pick(True, False):
            quant = QuantParams.per_tensor(0.5, zero_point)
        value = self.graph.input(name, TensorType(shape, DType.I8, quant))
        self.inputs[name] = self.codes(shape)
        return value

    def zero_point(self) -> int:
        """Return a zero point, often one at the end of the range."""
        return int(self.draw(st.sampled_from((0, -128, 127)) | st.integers(-128, 127)))

    def zero_point_of(self, value: Value) -> int:
        """Return the zero point that the type of ``value`` tells, or any where it tells none."""
        quant = value.type.quant
        return self.zero_point() if quant is None else quant.zero_point[0]

    def clamp(self) -> dict[str, int]:
        """Return attributes ``low`` and ``high``: most often the whole range."""
        low, high = sorted((self.integer(-128, 127), self.integer(-128, 127)))
        low, high = self.pick((-128, 127), (-128, 127), (low, 127), (low, high))
        return {"low": low, "high": high}

    def rescale(self, bound: int, *, typical: int = 0, channels: int = 1) -> Rescale:
        """Return factors that most often bring accumulators to codes all over the range.

        Args:
            bound: Greatest magnitude of an accumulator; no factor makes it overflow int32, shifted
                left or scaled.
            typical: A usual magnitude, a quarter of the greatest one if not given.
            channels: Number of channels; half of the factors are one for each.
        """
        count = channels if channels > 1 and self.pick(True, False) else 1
        bits = (typical or bound // 4).bit_length()
        # Networks whose halves matter have powers of two only.
        powers = self.rounding.to_parity is not None and self.pick(True, False)
        pairs = [self._factor(bound.bit_length(), bits, powers=powers) for _ in range(count)]
        return Rescale(tuple(m for m, _ in pairs), tuple(s for _, s in pairs), self.rounding)

    def _factor(self, bits: int, typical_bits: int, *, powers: bool) -> tuple[int, int]:
        """Return multiplier and shift for numbers of at most ``bits`` bits, usually some fewer."""
        most = 30 - bits
        usual = st.integers(*(max(min(n - typical_bits, most), -31) for n in (5, 8)))
        odd = st.integers(-31, most) | st.sampled_from((-31, -30, most))
        shift = self.draw(self.pick(usual, usual, usual, odd))
        multiplier = self.draw(
            st.integers(2**30, INT32_MAX) | st.sampled_from((2**30, INT32_MAX, 2**30 + 1))
        )
        multiplier = 1 << 30 if powers else multiplier
        return (0, 0) if self.integer(0, 30) == 30 and most >= 0 else (int(multiplier), int(shift))

    def finish(self, op: Op, *operands: Value) -> Case:
        """Append ``op`` as the only output and return the case."""
        value = self.graph.apply(op, *operands, name="op")
        self.graph.output(value, names=["result"])
        return Case(self.graph, self.inputs)
