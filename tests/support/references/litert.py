"""Run ``.tflite`` files with LiteRT, the desktop interpreter: the oracle for float32 and uint8."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from support.files.tflite_builder import pack, schema, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def run_litert(
    data: bytes, *frames: Iterable[np.ndarray], shapes: Sequence[tuple[int, ...]] = ()
) -> list[np.ndarray]:
    """Run a model on frames of one array for each input; return each output, [frames, *shape].

    ``shapes`` are those that the inputs get, if they are not those of the file.

    LiteRT's own kernels run, not those of XNNPACK, whose matrix products sum in an order of
    larger error.
    """
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=data,
        num_threads=1,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    places = [detail["index"] for detail in interpreter.get_input_details()]
    for place, shape in zip(places, shapes, strict=False):
        interpreter.resize_tensor_input(place, shape)
    interpreter.allocate_tensors()
    results = [detail["index"] for detail in interpreter.get_output_details()]
    found: list[list[np.ndarray]] = [[] for _ in results]
    for frame in frames:
        for place, array in zip(places, frame, strict=True):
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        for output, place in zip(found, results, strict=True):
            output.append(interpreter.get_tensor(place))
    return [np.stack(arrays) for arrays in found]


def run_reference(data: bytes, *arrays: np.ndarray) -> list[np.ndarray]:
    """Return the outputs of LiteRT's reference kernels for one array for each input."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=data,
        num_threads=1,
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
    )
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def dequantized(data: bytes) -> bytes:
    """Return a dynamic-range model with float32 weights: scale times code, rounded once.

    Other models come back as they are; weights have no zero point.

    LiteRT's hybrid kernels quantize activations of the original during a run; of this one they
    compute in float32.
    """
    model = unpack(data)
    for tensor in model.subgraphs[0].tensors:
        buffer = model.buffers[tensor.buffer]
        if tensor.type != schema.TensorType.INT8 or buffer.data is None:
            continue
        scale = np.asarray(tensor.quantization.scale, np.float32)
        if len(scale) > 1:
            sizes = np.ones(len(tensor.shape), np.int64)
            sizes[tensor.quantization.quantizedDimension] = -1
            scale = scale.reshape(sizes)
        stored = np.asarray(buffer.data, np.uint8).view(np.int8).reshape(tensor.shape)
        reals = scale * stored.astype(np.float32)
        buffer.data = np.frombuffer(reals.astype("<f4").tobytes(), np.uint8)
        tensor.type = schema.TensorType.FLOAT32
        tensor.quantization = None
    return pack(model)
