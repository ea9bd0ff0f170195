"""Requantization in floating point, proven equal to the integer definition.

``Rescale.apply`` and a clamp map an accumulator to an int8 value by a monotone step function. Two
such functions are equal if they agree on both sides of every step of one of them. So the fast form,
a multiplication, an addition and a truncation in float64, is checked once at the up to 255 steps of
every channel, and used only if it agrees there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from rlx.ops.numerics.fixed_point import INT32_MAX, INT32_MIN, Rounding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rlx.ir.types import Array
    from rlx.ops.numerics.fixed_point import Int64, Rescale

    Take: TypeAlias = Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]]

Float64: TypeAlias = npt.NDArray[np.float64]
Int8: TypeAlias = npt.NDArray[np.int8]
NumberT = TypeVar("NumberT", bound=np.generic)

_BLOCK_ELEMENTS = 1 << 14
"""Elements that are scaled at a time, so that temporaries stay in the cache."""
_SIGN_BIT = np.array(-(2**63), np.int64)
"""Sign of a float64, read as int64."""
_TOP_BIT = np.array(128, np.uint8)
"""Bit that turns ``x + 128`` as uint8 into ``x`` as int8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requantization:
    """The function ``clamp(rescale(x + offset) + zero_point, low, high)``.

    Attributes:
        rescale: One factor, or one for each channel.
        offset: Added first: int64, one value or one for each channel.
        zero_point: Added after scaling.
        low: Minimum of the result.
        high: Maximum of the result.
    """

    rescale: Rescale
    offset: Int64
    zero_point: int
    low: int
    high: int

    def exact(self, x: npt.NDArray[np.integer]) -> Int8:
        """Requantize accumulators ``x``, channels last, by the definition."""
        scaled = self.rescale.apply(x.astype(np.int64) + self.offset)
        values: Int8 = np.clip(scaled + self.zero_point, self.low, self.high).astype(np.int8)
        return values


