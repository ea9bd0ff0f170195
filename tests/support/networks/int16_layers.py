"""TFLite models of int16 activations and int8 weights: layers one by one, and small networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.files.tflite_builder import TfliteBuilder

_FILL = {"strideW": 1, "strideH": 1, "dilationWFactor": 1, "dilationHFactor": 1}


class Int16Builder(TfliteBuilder):
    """A builder with layers of random weights.

    Attributes:
        random: Source of weights, biases and scales.
        scales: Scale of each activation, by its tensor.
        shapes: Shape of each activation, by its tensor.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.random = np.random.default_rng(seed)
        self.scales: dict[int, np.float32] = {}
        self.shapes: dict[int, tuple[int, ...]] = {}

    def activation(self, shape: tuple[int, ...], scale: float) -> int:
        """Add an int16 tensor."""
        index = self.tensor(shape, "int16", scale=scale)
        self.scales[index], self.shapes[index] = np.float32(scale), shape
        return index

    def weighted(
        self,
        code: str,
        x: int,
        weights: np.ndarray,
        shape: tuple[int, ...],
        scale: float,
        bias: str | None = "int64",
        *,
        scales: Any = None,
        bound: int = 300_000,
        **options: Any,
    ) -> int:
        """Add a layer with these weights and return its result.

        ``bias`` is its element type, None for no bias.
        """
        axis = 3 if code == "DEPTHWISE_CONV_2D" else 0
        count = weights.shape[axis]
        if scales is None:
            per_channel = count if code != "FULLY_CONNECTED" else 1
            scales = self.random.uniform(0.002, 0.008, per_channel)
        weight_scales = np.atleast_1d(np.asarray(scales, np.float32))
        inputs = [x, self.constant(weights, scale=weight_scales, axis=axis)]
        if bias is not None:
            values = self.random.integers(-bound, bound, count)
            bias_scales = np.broadcast_to(self.scales[x] * weight_scales, count)
            inputs.append(self.tensor([count], bias, data=values, scale=bias_scales))
        result = self.activation(shape, scale)
        self.operator(code, inputs, [result], version=5, **options)
        return result

    def conv(
        self,
        x: int,
        outputs: int,
        kernel: int,
        scale: float,
        bias: str | None = "int64",
        *,
        stride: int = 1,
        depthwise: bool = False,
        padding: str = "SAME",
        activation: str = "NONE",
    ) -> int:
        """Add ``CONV_2D``, or ``DEPTHWISE_CONV_2D`` with ``outputs`` for each channel."""
        batch, height, width, channels = self.shapes[x]
        cut = kernel - 1 if padding == "VALID" else 0
        size = (-(-(height - cut) // stride), -(-(width - cut) // stride))
        options = {**_FILL, "strideW": stride, "strideH": stride, "padding": padding}
        options["fusedActivationFunction"] = activation
        shape = (outputs, kernel, kernel, channels)
        if depthwise:
            outputs *= channels
            shape, options["depthMultiplier"] = (1, kernel, kernel, outputs), outputs // channels
        weights = self.random.integers(-127, 128, shape).astype(np.int8)
        code = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
        return self.weighted(code, x, weights, (batch, *size, outputs), scale, bias, **options)

    def dense(
        self,
        x: int,
        outputs: int,
        scale: float,
        bias: str | None = "int64",
        activation: str = "NONE",
    ) -> int:
        """Add ``FULLY_CONNECTED``."""
        rows, inner = self.shapes[x]
        weights = self.random.integers(-127, 128, (outputs, inner)).astype(np.int8)
        return self.weighted(
            "FULLY_CONNECTED", x, weights, (rows, outputs), scale, bias,
            fusedActivationFunction=activation,
        )  # fmt: skip

    def pool(
        self, code: str, x: int, kernel: int, padding: str = "VALID", activation: str = "NONE"
    ) -> int:
        """Add a pool of square windows side by side; at a border they may be cut."""
        batch, height, width, channels = self.shapes[x]
        sizes = (-(-n // kernel) if padding == "SAME" else n // kernel for n in (height, width))
        result = self.activation((batch, *sizes, channels), float(self.scales[x]))
        self.operator(
            code, [x], [result], strideW=kernel, strideH=kernel, filterWidth=kernel,
            filterHeight=kernel, padding=padding, fusedActivationFunction=activation,
        )  # fmt: skip
        return result

    def binary(self, code: str, x: int, y: int, scale: float, activation: str = "NONE") -> int:
        """Add ``ADD``, ``SUB`` or ``MUL``."""
        result = self.activation(np.broadcast_shapes(self.shapes[x], self.shapes[y]), scale)
        self.operator(code, [x, y], [result], fusedActivationFunction=activation)
        return result

    def reshape(self, x: int, shape: tuple[int, ...]) -> int:
        """Add ``RESHAPE``."""
        result = self.activation(shape, float(self.scales[x]))
        self.operator("RESHAPE", [x], [result], newShape=list(shape))
        return result


def network(seed: int = 0, size: int = 12) -> bytes:
    """Return a network of convolutions of three kinds, a residual sum, pools and a dense layer."""
    model = Int16Builder(seed)
    x = model.activation((1, size, size, 2), 1e-4)
    first = model.conv(x, 8, 3, 2e-4, activation="RELU")
    middle = model.conv(first, 1, 3, 3e-4, depthwise=True, activation="RELU")
    last = model.conv(middle, 8, 1, 2.5e-4, "int32")
    total = model.binary("ADD", first, last, 4e-4, "RELU")
    pooled = model.pool("MAX_POOL_2D", total, 2)
    mean = model.pool("AVERAGE_POOL_2D", pooled, size // 2)
    y = model.dense(model.reshape(mean, (1, 8)), 5, 3e-4)
    return model.build([x], [y])
