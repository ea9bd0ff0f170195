"""Biases that compensate the mean change by quantized weights.

Source: Nagel et al., "Data-free quantization through weight equalization and bias correction"; here
the means of the inputs are measured.

Tests: tests/unit/passes/quantize/test_weights.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.passes.quantize.weighted import Weighted

    Doubles = npt.NDArray[np.float64]


def corrected_bias(layer: Weighted, reals: Doubles, means: Doubles) -> npt.NDArray[Any]:
    """Return the bias with which a layer's results keep their means.

    Args:
        layer: The layer with float weights.
        reals: Real values of its quantized weights, [outputs, terms].
        means: Mean of the inputs of each row, [groups, terms].

    Returns:
        [outputs], in the element type of the layer's bias.
    """
    lost = layer.rows().astype(np.float64) - reals
    groups, terms = means.shape
    shift = (lost.reshape(groups, -1, terms) @ means[..., np.newaxis]).reshape(-1)
    return (layer.bias.astype(np.float64) + shift).astype(layer.bias.dtype)
