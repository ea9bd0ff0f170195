"""Random quantized networks in ONNX and QONNX whose scales are powers of two.

With such scales every number of the network is exact in float32, and many lie at a rounding half of
the next scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from support.files.onnx_builder import helper, model, node

QONNX = "qonnx.custom_op.general"


class _File:
    """The nodes and constants of a network under construction."""

    def __init__(self, seed: int, channels: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.shape = (1, channels, 5, 5)
        self._first = self.shape

    def pick(self, *choices: Any) -> Any:
        """Return one of ``choices``."""
        return choices[int(self.random.integers(len(choices)))]

    def constant(self, array: Any) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array)
        return name

    def apply(self, type_: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its result."""
        name = f"t{len(self.nodes)}"
        domain = {"domain": QONNX} if type_ == "Quant" else {}
        self.nodes.append(helper.make_node(type_, list(inputs), [name], **domain, **attributes))
        return name

    def sign_or_zero(self, x: str) -> str:
        """Return x, or its values above zero only."""
        return self.apply("Relu", x) if self.pick(True, False) else x

    def samples(self, count: int) -> list[Any]:
        """Return inputs: multiples of 1/128, so that many are halves of the first scale."""
        sizes = (self.random.integers(-300, 300, self._first) for _ in range(count))
        return [(n / 128).astype(np.float32) for n in sizes]

    def data(self, result: str) -> bytes:
        """Return the file."""
        self.nodes.append(node("Identity", result, "y"))
        shapes = {"x": list(self._first)}, {"y": None}
        return model(self.nodes, *shapes, self.constants, domains=[QONNX])


class QdqFile(_File):
    """A network with ``QuantizeLinear`` and ``DequantizeLinear``, int8 and uint8 values."""

    def quantized(self, x: str, real: float) -> tuple[str, float]:
        """Return x through integers whose range is about ``real``, and their scale."""
        dtype = self.pick(np.int8, np.uint8)
        middle = 0 if dtype is np.int8 else 128
        point = self.constant(np.array(middle + self.random.integers(-20, 21), dtype))
        scale = 2.0 ** np.round(np.log2(real / 128))
        own = self.constant(np.float32(scale))
        steps = self.apply("QuantizeLinear", x, own, point)
        return self.apply("DequantizeLinear", steps, own, point), scale

    def stored(self, shape: tuple[int, ...], scale: Any, axis: int = 0, bits: int = 8) -> str:
        """Return weights of integers of so many bits."""
        most = 2 ** (bits - 1) - 1
        steps = self.constant(self.random.integers(-most, most + 1, shape).astype(np.int8))
        zeros = self.constant(np.zeros(np.shape(scale), np.int8))
        own = self.constant(np.asarray(scale, np.float32))
        return self.apply("DequantizeLinear", steps, own, zeros, axis=axis)

    def weight_scale(self, outputs: int, bits: int) -> Any:
        """Return a scale, or one for each output."""
        count = () if self.pick(True, False) else outputs
        return 2.0 ** (self.random.integers(0, 3, count) - bits)

    def convolved(self, x: str, scale: float, *, depthwise: bool) -> str:
        """Return a convolution, with a bias half of the time."""
        inputs = self.shape[1]
        outputs = inputs * self.pick(1, 2) if depthwise else self.pick(1, 2, 4, 5)
        bits = self.pick(3, 4, 8)
        scales = self.weight_scale(outputs, bits)
        shape = (outputs, 1 if depthwise else inputs, 3, 3)
        operands = [x, self.stored(shape, scales, bits=bits)]
        if self.pick(True, False):
            steps = np.broadcast_to(scale * scales, outputs).astype(np.float32)
            bias = self.constant(
                self.random.integers(-(2**bits), 2**bits, outputs).astype(np.int32)
            )
            zeros = self.constant(np.zeros(outputs, np.int32))
            own = self.constant(steps)
            operands.append(self.apply("DequantizeLinear", bias, own, zeros, axis=0))
        groups = inputs if depthwise else 1
        self.shape = (1, outputs, *self.shape[2:])
        return self.apply("Conv", *operands, pads=[1, 1, 1, 1], group=groups)

    def layer(self, kind: str, x: str, scale: float, real: float) -> str:
        """Return a layer of some kind."""
        if kind in ("conv", "depthwise"):
            return self.convolved(x, scale, depthwise=kind == "depthwise")
        if kind in ("Add", "Sub", "Mul"):
            other = self.quantized(self.sign_or_zero(x), real / self.pick(1, 4))[0]
            pair = (x, other) if self.pick(True, False) else (other, x)
            return self.apply(kind, *pair)
        if kind in ("Add constant", "Mul constant"):
            shape = self.pick((1, self.shape[1], 1, 1), (1,))
            return self.apply(kind[:3], x, self.stored(shape, real / 128))
        attributes = {"LeakyRelu": {"alpha": 0.25}}.get(kind, {})
        return x if kind == "same" else self.apply(kind, x, **attributes)

    KINDS = ("conv", "depthwise", "Add", "Sub", "Mul", "Add constant", "Mul constant", "LeakyRelu",
             "Sigmoid", "same")  # fmt: skip

    def network(self) -> bytes:
        """Return a file of a few layers."""
        (x, scale), real = self.quantized("x", 2.0), 2.0
        for _ in range(self.pick(1, 2, 4)):
            kind = self.pick(*self.KINDS)
            real *= 2 if kind in ("conv", "depthwise", "same") else 1
            x, scale = self.quantized(self.sign_or_zero(self.layer(kind, x, scale, real)), real)
        if self.pick(True, False):
            return self.data(x)
        size = int(np.prod(self.shape))
        weights = self.stored((size, 5), self.weight_scale(5, 8), axis=1)
        x = self.apply("MatMul", self.apply("Flatten", x), weights)
        return self.data(self.quantized(x, 4 * real)[0])


