"""Settings of a quantization layer by layer, as TOML: those of a run, to be edited and reused.

A file has the settings of the network, and a table for each layer, by the name that tables of
layers show. A layer has ``bits`` of its weights, and an ``observer`` that chooses the range of its
results, or the ``range`` itself::

    weights = "8"
    observer = "mse"

    [layers.conv1]
    bits = 4
    range = [0.0, 6.0]

Nothing in a file is executed.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.calibration.observers import Method
from rlx.passes.quantize.rounding import LIMITS
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.calibration.report import LayerReport, QuantizationReport

GLOBAL_KEYS: Final = ("weights", "observer", "symmetric", "equalize", "bias_correction")
"""Keys for the whole network, other than its name and the layers."""

LAYER_KEYS: Final = ("bits", "observer", "range")
"""Keys of a layer."""

EQUALIZE: Final = ("none", "before-depthwise", "all")
"""Channels that are balanced: none, those before depthwise layers, those of all pairs of layers."""

UNNAMED: Final = "settings"
"""Name in messages of settings that are a mapping, not a file."""

_MAX_BYTES: Final = 16 << 20
_MAX_LISTED: Final = 5

_HINT: Final = "compare with a file that rlx quantize --write-settings writes"
"""Names that a message lists."""
_MAX_FLOAT: Final = float(np.finfo(np.float32).max)

_HEADER: Final = """\
# Settings of a quantization, written by 'rlx quantize --write-settings FILE'; to use them:
# rlx quantize MODEL --calib SAMPLES --settings FILE -o NET.q.rlx
# A layer has the bits of a weight (8, 4, 2) and, for its results, an observer (min-max,
# moving-average, percentile, mse, kl) or a range that holds whatever the samples are: in place of
# the observer, take the '#' off the line below it.
"""


@dataclass(frozen=True, slots=True)
class LayerSettings:
    """Settings of a layer; None for those of the network.

    Attributes:
        bits: Bits of a weight.
        observer: Method that chooses the range of its results.
        range: The range itself, with zero in it.
    """

    bits: int | None = None
    observer: Method | None = None
    range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """Content of a settings file.

    Attributes:
        where: Path, or a word, for messages.
        network: Name of the network for which it was written, or an empty text.
        values: Settings of the network by the names of ``rlx.quantize``; ``equalize`` is one of
            :data:`EQUALIZE`.
        layers: Settings of layers by name.
    """

    where: str = UNNAMED
    network: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    layers: Mapping[str, LayerSettings] = field(default_factory=dict)

    def matched(self, names: Sequence[str], graph: str) -> dict[int, LayerSettings]:
        """Return the settings of layers by position among those of a network.

        Args:
            names: Name of each layer, in order.
            graph: Name of the network.

        Raises:
            UsageError: A name is none of them.
        """
        positions = {name: position for position, name in enumerate(names)}
        unknown = [name for name in self.layers if name not in positions]
        if unknown:
            raise self._unknown(unknown, names, graph)
        return {positions[name]: settings for name, settings in self.layers.items()}

    def _unknown(self, unknown: Sequence[str], names: Sequence[str], graph: str) -> UsageError:
        """Return the error for names of layers that the network does not have."""
        listed = ", ".join(map(repr, unknown[:_MAX_LISTED]))
        if len(unknown) > _MAX_LISTED:
            listed += f" and {len(unknown) - _MAX_LISTED} more"
        text = f"no layer is called {listed}"
        if len(unknown) > 1:
            text = f"{len(unknown)} of {len(self.layers)} layers are not in the network: {listed}"
        if self.network and self.network != graph:
            text += f"; the settings are of the network {self.network!r}"
        return UsageError(
            text, where=self.where, hint=did_you_mean(unknown[0], names, what="layers")
        )


def settings_text(report: QuantizationReport, *, fix_ranges: bool = False) -> str:
    """Return the settings with which a network was quantized, in the order of its layers.

    Args:
        report: Report of the quantization.
        fix_ranges: Whether layers have the range of their results in place of the observer.

    Raises:
        UsageError: It was quantized with its own scales.
    """
    settings = report.settings
    if settings is None:
        raise UsageError(
            "the network has its own scales, and no settings",
            where=f"graph {report.graph!r}",
            hint="settings are of networks that were quantized with samples",
        )
    lines = [
        _HEADER,
        f"network = {_quoted(report.graph)}",
        f"weights = {_quoted(settings.weights)}",
        f"observer = {_quoted(settings.observer.value)}",
        f"symmetric = {str(settings.symmetric).lower()}",
        f"equalize = {_quoted(report.balanced)}  # {', '.join(EQUALIZE)}",
        f"bias_correction = {str(settings.bias_correction).lower()}",
    ]
    for layer in report.layers:
        lines += [
            "",
            f"[layers.{_quoted(layer.name)}]",
            *_layer_lines(layer, symmetric=settings.symmetric, fix_range=fix_ranges),
        ]
    return "\n".join(lines) + "\n"


def _layer_lines(layer: LayerReport, *, symmetric: bool, fix_range: bool) -> list[str]:
    lines = [f"bits = {layer.bits}"] if layer.weight_values is not None else []
    low, high = layer.results.low, layer.results.high
    if symmetric and layer.zero_point == 0:
        low = -high
    limits = f"[{low!r}, {high!r}]"
    if layer.range_of in ("known", "operand"):
        why = "follows from the op" if layer.range_of == "known" else "is that of its operand"
        return [*lines, f"# its range {limits} {why}"]
    if fix_range or layer.range_of == "settings":
        return [*lines, f"range = {limits}"]
    return [*lines, f"observer = {_quoted(layer.range_of)}", f"# range = {limits}"]


def _quoted(text: str) -> str:
    """Return a text as a basic string of TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def read_settings(source: str | Path | Mapping[str, Any]) -> SettingsFile:
    """Return the settings in a file or in a mapping of the same form.

    Raises:
        UsageError: The file cannot be read, or a key or a value is not known.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        return _checked(_tables(path), str(path))
    return _checked(source, UNNAMED)


def _tables(path: Path) -> Mapping[str, Any]:
    hint = "make one with 'rlx quantize --write-settings FILE'"
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"is larger than {_MAX_BYTES:,} bytes", where=str(path), hint=hint)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"cannot be read: {reason}", where=str(path), hint=hint) from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"expected TOML: {error}", where=str(path), hint=hint) from None


def _checked(values: Mapping[str, Any], where: str) -> SettingsFile:
    """Return settings whose keys and values were checked."""
    _check_keys(values, ("network", *GLOBAL_KEYS, "layers"), where)
    network, layers = values.get("network", ""), values.get("layers", {})
    if not isinstance(network, str):
        raise UsageError(f"network: expected a text, got {network!r}", where=where, hint=_HINT)
    tables = isinstance(layers, dict) and all(isinstance(t, dict) for t in layers.values())
    if not tables or not all(isinstance(name, str) for name in layers):
        raise UsageError(
            "layers: expected a table for each layer",
            where=where,
            hint='write [layers."NAME"], and lines like bits = 4 below it',
        )
    return SettingsFile(
        where=where,
        network=network,
        values={key: _value(key, values[key], where) for key in GLOBAL_KEYS if key in values},
        layers={name: _layer(table, f"{where}, layer {name!r}") for name, table in layers.items()},
    )


def _check_keys(values: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in values:
        if key not in known:
            raise UsageError(
                f"no setting is called {key!r}",
                where=where,
                hint=did_you_mean(str(key), known, what="settings"),
            )


def _value(key: str, value: Any, where: str) -> Any:  # noqa: ANN401 - of a TOML file
    """Return the value of a setting of the whole network."""
    if key == "observer":
        return _method(value, where).value
    if key == "weights":
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        return _choice(key, text, (*map(str, LIMITS), "auto"), where)
    if key == "equalize":
        text = ("all" if value else "none") if isinstance(value, bool) else value
        return _choice(key, text, EQUALIZE, where)
    if not isinstance(value, bool):
        raise UsageError(f"{key}: expected true or false, got {value!r}", where=where, hint=_HINT)
    return value


def _choice(key: str, value: Any, choices: Sequence[str], where: str) -> str:  # noqa: ANN401
    if not isinstance(value, str) or value not in choices:
        raise UsageError(
            f"{key}: expected {', '.join(choices[:-1])} or {choices[-1]}, got {value!r}",
            where=where,
            hint=_HINT,
        )
    return value


def _layer(table: Mapping[str, Any], where: str) -> LayerSettings:
    if "skip" in table:
        raise UsageError(
            "no layer can be skipped: an integer network has no float layers",
            where=where,
            hint="give it bits = 8, and an observer or a range that loses less",
        )
    _check_keys(table, LAYER_KEYS, where)
    if "observer" in table and "range" in table:
        raise UsageError(
            "has both 'observer', which computes a range from samples, and 'range', which sets it",
            where=where,
            hint="delete the line 'observer' to keep the range, or 'range' to compute it",
        )
    bits = table.get("bits")
    whole = isinstance(bits, int) and not isinstance(bits, bool)
    if bits is not None and not (whole and bits in LIMITS):
        raise UsageError(f"bits: expected 8, 4 or 2, got {bits!r}", where=where, hint=_HINT)
    return LayerSettings(
        bits=bits,
        observer=_method(table["observer"], where) if "observer" in table else None,
        range=_range(table["range"], where) if "range" in table else None,
    )


def _method(value: Any, where: str) -> Method:  # noqa: ANN401 - of a TOML file
    known = {method.value: method for method in Method}
    if not isinstance(value, str) or value not in known:
        raise UsageError(
            f"no observer is called {value!r}",
            where=where,
            hint=did_you_mean(str(value), known, what="observers"),
        )
    return known[value]


def _range(value: Any, where: str) -> tuple[float, float]:  # noqa: ANN401 - of a TOML file
    numbers = value if isinstance(value, list | tuple) else ()
    sound = all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers)
    if len(numbers) != 2 or not sound:
        raise UsageError(f"range: expected two numbers, got {value!r}", where=where, hint=_HINT)
    low, high = numbers
    if not -_MAX_FLOAT <= low <= 0 <= high <= _MAX_FLOAT or low == high:
        raise UsageError(
            f"range: expected [low, high] with zero between them, got {value!r}",
            where=where,
            hint=f"zero must be represented exactly; numbers go up to {_MAX_FLOAT:.3g}",
        )
    return float(low), float(high)
