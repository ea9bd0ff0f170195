"""Settings of the quantization of a network, for users to choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from rlx.calibration.observers import Method
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

MIN_SQNR_DB: Final = 10.0
"""Ratio of signal to noise below which an integer network is not written."""

MIN_AGREEMENT: Final = 0.8
"""Share of samples with the same class below which an integer network is not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the quantization of a network.

    Attributes:
        weights: Bits of every weight, or ``auto`` for a width for each layer.
        observer: Method that chooses the ranges of activations.
        symmetric: Whether activations have the zero point 0.
        equalize: Whether channels are balanced across layers; None for where it helps.
        bias_correction: Whether biases make up for what weights lose on average.
        max_drop: Loss that is allowed, as a share; None for no limit.
        min_sqnr: Ratio of signal to noise, in decibels, below which an output is of no use.
        min_agreement: Share of samples with the same class, likewise.
        bits: Mean bits of a weight that ``auto`` must reach; None for any.
        flash: Bytes of weights that ``auto`` must reach; None for any.
    """

    weights: Literal["8", "4", "2", "auto"] = "8"
    observer: Method = Method.MSE
    symmetric: bool = False
    equalize: bool | None = None
    bias_correction: bool = True
    max_drop: float | None = None
    min_sqnr: float = MIN_SQNR_DB
    min_agreement: float = MIN_AGREEMENT
    bits: float | None = None
    flash: int | None = None

    def __post_init__(self) -> None:
        if self.weights not in ("8", "4", "2", "auto"):
            raise UsageError(
                f"weights of {self.weights!r} bits are not known", hint="use 8, 4, 2 or auto"
            )
        if self.weights != "auto" and (self.bits is not None or self.flash is not None):
            raise UsageError(
                "mean bits and flash choose widths, but every weight is to have"
                f" {self.weights} bits",
                hint="use the weights 'auto'",
            )


def settings_of(**values: Any) -> Settings:  # noqa: ANN401 - what the user typed
    """Return settings from plain values: an observer by name, weights as a number.

    Raises:
        UsageError: A value is not known.
    """
    if isinstance(values.get("weights"), int):
        values["weights"] = str(values["weights"])
    observer = values.get("observer")
    if isinstance(observer, str):
        known = {method.value: method for method in Method}
        if observer not in known:
            raise UsageError(
                f"no observer is called {observer!r}",
                hint=did_you_mean(observer, known, what="observers"),
            )
        values["observer"] = known[observer]
    return Settings(**values)
