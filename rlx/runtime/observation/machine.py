"""Limits of a machine: set by the caller, or measured in about a second.

Tests: tests/unit/runtime/observation/test_roofline.py
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir import DType

_PEAK_S: Final = 0.25
_BANDWIDTH_S: Final = 0.1
_CALLS_S: Final = 0.05
"""Seconds for each figure that is measured."""

_LEVELS: Final = (
    (128 << 10, 1 << 20),
    (1 << 20, 8 << 20),
    (8 << 20, 64 << 20),
    (64 << 20, 1 << 40),
)
"""Bytes that are read and written to measure bandwidth, and those up to which it is used.

Data of a size between are assumed to be as fast as smaller ones, so that bounds stay lower bounds.
"""

_PEAK_SIZES: Final = (256, 512)
"""Rows and columns of the matrices that are multiplied: milliseconds, so that some products are not
interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Limits of a device.

    Attributes:
        name: Name in reports.
        device: The device that it describes, such as ``cpu``.
        flops: Operations a second, a multiply-accumulate as two, by element type; ``f32`` at least.
            Types that are not among them count as ``f32``, those of 64 bits as ``f64``.
        bandwidth: Bytes a second that are read or written, for data up to a number of bytes,
            ascending; larger data have the last one.
        overhead_s: Seconds of overhead of the call of a step.
    """

    name: str
    device: str = "cpu"
    flops: Mapping[str, float]
    bandwidth: tuple[tuple[int, float], ...]
    overhead_s: float = 0.0

    def __post_init__(self) -> None:
        rates = [*self.flops.values(), *(rate for _, rate in self.bandwidth)]
        sizes = [size for size, _ in self.bandwidth]
        if "f32" not in self.flops or not sizes:
            raise self._refuse("needs flops of f32 and a bandwidth")
        if not all(math.isfinite(rate) and rate > 0 for rate in rates) or sizes != sorted(sizes):
            raise self._refuse("rates must be positive, and sizes of bandwidths ascending")
        if not (math.isfinite(self.overhead_s) and self.overhead_s >= 0):
            raise self._refuse(f"an overhead of {self.overhead_s} s makes no sense")

    def _refuse(self, message: str) -> UsageError:
        return UsageError(
            message,
            where=f"machine {self.name!r}",
            hint="give flops={'f32': 1e11}, bandwidth=((1 << 30, 2e10),)",
        )

    def peak(self, dtype: DType) -> float:
        """Return operations a second on elements of a type."""
        own = self.flops.get(dtype.value)
        if own is None and dtype.bits == 64:
            own = self.flops.get("f64")
        return self.flops["f32"] if own is None else own

    def rate(self, nbytes: int) -> float:
        """Return bytes a second for data of ``nbytes`` bytes."""
        for size, rate in self.bandwidth:
            if nbytes <= size:
                return rate
        return self.bandwidth[-1][1]

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values, which :meth:`from_json` reads."""
        return {
            "name": self.name,
            "device": self.device,
            "flops": dict(self.flops),
            "bandwidth": [list(level) for level in self.bandwidth],
            "overhead_s": self.overhead_s,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Machine:
        """Return the machine that ``as_json`` described.

        Raises:
            UsageError: Something is missing or of a wrong type.
        """
        try:
            return Machine(
                name=str(data["name"]),
                device=str(data.get("device", "cpu")),
                flops={str(k): float(v) for k, v in data["flops"].items()},
                bandwidth=tuple((int(size), float(rate)) for size, rate in data["bandwidth"]),
                overhead_s=float(data.get("overhead_s", 0.0)),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            reason = f"has no {e}" if isinstance(e, KeyError) else str(e)
            raise UsageError(
                f"expected the description of a machine: {reason}",
                where="machine",
                hint="write what Machine.as_json() returns",
            ) from None


def measure_machine(name: str = "this processor") -> Machine:
    """Return the limits of this processor as NumPy reaches them, measured in about a second.

    With the current number of threads of NumPy's matrix products. Nothing is stored.
    """
    overhead = _overhead()
    types = ("f32", np.float32), ("f64", np.float64)
    flops = {short: max(_flops(dtype, n) for n in _PEAK_SIZES) for short, dtype in types}
    bandwidth = tuple((upto, _bandwidth(size, overhead)) for size, upto in _LEVELS)
    return Machine(name=name, flops=flops, bandwidth=bandwidth, overhead_s=overhead)


def _flops(dtype: type[np.floating[Any]], size: int) -> float:
    a = np.full((size, size), 0.5, dtype)
    b, out = a.copy(), np.empty_like(a)
    return 2 * size**3 / _fastest(lambda: np.matmul(a, b, out=out), _PEAK_S / len(_PEAK_SIZES))


def _bandwidth(nbytes: int, overhead: float) -> float:
    """Return the better one of a copy and of work in place, on ``nbytes`` bytes."""
    source = np.ones(nbytes // 8, np.float32)
    target = np.empty_like(source)
    whole = np.ones(nbytes // 4, np.float32)
    copy = _fastest(lambda: np.copyto(target, source), _BANDWIDTH_S / 2)
    in_place = _fastest(lambda: np.negative(whole, whole), _BANDWIDTH_S / 2)
    smallest = min(copy, in_place / 2)
    # The call is counted separately; a clock too coarse to see the rest must not divide by zero.
    return nbytes / max(smallest - overhead, smallest / 10)


def _overhead() -> float:
    """Return the seconds of the smallest call of NumPy."""
    a = np.zeros(1, np.float32)
    # One call is shorter than the resolution of some clocks.
    calls = 200

    def many() -> None:
        for _ in range(calls):
            np.negative(a, a)

    return _fastest(many, _CALLS_S) / calls


def _fastest(run: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of a call, in seconds, of those that fit in some time."""
    run()
    end = time.perf_counter() + seconds
    best = math.inf
    while True:
        begin = time.perf_counter()
        run()
        now = time.perf_counter()
        best = min(best, now - begin)
        if now >= end:
            return best
