"""Check that an integer network is usable: compare its outputs with the float network's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rlx.calibration.settings import MIN_AGREEMENT
from rlx.ir.inspect import printable
from rlx.metrics.classes import ClassForm
from rlx.support.errors import DoesNotFitError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.calibration.settings import Settings
    from rlx.metrics.comparison_result import Comparison, OutputFigures

_SPAN_SHARE: Final = 1 / 64
"""Share of a score's range below which samples without a hit have no signal."""


def check_useful(comparison: Comparison, graph: str, settings: Settings) -> None:
    """Refuse an integer network whose outputs have little to do with those of the float one.

    Args:
        comparison: The float network and the integer one, with layers.
        graph: Name of the network.
        settings: Have the limits.

    Raises:
        DoesNotFitError: An output does not keep them; the message names a layer that lost much,
            and has exit status 3.
    """
    problems = [p for output in comparison.outputs for p in _problems(output, settings)]
    if not problems:
        return
    layer = _lossy_layer(comparison, settings.min_sqnr)
    wide = _wide_hint(settings)
    raise DoesNotFitError(
        "; ".join([*problems, *layer]),
        where=f"graph {graph!r}",
        hint=f"give samples as in use with --calib, or try another --observer{wide};"
        " --min-sqnr -inf --min-agreement 0 writes it all the same",
    )


def is_useful(comparison: Comparison, settings: Settings) -> bool:
    """Return whether every output of the integer network keeps the limits."""
    return not any(True for output in comparison.outputs for _ in _problems(output, settings))


def _wide_hint(settings: Settings) -> str:
    """Return the option for wider weights, as part of a sentence."""
    if settings.weights == "8":
        return ""
    if settings.weights != "auto":
        return ", or --weights auto"
    options = [name for name in ("bits", "flash") if getattr(settings, name) is not None]
    return "".join(f", or more --{name}" for name in options)


def _problems(output: OutputFigures, settings: Settings) -> Iterator[str]:
    """Yield a sentence for each limit that an output does not keep."""
    name, classes = f"output {printable(output.name)!r}", output.classes
    ratio = signal_to_noise(output)
    if ratio < settings.min_sqnr and (classes is None or classes.form is not ClassForm.INDEX):
        yield (
            f"{name} is {ratio:.1f} dB above its quantization noise, less than"
            f" {settings.min_sqnr:g} dB"
        )
    # The largest of several values may be a class or not: only a limit of the user's own applies.
    is_own = settings.min_agreement != MIN_AGREEMENT
    has_limit = classes is not None and (is_own or classes.form is not ClassForm.LARGEST)
    if classes is not None and has_limit and classes.agreement < settings.min_agreement:
        yield (
            f"{name} has the class of the float network for {classes.agreement:.1%} of the"
            f" samples, less than {settings.min_agreement:.4g}"
        )


def signal_to_noise(output: OutputFigures) -> float:
    """Return the ratio of signal to noise in decibels.

    The signal of a score has a minimum: without a hit it is smaller than int8 values hold.
    """
    share = output.closeness.noise_to(output.span * _SPAN_SHARE)
    if not share or not output.closeness.has_signal:
        return math.inf
    return -20 * math.log10(share) if math.isfinite(share) else -math.inf


def lacks_hits(output: OutputFigures) -> bool:
    """Return whether samples use only a small share of an output's range by definition.

    Then its figures say little about samples with a hit, whose inputs may be out of range.
    """
    closeness = output.closeness
    return closeness.noise_to(output.span * _SPAN_SHARE) < closeness.noise_to(0.0)


def _lossy_layer(comparison: Comparison, limit: float) -> tuple[str, ...]:
    """Return the text that names the first layer below the limit, else the one with the lowest.

    Empty if no layer has a signal.
    """
    layers = [layer for layer in comparison.layers if layer.closeness.has_signal]
    if not layers:
        return ()
    below = next((layer for layer in layers if layer.closeness.sqnr_db < limit), None)
    layer = below or min(layers, key=lambda candidate: candidate.closeness.sqnr_db)
    which = "first layer below that" if below else "layer nearest to its noise"
    return (f"{which}: {printable(layer.name)}, {layer.closeness.sqnr_db:.1f} dB",)
