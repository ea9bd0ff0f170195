"""Files as ONNX Runtime's ``quantize_static`` writes them: three networks in every form."""

from __future__ import annotations

import logging

import numpy as np

from support.files.onnx_builder import helper, onnx

FORMS = ("QDQ", "QOperator")
TYPES = (("QUInt8", "QUInt8"), ("QUInt8", "QInt8"), ("QInt8", "QInt8"))


class _Network:
    """A float network under construction."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.tensors, self.nodes = {}, []

    def weights(self, name, *shape):
        spread = 0.1 if len(shape) == 1 else 1.5 / np.sqrt(np.prod(shape[1:]))
        self.tensors[name] = (self.random.standard_normal(shape) * spread).astype(np.float32)

    def conv(self, x, y, *shape, bias=True, **attributes):
        self.weights(f"{y}.w", *shape)
        inputs = [x, f"{y}.w"]
        if bias:
            self.weights(f"{y}.b", shape[0])
            inputs.append(f"{y}.b")
        self.add("Conv", inputs, y, **attributes)

    def add(self, type_, inputs, y, **attributes):
        names = inputs.split() if isinstance(inputs, str) else inputs
        names = ["" if n == "_" else n for n in names]
        self.nodes.append(helper.make_node(type_, names, [y], name=f"{y}.node", **attributes))

    def model(self, shape, output):
        tensors = [onnx.numpy_helper.from_array(a, n) for n, a in self.tensors.items()]
        ends = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", shape), (output, None))]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], tensors)
        imports = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10), shape


def residual(net):
    """Return a residual sum, a gate, a concatenation, an average pool, a dense layer, a softmax."""
    net.conv("x", "c1", 8, 3, 3, 3, pads=[1] * 4)
    net.add("Relu", "c1", "r1")
    net.conv("r1", "c2", 8, 8, 3, 3, pads=[1] * 4)
    net.add("Add", "r1 c2", "sum")
    net.conv("x", "c3", 4, 3, 1, 1)
    net.add("Sigmoid", "c3", "gate")
    net.add("Concat", "sum gate", "joined", axis=1)
    net.add("AveragePool", "joined", "pooled", kernel_shape=[3, 3], strides=[3, 3])
    net.add("Flatten", "pooled", "flat")
    net.weights("w", 10, 12 * 9)
    net.weights("b", 10)
    net.add("Gemm", "flat w b", "scores", transB=1)
    net.add("Softmax", "scores", "y", axis=1)
    return net.model([1, 3, 9, 9], "y")


def depthwise(net):
    """Return a depthwise block with hard-swish, a clip, a leaky ReLU, gates and global pools."""
    net.conv("x", "c1", 8, 3, 3, 3, pads=[1] * 4, strides=[2, 2])
    net.add("HardSwish", "c1", "h")
    net.conv("h", "d", 8, 1, 3, 3, pads=[1] * 4, group=8)
    net.tensors |= {"low": np.float32(0), "high": np.float32(6)}
    net.add("Clip", "d low high", "limited")
    net.conv("limited", "c2", 8, 8, 1, 1, bias=False)
    net.add("LeakyRelu", "c2", "leaky", alpha=0.1)
    net.add("GlobalAveragePool", "leaky", "mean")
    net.conv("mean", "c3", 8, 8, 1, 1, bias=False)
    net.add("Sigmoid", "c3", "gate")
    net.add("Mul", "leaky gate", "gated")
    net.add("GlobalAveragePool", "gated", "means")
    net.add("Flatten", "means", "flat")
    net.weights("w", 8, 5)
    net.weights("b", 5)
    net.add("MatMul", "flat w", "product")
    net.add("Add", "product b", "y")
    return net.model([1, 3, 10, 10], "y")


def of_one_axis(net):
    """Return convolutions along time with tanh, a max pool, a resize and a concatenation."""
    net.conv("x", "c1", 8, 4, 5, pads=[2, 2])
    net.add("Tanh", "c1", "bent")
    net.add("MaxPool", "bent", "pooled", kernel_shape=[2], strides=[2])
    net.conv("pooled", "c2", 8, 8, 3, pads=[1, 1])
    net.add("Relu", "c2", "r2")
    net.tensors["twice"] = np.float32([1, 1, 2])
    net.add("Resize", "r2 _ twice", "wide", mode="nearest", nearest_mode="floor",
            coordinate_transformation_mode="asymmetric")  # fmt: skip
    net.add("Concat", "wide bent", "joined", axis=1)
    net.conv("joined", "c3", 4, 16, 1)
    net.add("Transpose", "c3", "y", perm=[0, 2, 1])
    return net.model([1, 4, 16], "y")


NETWORKS = {"residual": residual, "depthwise": depthwise, "of one axis": of_one_axis}


def quantized(folder, name, form, types, *, per_channel):
    """Return the bytes of a file of ``quantize_static``, and samples."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    model, shape = NETWORKS[name](_Network(3))
    random = np.random.default_rng(4)

    class Reader(quantization.CalibrationDataReader):
        samples = iter([random.standard_normal(shape).astype(np.float32) for _ in range(12)])

        def get_next(self):
            found = next(self.samples, None)
            return None if found is None else {"x": found}

    plain, ready, made = (folder / f"{n}.onnx" for n in ("plain", "ready", "quantized"))
    onnx.save(model, plain)
    logging.disable(logging.WARNING)
    try:
        quant_pre_process(str(plain), str(ready), skip_symbolic_shape=True)
        activations, weights = (getattr(quantization.QuantType, t) for t in types)
        quantization.quantize_static(
            str(ready), str(made), Reader(), per_channel=per_channel,
            quant_format=getattr(quantization.QuantFormat, form),
            activation_type=activations, weight_type=weights,
        )  # fmt: skip
    finally:
        logging.disable(logging.NOTSET)
    samples = np.random.default_rng(9).standard_normal((16, *shape)).astype(np.float32)
    return made.read_bytes(), samples
