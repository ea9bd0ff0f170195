"""Settings of the quantization of a network, for users to choose.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

from rlx.calibration.layer_settings import read_settings
from rlx.calibration.observers import Method
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx.calibration.layer_settings import SettingsFile

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
        bias_correction: Whether biases compensate for the mean error of the weights.
        max_drop: Loss that is allowed, as a share; None for no limit.
        min_sqnr: Ratio of signal to noise, in decibels, below which an output is unusable.
        min_agreement: Share of samples with the same class, likewise.
        bits: Mean bits of a weight that ``auto`` must reach; None for any.
        flash: Bytes of weights that ``auto`` must reach; None for any.
        balance: Channels that are balanced, one of ``EQUALIZE``, in place of ``equalize``; None for
            its setting.
        file: Settings of single layers, or None.
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
    balance: str | None = None
    file: SettingsFile | None = None

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


def settings_of(
    settings: str | Path | Mapping[str, Any] | None = None,
    **values: Any,  # noqa: ANN401 - what the user typed
) -> Settings:
    """Return settings from plain values: an observer by name, weights as an integer.

    Args:
        settings: Settings of layers: a file, or a mapping of the same form; see
            :mod:`rlx.calibration.layer_settings`.
        values: Attributes of the settings.

    Raises:
        UsageError: A value is not known, or the file says another.
    """
    if isinstance(values.get("weights"), int):
        values["weights"] = str(values["weights"])
    if settings is not None:
        values = _with_file(values, read_settings(settings))
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


def _with_file(values: dict[str, Any], file: SettingsFile) -> dict[str, Any]:
    """Return values with those of a settings file.

    Raises:
        UsageError: The file has another value than the argument.
    """
    defaults = {one.name: one.default for one in fields(Settings)} | {"observer": Method.MSE.value}
    merged = {**values, "file": file}
    for key, stated in file.values.items():
        typed = values.get(key, defaults[key])
        typed = {True: "all", False: "none"}.get(typed, typed) if key == "equalize" else typed
        if typed not in (defaults[key], stated):
            raise UsageError(
                f"{key} is {typed}, and the settings say {stated}",
                where=file.where,
                hint="change it there, or leave the option out",
            )
        merged["balance" if key == "equalize" else key] = stated
    return merged
