"""Criteria by which two networks count as equal.

Tests: tests/unit/metrics/test_comparison.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rlx.support.calls import checked_init
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.tables import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rlx.metrics.figures import Closeness


@checked_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Criteria for the outputs of two networks, which must keep all that are set.

    NaN or infinite values fail all criteria.

    Attributes:
        exact: Whether every value must be the same.
        max_abs: Largest absolute difference.
        max_rel: Largest difference relative to the reference, which counts as at least 1e-12.
        cosine: Smallest cosine of the angle between both, as vectors.
        sqnr: Smallest ratio of signal to noise, in decibels.
    """

    exact: bool = False
    max_abs: float | None = None
    max_rel: float | None = None
    cosine: float | None = None
    sqnr: float | None = None

    def __post_init__(self) -> None:
        limits = {"max_abs": self.max_abs, "max_rel": self.max_rel}
        for name, limit in {**limits, "cosine": self.cosine, "sqnr": self.sqnr}.items():
            if limit is not None and (math.isnan(limit) or (name in limits and limit < 0)):
                raise UsageError(f"{name} is {limit}", where="criteria", hint="give a number >= 0")
        if not self.exact and self.limits() == {}:
            raise UsageError(
                "nothing is asked for",
                where="criteria",
                hint="give exact=True, max_abs, max_rel, cosine or sqnr",
            )

    def limits(self) -> dict[str, float]:
        """Return the limits that are set, by name."""
        named = {
            "max_abs": self.max_abs,
            "max_rel": self.max_rel,
            "cosine": self.cosine,
            "sqnr": self.sqnr,
        }
        return {name: limit for name, limit in named.items() if limit is not None}

    def failures(self, figures: Closeness) -> tuple[str, ...]:
        """Return the criteria that are not kept, a sentence each; none if all are."""
        return tuple(self._failures(figures))

    def _failures(self, figures: Closeness) -> Iterator[str]:
        if figures.first_nonfinite is not None:
            first, second = figures.nonfinite
            first_bad = figures.first_nonfinite
            yield f"{first} and {second} numbers are NaN or infinite, the first: {first_bad}"
        if self.exact and figures.unequal:
            place_text = f", the largest difference: {figures.worst}" if figures.worst else ""
            yield f"{figures.unequal} of {figures.count} numbers differ{place_text}"
        if self.max_abs is not None and figures.maximum > self.max_abs:
            largest = text_of(figures.maximum)
            yield f"largest difference {largest} > {self.max_abs:g}: {figures.worst}"
        if self.max_rel is not None and figures.relative > self.max_rel:
            yield f"largest relative difference {text_of(figures.relative)} > {self.max_rel:g}"
        if self.cosine is not None and figures.cosine < self.cosine:
            yield f"cosine {figures.cosine:.8g} < {self.cosine:g}"
        if self.sqnr is not None and figures.sqnr_db < self.sqnr:
            yield f"SQNR {text_of(figures.sqnr_db)} dB < {self.sqnr:g} dB"

    def __str__(self) -> str:
        parts = ["exact"] if self.exact else []
        signs = {"max_abs": "<=", "max_rel": "<=", "cosine": ">=", "sqnr": ">="}
        parts += [f"{name} {signs[name]} {limit:g}" for name, limit in self.limits().items()]
        return ", ".join(parts)


EXACT: Final = Criteria(exact=True)
"""Criteria that every value is the same: for integers, and for two runs of one program."""
STRICT: Final = Criteria(max_abs=1e-4, max_rel=1e-3, cosine=0.9999)
"""Criteria for two forms of a float32 network."""
HALF: Final = Criteria(max_abs=5e-2, max_rel=5e-2, cosine=0.999)
"""Criteria for a network in float16 or bfloat16 against the same in float32."""

PRESETS: Final[Mapping[str, Criteria]] = MappingProxyType(
    {"exact": EXACT, "strict": STRICT, "half": HALF}
)
"""Criteria by their name in ``rlx compare --criteria``."""


def criteria_of(criteria: Criteria | str) -> Criteria:
    """Return criteria, or those of a name in :data:`PRESETS`.

    Raises:
        UsageError: There are none of that name, or it is another object.
    """
    if isinstance(criteria, Criteria):
        return criteria
    if not isinstance(criteria, str):
        raise UsageError(
            f"expected rlx.Criteria or their name, got {criteria!r}",
            where="criteria",
            hint=f"write rlx.Criteria(sqnr=30), or one of {', '.join(PRESETS)}",
        )
    if criteria not in PRESETS:
        raise UsageError(
            f"no criteria are called {criteria!r}",
            where="criteria",
            hint=did_you_mean(criteria, PRESETS, what="their names"),
        )
    return PRESETS[criteria]
