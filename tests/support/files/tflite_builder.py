"""Make small ``.tflite`` files in tests, and run them with TensorFlow Lite Micro.

A builder makes whatever it is told to: files that no converter would write are what the reader's
tests need. Typical use::

    model = TfliteBuilder()
    x = model.tensor([1, 4], scale=0.5, zero_point=3)
    y = model.tensor([1, 4], scale=1 / 256, zero_point=-128)
    model.operator("LOGISTIC", [x], [y])
    data = model.build(inputs=[x], outputs=[y])
    (expected,) = run_tflm(data, np.zeros((1, 4), np.int8))
"""

from __future__ import annotations

import functools
from typing import Any

import flatbuffers
import numpy as np
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4}
PADDINGS = {"SAME": 0, "VALID": 1}

# Operators whose table of options is not the operator's own name in CamelCase.
_OPTIONS = {
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "BATCH_MATMUL": "BatchMatMulOptions",
    "CONV_3D": "Conv3DOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "PADV2": "PadV2Options",
    "SVDF": "SVDFOptions",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "UnidirectionalSequenceLSTMOptions",
    "LOGISTIC": None,
    "TANH": None,
    "RELU": None,
    "RELU6": None,
    "RELU_N1_TO_1": None,
    "RELU_0_TO_1": None,
    "CUSTOM": None,
}


class TfliteBuilder:
    """Collects tensors and operators, then writes them as one subgraph.

    Attributes:
        model: The object form of the file (classes of the generated schema): change it at will
            between the last call and ``build``.
    """

    def __init__(self) -> None:
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.description = "made by tests"
        self.model.operatorCodes = []
        self.model.buffers = [schema.BufferT()]
        self.model.subgraphs = []
        self.graph = self.subgraph("main")

    def subgraph(self, name: str) -> schema.SubGraphT:
        """Add an empty subgraph; make it ``graph`` to fill it."""
        graph = schema.SubGraphT()
        graph.name, graph.tensors, graph.operators = name, [], []
        graph.inputs = graph.outputs = np.zeros(0, np.int32)
        self.model.subgraphs.append(graph)
        return graph

    def tensor(
        self,
        shape: Any,
        dtype: str = "int8",
        *,
        scale: Any = None,
        zero_point: Any = 0,
        axis: int = 0,
        data: Any = None,
        name: str | None = None,
        signature: Any = None,
    ) -> int:
        """Add a tensor and return its index; with ``data`` it is a constant.

        ``scale`` is None (not quantized), a number, or an array (per channel of ``axis``).
        ``signature`` is the shape with -1 for dimensions that the file leaves open.
        """
        tensor = schema.TensorT()
        tensor.shape = np.asarray(shape, np.int32).reshape(-1)
        tensor.type = getattr(schema.TensorType, dtype.upper())
        tensor.name = f"tensor_{len(self.graph.tensors)}" if name is None else name
        if signature is not None:
            tensor.shapeSignature = np.asarray(signature, np.int32)
        tensor.quantization = schema.QuantizationParametersT()
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            points = np.atleast_1d(np.asarray(zero_point, np.int64))
            tensor.quantization.scale = scales
            tensor.quantization.zeroPoint = np.broadcast_to(points, scales.shape).copy()
            tensor.quantization.quantizedDimension = axis
        if data is not None:
            stored = pack_bits(data, _BITS[dtype]) if dtype in _BITS else data
            tensor.buffer = self._buffer(np.ascontiguousarray(stored, _NUMPY.get(dtype, "u1")))
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def constant(self, data: Any, **options: Any) -> int:
        """Add a constant tensor that takes its shape and element type from ``data``."""
        array = np.asarray(data)
        return self.tensor(array.shape, str(array.dtype), data=array, **options)

    def operator(
        self,
        code: str,
        inputs: list[int],
        outputs: list[int],
        *,
        version: int = 1,
        custom_code: str | None = None,
        **options: Any,
    ) -> int:
        """Add an operator and return its index.

        ``options`` are fields of its table of options in the schema's spelling; ``padding`` and
        ``fusedActivationFunction`` may be given by name.
        """
        operator = schema.OperatorT()
        operator.opcodeIndex = self._code(code, version, custom_code)
        operator.inputs = np.asarray(inputs, np.int32)
        operator.outputs = np.asarray(outputs, np.int32)
        kind = options_class(code)
        if kind is not None:
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            operator.builtinOptions = _fill(getattr(schema, f"{kind}T")(), options)
        elif options:
            raise ValueError(f"{code} has no options")
        self.graph.operators.append(operator)
        return len(self.graph.operators) - 1

    def build(self, inputs: list[int], outputs: list[int]) -> bytes:
        """Write the file."""
        self.graph.inputs = np.asarray(inputs, np.int32)
        self.graph.outputs = np.asarray(outputs, np.int32)
        return pack(self.model)

    def _buffer(self, array: np.ndarray) -> int:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(array.tobytes(), np.uint8)
        self.model.buffers.append(buffer)
        return len(self.model.buffers) - 1

    def _code(self, code: str, version: int, custom_code: str | None) -> int:
        number = getattr(schema.BuiltinOperator, code)
        for index, entry in enumerate(self.model.operatorCodes):
            if (entry.builtinCode, entry.version, entry.customCode) == (
                number,
                version,
                custom_code,
            ):
                return index
        entry = schema.OperatorCodeT()
        entry.deprecatedBuiltinCode = min(number, 127)
        entry.builtinCode = number
        entry.version = version
        entry.customCode = custom_code
        self.model.operatorCodes.append(entry)
        return len(self.model.operatorCodes) - 1


