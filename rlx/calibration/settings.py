"""Settings of the quantization of a network, for users to choose.

Tests: tests/unit/calibration/test_quantize.py
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import TYPE_CHECKING, Any, Final, Literal

from rlx.calibration.layer_settings import EQUALIZE, UNNAMED, read_settings
from rlx.calibration.observers import Method
from rlx.passes.quantize.scheme import WIDTHS
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean
from rlx.support.text.units import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
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
        known = ("8", "4", "2", "auto")
        if self.weights not in known:
            raise UsageError(
                f"weights of {self.weights!r} bits are not known",
                hint=did_you_mean(str(self.weights), known, what="bits")
                if not str(self.weights).isdecimal()
                else WIDTHS,
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
    """Return settings from plain values: words by name, weights as an integer, shares as texts.

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
    if not isinstance(values.get("equalize"), bool | None):
        values["balance"] = _word("equalize", values.pop("equalize"), EQUALIZE)
    if not isinstance(values.get("observer", Method.MSE), Method):
        methods = [method.value for method in Method]
        values["observer"] = Method(_word("observer", values["observer"], methods))
    for name in ("max_drop", "min_agreement"):
        if values.get(name) is not None:
            values[name] = share_of(values[name], "--" + name.replace("_", "-"))
    if values.get("flash") is not None:
        values["flash"] = _bytes(values["flash"])
    return Settings(**values)


def share_of(value: float | str, option: str) -> float:
    """Return a share from 0 to 1, of a number or a text: ``0.5%`` or ``0.005``.

    Args:
        value: The number or the text.
        option: The option, as it is typed, for messages.

    Raises:
        UsageError: It is another value.
    """
    try:
        is_percent = isinstance(value, str) and value.endswith("%")
        number = float(value.removesuffix("%") if isinstance(value, str) else value)
    except (TypeError, ValueError):
        is_percent, number = False, -1.0
    share = number / 100 if is_percent else number
    if 0 <= share <= 1:
        return share
    is_likely_percent = 1 < number <= 100
    raise UsageError(
        f"expected a share from 0 to 1, got {value!r}",
        where=option,
        hint=f"write {number / 100:g} for {number:g}%"
        if is_likely_percent
        else "write it as 0.5% or 0.005",
    )


def _word(name: str, value: object, known: Sequence[str]) -> str:
    """Return the value of a setting that is one of a few words.

    Raises:
        UsageError: It is another value.
    """
    if isinstance(value, str) and value in known:
        return value
    raise UsageError(
        f"unknown value {value!r}",
        where=name,
        hint=did_you_mean(str(value), known, what="choices"),
    )


def _bytes(value: float | str) -> int:
    """Return a number of bytes, of an integer or a text such as ``64K``.

    Raises:
        UsageError: It is another value.
    """
    number = value
    if isinstance(value, str):
        try:
            number = parse_bytes(value)
        except ValueError:
            number = 0
    if isinstance(number, Integral) and number > 0:
        return int(number)
    raise UsageError(
        f"expected a number of bytes above 0, got {value!r}",
        where="--flash",
        hint="write it as 65536 or 64K",
    )


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
            says = "the settings say" if file.where == UNNAMED else f"{file.where} says"
            raise UsageError(
                f"{_as_typed(key, typed)}, and {says} {_toml(stated)}",
                hint="change it there, or leave the option out",
            )
        merged["balance" if key == "equalize" else key] = stated
    return merged


def _as_typed(key: str, value: object) -> str:
    """Return an argument as text: ``--weights is 4``, or ``--symmetric was given``."""
    name = key.replace("_", "-")
    if value is True or value == "all":
        return f"--{name} was given"
    if value is False or value == "none":
        return f"--no-{name} was given"
    return f"--{name} is {value}"


def _toml(value: object) -> str:
    """Return a value as a settings file has it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)
