"""Random ONNX nodes on quantized values, with many rounding halves: models and inputs."""

from __future__ import annotations

import numpy as np

from support.files.onnx_builder import helper, model

MICROSOFT = "com.microsoft"
BYTES = (np.uint8, np.int8)


class Random:
    """Scales, zero points and integers of a seed."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)

    def pick(self, *values):
        return values[self.draw.integers(len(values))]

    def byte(self):
        return self.pick(*BYTES)

    def scale(self):
        """Return a power of two, a small fraction or any scale."""
        power, fraction = 2.0 ** self.draw.integers(-6, 2), self.draw.integers(1, 20, 2)
        return np.float32(self.pick(power, fraction[0] / fraction[1],
                                    np.exp(self.draw.uniform(-4, 1))))  # fmt: skip

    def integers(self, dtype, *shape):
        return self.draw.integers(0, 256, shape).astype(np.uint8).view(dtype)

    def point(self, dtype):
        return dtype(0) if self.pick(True, False, False) else self.integers(dtype, 1)[0]

    def quant(self, letter, dtype):
        """Return scale and zero point as constants: ``sLETTER`` and ``zLETTER``."""
        return {f"s{letter}": self.scale(), f"z{letter}": self.point(dtype)}

    def weights(self, dtype, axis, *shape):
        """Return weights ``w`` with one scale, or one for each index of an axis."""
        array, count = self.integers(dtype, *shape), shape[axis]
        if self.pick(True, False):
            return {"w": array, **self.quant("w", dtype)}
        scales = np.array([self.scale() for _ in range(count)], np.float32)
        points = self.integers(dtype, count) if self.pick(True, False) else np.zeros(count, dtype)
        return {"w": array, "sw": scales, "zw": points}


def file_of(type_, inputs, attributes, constants, arrays, *, out, domain=MICROSOFT, opset=21):
    """Return a model of one node; ``arrays`` are its inputs by name."""
    names = ["" if n == "_" else n for n in inputs.split()]
    made = helper.make_node(type_, names, ["y"], domain=domain, **attributes)
    inputs = {n: (list(a.shape), a.dtype) for n, a in arrays.items()}
    return model([made], inputs, {"y": (None, out)}, constants, opset=opset,
                 domains=sorted({MICROSOFT, domain} - {""}))  # fmt: skip


def binary(random, type_):
    dtype = random.byte()
    shape = random.pick((48, 64), (1, 64), (48, 1), ())
    arrays = {"a": random.integers(dtype, 48, 64), "b": random.integers(dtype, *shape)}
    constants = {k: v for n in "abc" for k, v in random.quant(n, dtype).items()}
    return file_of(type_, "a sa za b sb zb sc zc", {}, constants, arrays, out=dtype), arrays


def table(random, type_):
    dtype = random.byte()
    arrays = {"a": np.arange(256).astype(np.uint8).view(dtype)}
    constants = {**random.quant("a", dtype), **random.quant("c", dtype)}
    more = {"alpha": float(random.draw.uniform())} if type_ == "QLinearLeakyRelu" else {}
    return file_of(type_, "a sa za sc zc", more, constants, arrays, out=dtype), arrays


def pool(random, type_):
    dtype, last = random.byte(), int(random.draw.integers(2))
    height, width, channels = (int(n) for n in random.draw.integers(1, 7, 3))
    shape = (2, height, width, channels) if last else (2, channels, height, width)
    attributes = {"channels_last": last}
    if type_ == "QLinearAveragePool":
        kernel = [int(random.draw.integers(1, n + 1)) for n in (height, width)]
        pads = [int(random.draw.integers(0, k)) for k in kernel * 2]
        attributes |= {
            "kernel_shape": kernel, "strides": [int(n) for n in random.draw.integers(1, 3, 2)],
            "pads": random.pick(pads, [0] * 4), "count_include_pad": int(random.draw.integers(2)),
        }  # fmt: skip
    arrays = {"a": random.integers(dtype, *shape)}
    constants = {**random.quant("a", dtype), **random.quant("c", dtype)}
    return file_of(type_, "a sa za sc zc", attributes, constants, arrays, out=dtype), arrays


def softmax(random, type_):
    dtype, size = random.byte(), int(random.draw.integers(1, 60))
    shape = random.pick((3, 4, size), (7, size))
    axis = random.pick(-1, int(random.draw.integers(-len(shape), len(shape))))
    constants = {**random.quant("a", dtype), **random.quant("c", dtype)}
    constants["sc"] = np.float32(random.pick(1 / 256, 1 / 255, 0.004, 0.4, 1e-4, 2.0, 1 / 128))
    attributes, arrays = {"axis": axis, "opset": random.pick(11, 13)}, {
        "a": random.integers(dtype, *shape)
    }  # fmt: skip
    return file_of(type_, "a sa za sc zc", attributes, constants, arrays, out=dtype), arrays


def choice(random, type_):
    """Return a concatenation or a choice."""
    dtype = random.byte()
    arrays = {n: random.integers(dtype, 2, 96) for n in "ab"}
    constants = {k: v for n in "abc" for k, v in random.quant(n, dtype).items()}
    if type_ == "QLinearConcat":
        inputs = "sc zc a sa za b sb zb"
        return file_of(type_, inputs, {"axis": 1}, constants, arrays, out=dtype), arrays
    arrays = {"m": random.draw.integers(0, 2, (2, 96)).astype(bool), **arrays}
    return file_of(type_, "m a sa za b sb zb sc zc", {}, constants, arrays, out=dtype), arrays


def _coarse(random, dtype, factor):
    """Return a scale of a result that suits a sum of products."""
    quant = random.quant("c", dtype)
    return {**quant, "sc": np.float32(quant["sc"] * factor)}


def _weight_type(random, dtype):
    # int8 activations with uint8 weights have no kernel.
    return np.int8 if dtype is np.int8 else random.byte()


def conv(random, type_):
    dtype, groups, kernel = random.byte(), random.pick(1, 1, 2, 4), random.pick(1, 3)
    x = random.integers(dtype, 2, 4, 6, 5)
    weights = random.weights(_weight_type(random, dtype), 0, 8, 4 // groups, kernel, kernel)
    constants = {**random.quant("a", dtype), **weights,
                 **_coarse(random, dtype, random.pick(1, 8, 64, 256))}  # fmt: skip
    attributes = {"group": groups, "pads": [kernel // 2] * 4, "strides": [random.pick(1, 2)] * 2}
    inputs, domain = "a sa za w sw zw sc zc", random.pick("", MICROSOFT)
    if random.pick(True, False):
        constants["b"] = random.draw.integers(-20000, 20000, 8).astype(np.int32)
        inputs += " b"
    if domain:
        attributes["channels_last"] = 1
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    made = file_of(type_, inputs, attributes, constants, {"a": x}, out=dtype, domain=domain)
    return made, {"a": x}


def matmul(random, type_):
    dtype, inner = random.byte(), int(random.draw.integers(1, 300))
    stack = random.pick((), (), (2,))
    x = random.integers(dtype, *stack, 7, inner)
    weights = random.weights(_weight_type(random, dtype), 1, inner, 9)
    if stack and random.pick(True, False):
        wide = random.integers(weights["w"].dtype.type, 2, inner, 9)
        weights = {"w": wide, **random.quant("w", wide.dtype.type)}
    constants = {**random.quant("a", dtype), **weights,
                 **_coarse(random, dtype, random.pick(64, 256, 1024))}  # fmt: skip
    inputs = "a sa za w sw zw sc zc"
    return file_of(type_, inputs, {}, constants, {"a": x}, out=dtype, domain=""), {"a": x}


def gemm(random, type_):
    dtype, inner = random.byte(), int(random.draw.integers(1, 300))
    turned = [int(n) for n in random.draw.integers(0, 2, 2)]
    x = random.integers(dtype, *((inner, 7) if turned[0] else (7, inner)))
    shape, axis = ((9, inner), 0) if turned[1] else ((inner, 9), 1)
    constants = {**random.quant("a", dtype), **_coarse(random, dtype, random.pick(64, 1024)),
                 **random.weights(_weight_type(random, dtype), axis, *shape)}  # fmt: skip
    inputs, bias = "a sa za w sw zw", random.pick(None, (9,), (1, 9), (7, 9))
    if bias:
        constants["c"] = random.draw.integers(-30000, 30000, bias).astype(np.int32)
    form = random.pick("", " sc zc", " _ zc")
    inputs += (" c" if bias else " _" if form else "") + form
    constants = {n: a for n, a in constants.items() if n in inputs.split()}
    attributes = {"transA": turned[0], "transB": turned[1], "alpha": random.pick(1.0, 0.5, 1.7)}
    out = dtype if form else np.float32
    return file_of(type_, inputs, attributes, constants, {"a": x}, out=out), {"a": x}


OPERATORS = {
    "QLinearAdd": binary, "QLinearMul": binary, "QLinearSigmoid": table, "QLinearLeakyRelu": table,
    "QLinearAveragePool": pool, "QLinearGlobalAveragePool": pool, "QLinearSoftmax": softmax,
    "QLinearConcat": choice, "QLinearWhere": choice, "QLinearConv": conv, "QLinearMatMul": matmul,
    "QGemm": gemm,
}  # fmt: skip
"""The builder of random models of each operator."""


class Network:
    """A random network of quantized operators on one element type, from image to classes.

    Attributes:
        powers: Whether scales are powers of two, so that sums meet rounding halves.
        float_halves: Whether there are operators whose halves float32 decides where scales are not
            powers of two: averages, sums and products.
    """

    def __init__(self, seed, *, powers, float_halves=True):
        self.random, self.powers, self.float_halves = Random(seed), powers, float_halves
        self.dtype, self.nodes, self.constants = self.random.byte(), [], {}
        self.shapes, self.quants = {}, {}

    def data(self):
        """Return the bytes of the model, of input ``x`` and output ``y``."""
        random, shape = self.random, (1, 3, 8, 8)
        now = self._named(shape, random.draw.uniform(0.02, 0.05))
        self.nodes.append(helper.make_node("QuantizeLinear", ["x", *self.quants[now]], [now]))
        for _ in range(int(random.draw.integers(3, 8))):
            step = random.pick(self.conv, self.conv, self.add, self.mul, self.pool, self.bend,
                               self.concat, self.average)  # fmt: skip
            if self.float_halves or step not in (self.average, self.add, self.mul):
                now = step(now)
        if self.float_halves:
            now = self.unary("QLinearGlobalAveragePool", now, (1, self.shapes[now][1], 1, 1))
        flat = self._named((1, int(np.prod(self.shapes[now]))), like=now)
        self.nodes.append(helper.make_node("Flatten", [now], [flat]))
        now = self.dense(flat)
        self.nodes.append(helper.make_node("DequantizeLinear", [now, *self.quants[now]], ["y"]))
        return model(self.nodes, {"x": list(shape)}, {"y": None}, self.constants, opset=17,
                     domains=[MICROSOFT])  # fmt: skip

    def _named(self, shape, scale=0.0, like=None):
        """Return the name of a new value, with a scale and a zero point or those of another."""
        name = f"v{len(self.shapes)}"
        self.shapes[name] = tuple(shape)
        self.quants[name] = self.quants[like] if like else [f"{name}.s", f"{name}.z"]
        if like is None:
            scale = 2.0 ** np.round(np.log2(scale)) if self.powers else scale
            self.constants[f"{name}.s"] = np.float32(scale)
            self.constants[f"{name}.z"] = self.random.point(self.dtype)
        return name

    def _scale(self, name):
        return float(self.constants[self.quants[name][0]])

    def _node(self, type_, inputs, y, domain=MICROSOFT, **attributes):
        self.nodes.append(helper.make_node(type_, inputs, [y], domain=domain, **attributes))
        return y

    def unary(self, type_, x, shape, factor=1.0, **attributes):
        y = self._named(shape, self._scale(x) * factor)
        return self._node(type_, [x, *self.quants[x], *self.quants[y]], y, **attributes)

    def weights(self, *shape):
        """Return the names of int8 weights, their scale or scales, and their zero point."""
        count = self.random.pick(1, shape[0]) if len(shape) == 4 else 1
        scales = self.random.draw.uniform(0.01, 0.03, count)
        scales = 2.0 ** np.round(np.log2(scales)) if self.powers else scales
        names = [f"w{len(self.constants)}{end}" for end in ("", ".s", ".z")]
        arrays = (self.random.draw.integers(-127, 128, shape).astype(np.int8),
                  np.float32(scales if count > 1 else scales[0]),
                  np.zeros(count if count > 1 else (), np.int8))  # fmt: skip
        self.constants |= dict(zip(names, arrays, strict=True))
        return names

    def bias(self, count):
        name = f"b{len(self.constants)}"
        self.constants[name] = self.random.draw.integers(-4000, 4000, count).astype(np.int32)
        return name

    def conv(self, x):
        _, channels, height, width = self.shapes[x]
        depthwise, kernel = self.random.pick(True, False, False), self.random.pick(1, 3)
        outputs = channels if depthwise else self.random.pick(4, 8)
        names = self.weights(outputs, 1 if depthwise else channels, kernel, kernel)
        grows = self.random.draw.uniform(0.3, 0.6) * np.sqrt(channels * kernel * kernel)
        y = self._named((1, outputs, height, width), self._scale(x) * grows)
        inputs = [x, *self.quants[x], *names, *self.quants[y]]
        if self.random.pick(True, False):
            inputs.append(self.bias(outputs))
        return self._node("QLinearConv", inputs, y, domain="", pads=[kernel // 2] * 4,
                          group=channels if depthwise else 1)  # fmt: skip

    def _pair(self, type_, x, factor):
        others = [n for n, s in self.shapes.items() if s == self.shapes[x]]
        other = others[self.random.draw.integers(len(others))]
        y = self._named(self.shapes[x], max(self._scale(x), self._scale(other)) * factor)
        return self._node(type_, [x, *self.quants[x], other, *self.quants[other],
                                  *self.quants[y]], y)  # fmt: skip

    def add(self, x):
        return self._pair("QLinearAdd", x, 1.4)

    def mul(self, x):
        return self._pair("QLinearMul", x, 2.0)

    def bend(self, x):
        if self.random.pick(True, False):
            return self.unary("QLinearLeakyRelu", x, self.shapes[x], alpha=0.125)
        y = self._named(self.shapes[x], 1 / 256)
        return self._node("QLinearSigmoid", [x, *self.quants[x], *self.quants[y]], y)

    def _halved(self, x):
        batch, channels, height, width = self.shapes[x]
        return None if min(height, width) < 4 else (batch, channels, height // 2, width // 2)

    def pool(self, x):
        shape = self._halved(x)
        if shape is None:
            return x
        y = self._named(shape, like=x)
        return self._node("MaxPool", [x], y, domain="", kernel_shape=[2, 2], strides=[2, 2])

    def average(self, x):
        shape = self._halved(x)
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        return x if shape is None else self.unary("QLinearAveragePool", x, shape, **window)

    def concat(self, x):
        batch, channels, *size = self.shapes[x]
        y = self._named((batch, 2 * channels, *size), self._scale(x))
        inputs = [*self.quants[y], x, *self.quants[x], x, *self.quants[x]]
        return x if channels > 8 else self._node("QLinearConcat", inputs, y, axis=1)

    def dense(self, x):
        inner = self.shapes[x][1]
        names = self.weights(inner, 5)
        y = self._named((1, 5), self._scale(x) * 0.5 * np.sqrt(inner))
        return self._node("QGemm", [x, *self.quants[x], *names, self.bias(5), *self.quants[y]], y)