def pack_bits(data: Any, bits: int) -> np.ndarray:
    """Return integers of few bits as bytes: the first in the low bits, the last byte filled up."""
    values = np.asarray(data, np.int64).reshape(-1) & ((1 << bits) - 1)
    parts = np.pad(values, (0, -len(values) % (8 // bits))).reshape(-1, 8 // bits)
    packed: np.ndarray = (parts << np.arange(0, 8, bits)).sum(1).astype(np.uint8)
    return packed


def pack(model: Any) -> bytes:
    """Write the object form of a file."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def unpack(data: bytes) -> Any:
    """Return the object form of a file, to be changed and packed again."""
    return schema.ModelT.InitFromPackedBuf(bytearray(data), 0)


def other_sign(data: bytes) -> bytes:
    """Return the int8 model of a uint8 model, or the reverse: stored values 128 apart."""
    model, kinds = unpack(data), schema.TensorType
    for tensor in model.subgraphs[0].tensors:
        if tensor.type not in (kinds.INT8, kinds.UINT8):
            continue
        offset = 128 if tensor.type == kinds.INT8 else -128
        tensor.type = kinds.INT8 + kinds.UINT8 - tensor.type
        tensor.quantization.zeroPoint = np.asarray(tensor.quantization.zeroPoint) + offset
        buffer = model.buffers[tensor.buffer]
        if buffer.data is not None:
            buffer.data = np.asarray(buffer.data, np.uint8) ^ 0x80
    return pack(model)


def run_tflm(data: bytes, *inputs: np.ndarray) -> list[np.ndarray]:
    """Run a model with TensorFlow Lite Micro on one set of inputs and return its outputs."""
    interpreter = tflm(data)
    for index, value in enumerate(inputs):
        interpreter.set_input(value, index)
    interpreter.invoke()
    return [np.array(interpreter.get_output(index)) for index in range(_output_count(data))]


def tflm(data: bytes, *, preserve: bool = False) -> Any:
    """Return TensorFlow Lite Micro's interpreter of a model.

    With ``preserve`` every tensor can be read after a run: ``GetTensor(tensor, 0)``.
    """
    from tflite_micro import runtime

    config = runtime.InterpreterConfig
    return runtime.Interpreter.from_bytes(
        data,
        arena_size=max(1 << 20, 20 * len(data)),
        intrepreter_config=config.kPreserveAllTensors if preserve else config.kAllocationRecording,
    )


@functools.cache
def options_class(code: str) -> str | None:
    """Return the name of the table of options that operator ``code`` carries, or None."""
    if code in _OPTIONS:
        return _OPTIONS[code]
    name = "".join(part.capitalize() for part in code.split("_")) + "Options"
    return name if hasattr(schema.BuiltinOptions, name) else None


def _fill(table: Any, options: dict[str, Any]) -> Any:
    for name, value in options.items():
        if not hasattr(table, name):
            raise ValueError(f"{type(table).__name__} has no field {name}")
        if isinstance(value, str):
            value = {**ACTIVATIONS, **PADDINGS}.get(value, value)
        setattr(table, name, value)
    return table


def _output_count(data: bytes) -> int:
    return len(unpack(data).subgraphs[0].outputs)


_BITS = {"int4": 4, "int2": 2}
_NUMPY = {
    name: np.dtype(name)
    for name in (
        "float32",
        "int32",
        "uint8",
        "int64",
        "bool",
        "int16",
        "int8",
        "float64",
        "float16",
    )
}