class QonnxFile(_File):
    """A network with ``Quant`` nodes: 2 to 8 bits, signed or not, on activations and weights.

    Activations are rounded by ``mode``, but for sums and products, which have no other than ROUND.
    """

    def __init__(self, seed: int, channels: int, mode: str = "ROUND") -> None:
        super().__init__(seed, channels)
        self.mode = mode

    def quantized(self, x: str, real: float, mode: str = "") -> str:
        """Return x through integers of some bits whose range is about ``real``."""
        mode = mode or self.mode
        bits, signed = self.pick(2, 3, 4, 6, 8), 0 if mode in ("UP", "DOWN") else self.pick(0, 1)
        steps = 2.0 ** np.round(np.log2(real / 2 ** (bits - signed)))
        point = self.pick(0, 0, 0, 1, 2, 3) if bits > 2 and mode == "ROUND" else 0
        given = {"signed": signed, "narrow": self.pick(0, 0, 1), "rounding_mode": mode}
        return self._quant(x, steps, point, bits, **given)

    def _quant(self, x: str, scale: Any, point: int, bits: int, **attributes: Any) -> str:
        names = [self.constant(np.asarray(v, np.float32)) for v in (scale, point, bits)]
        return self.apply("Quant", x, *names, **{"rounding_mode": "ROUND"} | attributes)

    def weights(self, shape: tuple[int, ...], axis: int = 0) -> str:
        """Return quantized weights with one scale, or one for each output, along ``axis``."""
        bits = self.pick(2, 4, 8)
        wide = self.pick([], [n if a == axis else 1 for a, n in enumerate(shape)])
        scale = 2.0 ** (self.random.integers(-2, 1, wide) - bits)
        real = self.constant((self.random.standard_normal(shape) / 4).astype(np.float32))
        return self._quant(real, scale, 0, bits, signed=1, narrow=1)

    def network(self) -> bytes:
        """Return a file of a few layers."""
        x, real = self.quantized("x", 2.0), 2.0
        for _ in range(self.pick(1, 2, 3)):
            inputs, outputs = self.shape[1], self.pick(2, 4, 6)
            kind = self.pick("conv", "conv", "depthwise", "Add", "Mul", "same")
            if kind in ("Add", "Mul"):
                y = self.apply(kind, x, self.quantized(self.sign_or_zero(x), real / 2))
            elif kind == "same":
                y = x
            else:
                groups = inputs if kind == "depthwise" else 1
                outputs = inputs if kind == "depthwise" else outputs
                w = self.weights((outputs, inputs // groups, 3, 3))
                y = self.apply("Conv", x, w, pads=[1, 1, 1, 1], group=groups)
                self.shape = (1, outputs, *self.shape[2:])
            mode = "ROUND" if kind in ("Add", "Mul") else ""
            x = self.quantized(self.sign_or_zero(y), real, mode)
        if self.pick(True, False):
            return self.data(x)
        size = int(np.prod(self.shape))
        x = self.apply("MatMul", self.apply("Flatten", x), self.weights((size, 7), axis=1))
        signed = int(self.mode not in ("UP", "DOWN"))
        given = {"signed": signed, "narrow": 0, "rounding_mode": self.mode}
        return self.data(self._quant(x, 2.0**-4, 0, 8, **given))


ROUNDING = {
    "ROUND": np.rint,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": lambda x: np.sign(x) * np.floor(np.abs(x)),
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}
"""Rounding modes of QONNX: ``qonnx.custom_op.general.quant.resolve_rounding_mode``."""


def _quant(
    x: Any,
    scale: Any,
    point: Any,
    bits: Any,
    *,
    signed: int,
    narrow: int,
    rounding_mode: bytes = b"ROUND",
) -> Any:
    half = 2.0 ** (bits - 1)
    low, high = (narrow - half, half - 1) if signed else (0, 2 * half - 1 - narrow)
    rounded = ROUNDING[rounding_mode.decode()](np.clip(x / scale + point, low, high))
    return (rounded - point) * scale


def _conv(x: Any, w: Any, *, pads: list[int], group: int) -> Any:
    del pads
    height, width = x.shape[2:]
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    taps = np.stack(
        [padded[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
    )
    taps = taps.reshape(9, 1, group, -1, height, width)
    weights = w.reshape(group, -1, w.shape[1], 9)
    return np.einsum("tngihw,goit->ngohw", taps, weights).reshape(1, -1, height, width)


_COMPUTED = {
    "Quant": _quant,
    "Conv": _conv,
    "Relu": lambda x: np.maximum(x, 0),
    "Add": np.add,
    "Mul": np.multiply,
    "MatMul": np.matmul,
    "Flatten": lambda x: x.reshape(len(x), -1),
    "Identity": lambda x: x,
}


def qonnx_result(data: bytes, x: Any) -> Any:
    """Return the result of a file by QONNX: its definition in float64, which is exact here."""
    graph = onnx.load_from_string(data).graph
    values = {c.name: numpy_helper.to_array(c).astype(np.float64) for c in graph.initializer}
    values["x"] = x.astype(np.float64)
    for made in graph.node:
        attributes = {a.name: helper.get_attribute_value(a) for a in made.attribute}
        operands = [values[name] for name in made.input]
        values[made.output[0]] = _COMPUTED[made.op_type](*operands, **attributes)
    return values["y"]
