"""Make integer networks.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.calibration.own_scales import convert_graph
from rlx.calibration.quantize import quantize_graph
from rlx.calibration.settings import MIN_AGREEMENT, MIN_SQNR_DB, settings_of
from rlx.networks import Model, Network, bound_module
from rlx.support.calls import checked_call
from rlx.support.parallel import workers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx.api.types import EqualizeName, ObserverName, Progress, Weights
    from rlx.calibration.quantize import Quantized
    from rlx.samples.given import Inputs
    from rlx.support.parallel import ExecutorLike


@checked_call
def quantize(
    model: Model,
    calib: Inputs,
    *,
    test: Inputs | None = None,
    weights: Weights = "8",
    observer: ObserverName = "mse",
    symmetric: bool = False,
    equalize: bool | EqualizeName | None = None,
    bias_correction: bool = True,
    max_drop: float | str | None = None,
    min_sqnr: float = MIN_SQNR_DB,
    min_agreement: float | str = MIN_AGREEMENT,
    bits: float | None = None,
    flash: int | str | None = None,
    settings: str | Path | Mapping[str, Any] | None = None,
    executor: ExecutorLike = None,
    progress: Progress | None = None,
) -> Quantized:
    """Return the integer network of a float network, as ``rlx quantize`` does.

    Args:
        model: A float network, as for :func:`rlx.run`.
        calib: Samples from which ranges are taken, as for :func:`rlx.run`; ``y`` or ``labels``
            holds labels.
        test: Other samples, on which the loss is measured; None for the calibration data.
        weights: Bits of every weight, 8, 4 or 2 (ternary); ``"auto"`` chooses for each layer.
        observer: Method that chooses ranges of activations.
        symmetric: Whether activations have the zero point 0.
        equalize: Whether channels are balanced across layers, or only ``"before-depthwise"`` ones;
            None for where it helps.
        bias_correction: Whether biases make up for what weights lose on average.
        max_drop: Allowed loss, as a share: 0.005 or ``"0.5%"`` for half a point of correct
            classes, or of agreement where there are no labels.
        min_sqnr: Ratio of signal to noise, in decibels, that every output must have.
        min_agreement: Share of samples that must keep their class.
        bits: Mean bits of a weight that ``"auto"`` must reach.
        flash: Bytes of weights that ``"auto"`` must reach, such as 65536 or ``"64K"``.
        settings: Settings of layers: a file, or ``{"layers": {"conv1": {"bits": 4}}}``.
        executor: Number of processes, or another executor as for :func:`verify`, that measures
            ranges and the sensitivity of layers.
        progress: Called with a text, what is done and what there is to do.

    Returns:
        An object with ``module`` and ``report``.

    Raises:
        UsageError: The samples or an option do not fit.
        UnsupportedOpError: Something in the network has no integer form.
        DoesNotFitError: The limits cannot be kept.

    Example:
        >>> quantized = rlx.quantize("onnx_to_firmware/digits.onnx", "onnx_to_firmware/calib.npz")
        >>> rlx.run(quantized, "onnx_to_firmware/test.npz").values.shape
        (397, 10)
    """
    used = settings_of(
        settings, weights=weights, observer=observer, symmetric=symmetric, equalize=equalize,
        bias_correction=bias_correction, max_drop=max_drop, min_sqnr=min_sqnr,
        min_agreement=min_agreement, bits=bits, flash=flash,
    )  # fmt: skip
    module, _ = bound_module(model, calib)
    with workers(executor) as pool:
        return quantize_graph(
            module.graph, calib, test=test, settings=used, progress=progress, pool=pool
        )


@checked_call
def convert(
    model: Model,
    *,
    test: Inputs | None = None,
    min_sqnr: float = MIN_SQNR_DB,
    min_agreement: float | str = MIN_AGREEMENT,
) -> Network:
    """Return the integer network of a network that holds its own scales.

    Such as an ONNX file with QuantizeLinear and DequantizeLinear nodes, or a QONNX file: their
    scales, zero points and stored weights are taken as they are, without calibration.

    Args:
        model: As for :func:`rlx.run`.
        test: Samples on which the network is measured, as for :func:`rlx.run`; None for random
            ones over the range of the input's scale.
        min_sqnr: Ratio of signal to noise, in decibels, that every output must have.
        min_agreement: Share of samples whose class must be that of the network, where an output is
            a softmax or an index.

    Raises:
        UnsupportedOpError: Something in the network has no integer form.
        QuantizationError: A value has no scale: the network needs :func:`quantize`.
        DoesNotFitError: The limits are not kept.

    Example:
        >>> exported = rlx.export("digits/digits.rlx", "scaled.onnx")
        >>> rlx.convert("scaled.onnx").name
        'scaled'
    """
    module, _ = bound_module(model)
    settings = settings_of(min_sqnr=min_sqnr, min_agreement=min_agreement)
    return Network(convert_graph(module.graph, test, settings).module)
