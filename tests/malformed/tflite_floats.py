"""Models on float32, and with float32 at their ends, that contradict themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import CODES, one
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable


def sound_floats() -> bytes:
    """Return a small model on float32 without a defect, with weights of three types."""
    random = np.random.default_rng(0)
    model = TfliteBuilder()
    x = model.tensor((1, 6, 6, 2), "float32", name="x")
    w = model.constant(
        random.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8),
        scale=[0.01, 0.02, 0.03, 0.04], name="w",
    )  # fmt: skip
    bias = model.constant(np.arange(4, dtype=np.float32), name="b")
    conv = model.tensor((1, 6, 6, 4), "float32", name="conv")
    half = model.constant(random.normal(size=(1, 3, 3, 4)).astype(np.float16), name="half")
    wide = model.tensor((1, 3, 3, 4), "float32", name="wide")
    zeros = model.constant(np.zeros(4, np.float32), name="zeros")
    depth = model.tensor((1, 3, 3, 4), "float32", name="depth")
    size = model.constant(np.array([6, 4], np.int32), name="size")
    resized = model.tensor((1, 6, 4, 4), "float32", name="resized")
    slopes = model.constant(random.normal(size=(1, 1, 4)).astype(np.float32), name="slopes")
    bent = model.tensor((1, 6, 4, 4), "float32", name="bent")
    chosen = model.constant(np.array([2, 0, 2], np.int32), name="chosen")
    gathered = model.tensor((1, 6, 3, 4), "float32", name="gathered")
    axes = model.constant(np.array([1, 2], np.int32), name="axes")
    mean = model.tensor((1, 4), "float32", name="mean")
    fc_w = model.constant(random.normal(size=(5, 4)).astype(np.float32), name="fc_w")
    dense = model.tensor((1, 5), "float32", name="dense")
    shares = model.tensor((1, 5), "float32", name="shares")
    model.operator(
        "CONV_2D", [x, w, bias], [conv], padding="SAME", strideH=1, strideW=1,
        fusedActivationFunction="RELU6",
    )  # fmt: skip
    model.operator("DEQUANTIZE", [half], [wide])
    model.operator(
        "DEPTHWISE_CONV_2D", [conv, wide, zeros], [depth], padding="SAME", strideH=2, strideW=2,
        depthMultiplier=1,
    )  # fmt: skip
    model.operator("RESIZE_BILINEAR", [depth, size], [resized], halfPixelCenters=True)
    model.operator("PRELU", [resized, slopes], [bent])
    model.operator("GATHER", [bent, chosen], [gathered], axis=2)
    model.operator("MEAN", [gathered, axes], [mean])
    model.operator("FULLY_CONNECTED", [mean, fc_w, -1], [dense])
    model.operator("SOFTMAX", [dense], [shares], beta=1.0)
    return model.build([x], [shares])


def sound_ends(edge: str = "float32") -> bytes:
    """Return a dense layer on int8 with float32, uint8 or int16 at the ends."""
    random = np.random.default_rng(5)
    model = TfliteBuilder()
    given, result = ENDS[edge]
    x = model.tensor((1, 6), edge, name="x", **given)
    a = model.tensor((1, 6), scale=0.1, zero_point=-28)
    w = model.constant(random.integers(-127, 128, (4, 6)).astype(np.int8), scale=0.02)
    bias = model.constant(random.integers(-500, 500, 4).astype(np.int32))
    b = model.tensor((1, 4), scale=0.3, zero_point=5)
    y = model.tensor((1, 4), edge, name="y", **result)
    model.operator("QUANTIZE", [x], [a])
    model.operator("FULLY_CONNECTED", [a, w, bias], [b])
    model.operator("DEQUANTIZE" if edge == "float32" else "QUANTIZE", [b], [y])
    return model.build([x], [y])


ENDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "float32": ({}, {}),
    "uint8": ({"scale": 0.1, "zero_point": 100}, {"scale": 0.3, "zero_point": 133}),
    "int16": ({"scale": 0.0004}, {"scale": 0.001}),
}
"""Scale and zero point of the input and the output of :func:`sound_ends`."""


def _changed(name: str, change: Callable[[Any, Any], None]) -> bytes:
    """Return the sound model after ``change(model, tensor)`` on one of its tensors."""
    model = unpack(sound_floats())
    (tensor,) = (t for t in model.subgraphs[0].tensors if t.name == name.encode())
    change(model, tensor)
    return pack(model)


def _with_element(name: str, value: float, dtype: Any = np.float32) -> bytes:
    """Return the sound model with another first element of a constant."""

    def change(model: Any, tensor: Any) -> None:
        buffer = model.buffers[tensor.buffer]
        array = np.array(buffer.data, np.uint8).view(dtype)
        array[0] = value
        buffer.data = array.view(np.uint8)

    return _changed(name, change)


def _set(name: str, **fields: Any) -> bytes:
    """Return the sound model with fields of a tensor changed."""

    def change(model: Any, tensor: Any) -> None:
        del model
        for field, value in fields.items():
            setattr(tensor, field, value)

    return _changed(name, change)


def _scales(name: str, **fields: Any) -> bytes:
    """Return the sound model with the quantization of a tensor changed."""

    def change(model: Any, tensor: Any) -> None:
        del model
        for field, value in fields.items():
            setattr(tensor.quantization, field, value)

    return _changed(name, change)


FLOAT = {"dtype": "float32"}

CASES: dict[str, Case] = {
    "the sound model": Accepted(sound_floats, "it has no defect"),
    "float32 ends": Accepted(sound_ends, "the host computes the conversions"),
    "uint8 ends": Accepted(lambda: sound_ends("uint8"), "the host computes the conversions"),
    "int16 ends": Accepted(lambda: sound_ends("int16"), "the host computes the conversions"),
    "weight NaN": Refused(
        lambda: _with_element("fc_w", np.nan),
        FrontendError,
        "operator 7 FULLY_CONNECTED",
        "tensor 16 'fc_w' holds NaN, which is not a number",
    ),
    "weight infinite": Refused(
        lambda: _with_element("fc_w", np.inf),
        FrontendError,
        "operator 7 FULLY_CONNECTED",
        "tensor 16 'fc_w' has infinite weights",
    ),
    "bias infinite": Refused(
        lambda: _with_element("b", -np.inf),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 2 'b' has infinite weights",
    ),
    "float16 weight NaN": Refused(
        lambda: _with_element("half", np.nan, np.float16),
        FrontendError,
        "operator 1 DEQUANTIZE",
        "tensor 4 'half' holds NaN, which is not a number",
    ),
    "slope NaN": Refused(
        lambda: _with_element("slopes", np.nan),
        FrontendError,
        "operator 4 PRELU",
        "tensor 10 'slopes' holds NaN, which is not a number",
    ),
    "scales of another axis": Refused(
        lambda: _scales("w", quantizedDimension=3),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' is int8[4, 3, 3, 2], but has 4 scales along axis 3",
    ),
    "scale of weights NaN": Refused(
        lambda: _scales("w", scale=np.array([1, np.nan, 1, 1], np.float32)),
        FrontendError,
        "tensor 1 'w'",
        "has the scale nan (number 1), expected a finite number above 0",
    ),
    "int8 weights without scales": Refused(
        lambda: _set("w", quantization=None),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' is int8[4, 3, 3, 2] without scale and zero point",
    ),
    "weights of integers": Refused(
        lambda: _set("fc_w", type=2),
        FrontendError,
        "operator 7 FULLY_CONNECTED",
        "needs floating-point tensors of one element type, got f32[1, 4], i32[5, 4]",
    ),
    "index out of range": Refused(
        lambda: _with_element("chosen", 4, np.int32),
        FrontendError,
        "operator 5 GATHER",
        "tensor 12 'chosen' takes indices that are not in 0 to 3",
    ),
    "index below 0": Refused(
        lambda: _with_element("chosen", -1, np.int32),
        FrontendError,
        "operator 5 GATHER",
        "tensor 12 'chosen' takes indices that are not in 0 to 3",
    ),
    "size 0": Refused(
        lambda: _with_element("size", 0, np.int32),
        FrontendError,
        "operator 3 RESIZE_BILINEAR",
        "makes the shape [1, 0, 4, 4], but tensor 9 'resized' is float32[1, 6, 4, 4]",
    ),
    "size 2^31 - 1": Refused(
        lambda: _with_element("size", 2**31 - 1, np.int32),
        FrontendError,
        "operator 3 RESIZE_BILINEAR",
        "makes the shape [1, 2147483647, 4, 4], but tensor 9 'resized' is float32[1, 6, 4, 4]",
    ),
    "axis out of range": Refused(
        lambda: _with_element("axes", 7, np.int32),
        FrontendError,
        "operator 6 MEAN",
        "the axis is 7, but the input has 4 dimensions",
    ),
    "bias too long": Refused(
        lambda: _set("zeros", shape=np.array([2, 2], np.int32)),
        FrontendError,
        "operator 2 DEPTHWISE_CONV_2D",
        "tensor 6 'zeros' is float32[2, 2], expected [4]",
    ),
    "float64 between layers": Refused(
        lambda: _set("dense", type=10),
        UnsupportedOpError,
        "operator 7 FULLY_CONNECTED, operator 8 SOFTMAX",
        "2 of 9 operators cannot be imported",
    ),
    "dequantize into another shape": Refused(
        lambda: _set("wide", shape=np.array([1, 3, 4, 3], np.int32)),
        FrontendError,
        "operator 1 DEQUANTIZE",
        "turns tensor 4 'half', which is float16[1, 3, 3, 4], into float32[1, 3, 4, 3]",
    ),
    "repeats 2^31 - 1": Refused(
        lambda: one("TILE", (1, 3), (1, 6), [1, 2**31 - 1], x=FLOAT, y=FLOAT),
        FrontendError,
        "operator 0 TILE",
        "makes the shape [1, 6442450941], but tensor 2 'y' is float32[1, 6]",
    ),
    "broadcast to 2^40": Refused(
        lambda: one("BROADCAST_TO", (1, 3), (1, 3), [2**20, 2**20, 3], x=FLOAT, y=FLOAT),
        FrontendError,
        "operator 0 BROADCAST_TO",
        "makes the shape [1048576, 1048576, 3], but tensor 2 'y' is float32[1, 3]",
    ),
    "mirrored beyond the other end": Refused(
        lambda: one("MIRROR_PAD", (1, 3), (1, 6), [[0, 0], [3, 0]], x=FLOAT, y=FLOAT, mode=0),
        FrontendError,
        "operator 0 MIRROR_PAD",
        "mirrors 3 and 0 elements of 3",
    ),
    "block 0": Refused(
        lambda: one(
            "SPACE_TO_BATCH_ND", (1, 4, 4, 1), (4, 2, 2, 1), [0, 2], [[0, 0], [0, 0]],
            x=FLOAT, y=FLOAT,
        ),
        FrontendError,
        "operator 0 SPACE_TO_BATCH_ND",
        "has the blocks [0, 2] and ends [0, 0, 0, 0]",
    ),
    "count of 0": Refused(
        lambda: _top_k(0),
        FrontendError,
        "operator 0 TOPK_V2",
        "expected a count in [1, dimension of axis 1], got 0",
    ),
    "quantize to a scale for each channel": Refused(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x=FLOAT, y={"scale": [0.1, 0.2, 0.3], "axis": 1}),
        UnsupportedOpError,
        "operator 0 QUANTIZE",
        "1 of 1 operators cannot be imported",
    ),
    "uint8 scale of 0": Refused(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x={"dtype": "uint8", "scale": 0.0}),
        FrontendError,
        "tensor 0 'x'",
        "has the scale 0.0 (number 0), expected a finite number above 0",
    ),
    "uint8 zero point out of range": Refused(
        lambda: one(
            "QUANTIZE", (1, 3), (1, 3), x={"dtype": "uint8", "scale": 0.1, "zero_point": -1}
        ),
        FrontendError,
        "tensor 0 'x'",
        "has the zero point -1, expected 0 to 255",
    ),
    "dequantize to int32": Refused(
        lambda: one("DEQUANTIZE", (1, 3), (1, 3), x=CODES, y={"dtype": "int32"}),
        UnsupportedOpError,
        "operator 0 DEQUANTIZE",
        "1 of 1 operators cannot be imported",
    ),
    "cast of scaled values": Refused(
        lambda: one("CAST", (1, 3), (1, 3), x=CODES, y=FLOAT),
        UnsupportedOpError,
        "operator 0 CAST",
        "1 of 1 operators cannot be imported",
    ),
}  # fmt: skip


def _top_k(count: int) -> bytes:
    """Return a model that takes the largest numbers of a row."""
    model = TfliteBuilder()
    x = model.tensor((1, 3), "float32", name="x")
    k = model.constant(np.int32(count), name="k")
    values = model.tensor((1, 1), "float32", name="values")
    places = model.tensor((1, 1), "int32", name="places")
    model.operator("TOPK_V2", [x, k], [values, places])
    return model.build([x], [values, places])