class AccumulatorRequantizer:
    """Requantizes accumulators, in floating point if that is proven exact.

    Attributes:
        is_fast: Whether the floating-point form was proven exact.
    """

    def __init__(self, what: Requantization, minimum: Int64, maximum: Int64) -> None:
        """Prepare ``what`` for accumulators from ``minimum`` to ``maximum``, by channel."""
        self._what = what
        shift = np.array(what.rescale.shift)
        double = what.rescale.rounding is Rounding.DOUBLE
        # The second of two roundings moves halves away from zero: on the scale of the result,
        # half a unit of the first rounding, to the side of the value's sign.
        tie = np.where(double & (shift < 0), np.ldexp(0.5, np.minimum(shift, 0)), 0.0)
        self._factor: Float64 = np.array(what.rescale.real)
        self._addend: Float64 = self._factor * what.offset
        parity = what.rescale.rounding.to_parity
        self._half = what.zero_point + 128.5
        # Odd part of the zero point, added after the rounding: before, it would change the parity.
        self._last: int | None = None
        if parity is not None:
            self._last = (what.zero_point ^ parity) & 1
            self._half = what.zero_point - self._last
        self._tie: Float64 | None = None
        # In float32 the definition is in floating point itself.
        self.is_fast = what.rescale.rounding is Rounding.FLOAT32
        if self.is_fast:
            return
        points = _points(what, minimum, maximum)
        if points is None:
            return
        expected = what.exact(points)
        self.is_fast = True
        for split in (False,) if parity is not None else (False, True):
            # If no result is below the zero point, all values round as positive ones.
            self._tie = tie if split else None
            self._constant = self._addend + self._half + (0.0 if split else tie)
            if np.array_equal(self._approximate(points), expected):
                return
        self.is_fast = False

    def __call__(self, accumulator: Array) -> Int8:
        """Requantize ``accumulator``: integers in any integer or float type."""
        channels = accumulator.shape[-1] if accumulator.ndim else 1
        rows = np.ascontiguousarray(accumulator).reshape(-1, channels)
        values = np.empty(rows.shape, np.int8)
        for run in self.bind(rows, values, np.empty):
            run()
        return values.reshape(accumulator.shape)

    def bind(self, x: Array, out: Int8, take: Take) -> list[Callable[[], object]]:
        """Return calls that requantize ``x`` into ``out``, which allocate nothing if fast.

        Args:
            x: Accumulators [rows, channels], one run of bytes.
            out: int8 [rows, channels], one run of bytes.
            take: Returns memory for temporaries, which a call need not keep for the next one.
        """
        if not self.is_fast:
            return [partial(self._define, x, out)]
        return self._bind_fast(x, out, take)

    def _define(self, x: Array, out: Int8) -> None:
        out[...] = self._what.exact(x.astype(np.int64))

    def _approximate(self, x: Array) -> Int8:
        """Requantize ``x`` [rows, channels] in floating point."""
        values = np.empty(x.shape, np.int8)
        for run in self._bind_fast(x, values, np.empty):
            run()
        return values

    def _bind_fast(self, x: Array, out: Int8, take: Take) -> list[Callable[[], object]]:
        """Return ``bind`` in floating point."""
        channels = x.shape[-1]
        # Whole rows as one axis, and factors of the same length: NumPy's fastest loops.
        size = max(1, min(_BLOCK_ELEMENTS // max(channels, 1), len(x))) * channels
        if self._what.rescale.rounding is Rounding.FLOAT32:
            return self._bind_float32(x.reshape(-1), out.reshape(-1), size, take)
        numbers, values = x.reshape(-1), out.view(np.uint8).reshape(-1)
        buffer = take((size,), np.float64)
        signs = take((size if self._tie is not None else 0,), np.int64)
        terms = self._terms(size, channels)
        runs: list[Callable[[], object]] = []
        for start in range(0, x.size, size):
            part = numbers[start : start + size]
            y, signed = buffer[: part.size], signs[: part.size]
            runs.append(partial(np.copyto, y, part))
            runs += terms.scale(y, signed)
            if self._last is not None:
                runs += self._even(y, out.reshape(-1)[start : start + size])
                continue
            # Numbers are offset by 128, so that truncation rounds down.
            runs.append(partial(y.clip, self._what.low + 128, self._what.high + 128.5, y))
            value = values[start : start + size]
            runs.append(partial(np.copyto, value, y, casting="unsafe"))
            runs.append(partial(np.bitwise_xor, value, _TOP_BIT, value))
        return runs

    def _bind_float32(
        self, x: Array, out: Int8, size: int, take: Take
    ) -> list[Callable[[], object]]:
        """Return ``bind`` of values whose products are rounded to float32."""
        what = self._what
        offset = _long(np.asarray(what.offset, np.float64), size)
        factor = _long(self._factor.astype(np.float32), size)
        # A float64 holds every sum with the offset.
        sums, products = take((size,), np.float64), take((size,), np.float32)
        runs: list[Callable[[], object]] = []
        for start in range(0, x.size, size):
            part = x[start : start + size]
            count = part.size
            y, z = sums[:count], products[:count]
            runs += [
                partial(np.copyto, y, part),
                partial(np.add, y, offset[:count], y),
                partial(np.copyto, z, y, casting="same_kind"),
                partial(np.multiply, z, factor[:count], z),
                partial(np.rint, z, z),
                partial(np.add, z, np.float32(what.zero_point), z),
                partial(z.clip, np.float32(what.low), np.float32(what.high), z),
                partial(np.copyto, out[start : start + size], z, casting="unsafe"),
            ]
        return runs

    def _even(self, y: Float64, value: Int8) -> Iterator[Callable[[], object]]:
        """Yield the calls that round ``y``, halves to even, into ``value``."""
        yield partial(np.rint, y, y)
        if self._last:
            yield partial(np.add, y, np.array(1.0), y)
        yield partial(y.clip, self._what.low, self._what.high, y)
        yield partial(np.copyto, value, y, casting="unsafe")

    def _terms(self, size: int, channels: int) -> _Terms:
        """Return the factors and the addends for ``size`` values."""

        def long(values: Float64) -> Float64:
            if values.size == 1:
                return values.reshape(())
            return np.ascontiguousarray(np.tile(values.reshape(channels), size // channels))

        if self._tie is None:
            return _Terms(long(self._factor), long(np.asarray(self._constant)), None, self._half)
        tie = long(np.asarray(self._tie, np.float64)).view(np.int64)
        return _Terms(long(self._factor), long(np.asarray(self._addend)), tie, self._half)


def _long(values: npt.NDArray[NumberT], size: int) -> npt.NDArray[NumberT]:
    """Return a value, or the values of the channels, repeated for a block of rows."""
    return np.resize(values, size)


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """The multiplication and the additions of the fast form, element by element.

    Attributes:
        factor: Factors.
        addend: Added to the products.
        tie: Bits of the addend that has the sign of the sum, or None.
        half: Added after that.
    """

    factor: Float64
    addend: Float64
    tie: Int64 | None
    half: float

    def scale(self, y: Float64, signed: Int64) -> Iterator[Callable[[], object]]:
        """Yield the calls that scale ``y`` in place; ``signed`` is memory."""

        def of(term: npt.NDArray[NumberT]) -> npt.NDArray[NumberT]:
            return term[: y.size] if term.ndim else term

        yield partial(np.multiply, y, of(self.factor), y)
        yield partial(np.add, y, of(self.addend), y)
        if self.tie is not None:
            # The tie with the sign of y, by bits: less than half of copysign's time.
            yield partial(np.bitwise_and, y.view(np.int64), _SIGN_BIT, signed)
            yield partial(np.bitwise_or, signed, of(self.tie), signed)
            yield partial(np.add, y, signed.view(np.float64), y)
            yield partial(np.add, y, np.array(self.half), y)


def _points(what: Requantization, minimum: Int64, maximum: Int64) -> Int64 | None:
    """Return accumulators around every step of every channel, [..., channels], within the range.

    None if they cannot be found: a value may wrap, or a step is not within reach.
    """
    factor = np.array(what.rescale.real)
    minimum, maximum, offset, _ = np.broadcast_arrays(minimum, maximum, what.offset, factor)
    ends = np.stack([minimum, maximum])
    shifted = (ends + offset) << np.maximum(np.array(what.rescale.shift), 0)
    if shifted.min() < INT32_MIN or shifted.max() > INT32_MAX:
        return None
    steps = np.arange(what.low + 1, what.high + 1)[:, np.newaxis]
    with np.errstate(divide="ignore"):
        real = (steps - 0.5 - what.zero_point) / factor - offset
    guess = np.clip(np.floor(real), minimum - 1, maximum + 1).astype(np.int64)
    # The first rounding moves a step by up to half a unit of its result: one accumulator, or two
    # where the multiplier is a mean's; truncation of the guess by one more.
    reach = 2 if min(what.rescale.multiplier) >= 1 << 30 else 3
    near = np.arange(-reach, reach + 1).reshape(-1, 1, 1) + guess
    points = np.clip(near, minimum, maximum)
    values = what.exact(points)
    # The step is within reach, unless it is outside the range.
    below = (values[0] < steps) | (near[0] <= minimum)
    above = (values[-1] >= steps) | (near[-1] >= maximum)
    if not (below.all() and above.all()):
        return None
    return np.concatenate([points.reshape(-1, minimum.size), ends])
