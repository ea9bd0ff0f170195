"""Files whose tables are sound but whose graph or tensors contradict themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tflite_malformed import (
    CONV,
    CONV_OP,
    DENSE,
    FC_W,
    POOL_OP,
    PROBABILITY,
    SOFTMAX_OP,
    B,
    W,
    X,
    buffer_in_tail,
    custom_quantization,
    list_of_tensors,
    negative_code,
    reconnected,
    second_subgraph,
    set_data,
    set_graph,
    set_model,
    set_operator,
    set_quantization,
    set_tensor,
    shaped,
    sparse,
    swapped_operators,
    without_last_operator,
    written,
)

from rlx.errors import FrontendError, UnsupportedOpError
from rlx.frontends import tflite

if TYPE_CHECKING:
    from collections.abc import Callable

# name: (file, error, message)
CASES: dict[str, tuple[Callable[[], bytes], type[Exception], str]] = {
    "schema version": (
        lambda: set_model(version=2),
        FrontendError,
        "the schema version is 2, want 3",
    ),
    "no subgraph": (lambda: set_model(subgraphs=[]), FrontendError, "there is no subgraph"),
    "two subgraphs": (
        lambda: second_subgraph(),
        UnsupportedOpError,
        (
            "there are 2 subgraphs (control flow or several signatures), want 1\n"
            "  hint: convert one signature without IF, WHILE or CALL_ONCE"
        ),
    ),
    "no buffers": (
        lambda: set_model(buffers=[]),
        FrontendError,
        "tensor 1: refers to buffer 1, but there are 0 buffers",
    ),
    "no operator codes": (
        lambda: set_model(operatorCodes=[]),
        FrontendError,
        "operator 0: refers to operator code 0, but there are 0",
    ),
    "buffer out of range": (
        lambda: set_tensor(W, buffer=99),
        FrontendError,
        "tensor 1: refers to buffer 99, but there are 6 buffers",
    ),
    "buffer in the file's tail": (
        lambda: buffer_in_tail(),
        UnsupportedOpError,
        (
            "tensor 1: buffer 1 lies outside of the flatbuffer (files over 2 GiB do that)\n"
            "  hint: convert without the option for large models"
        ),
    ),
    "data too short": (
        lambda: set_data(W, b"\1" * 53),
        FrontendError,
        "tensor 1 'w': is int8[3, 3, 3, 2], which takes 54 bytes, but buffer 1 has 53",
    ),
    "data too long": (
        lambda: set_data(B, b"\1" * 16),
        FrontendError,
        "tensor 2 'b': is int32[3], which takes 12 bytes, but buffer 2 has 16",
    ),
    "operator code out of range": (
        lambda: set_operator(SOFTMAX_OP, opcodeIndex=77),
        FrontendError,
        "operator 4: refers to operator code 77, but there are 5",
    ),
    "operator code negative": (
        lambda: negative_code(),
        FrontendError,
        "operator 0: has the operator code -3, want at least 0",
    ),
    "tensor out of range": (
        lambda: reconnected(CONV_OP, X, 9999, B),
        FrontendError,
        "operator 0: input 1 is tensor 9999, but there are 11 tensors",
    ),
    "tensor -2": (
        lambda: reconnected(CONV_OP, X, -2, B),
        FrontendError,
        "operator 0: input 1 is tensor -2, but there are 11 tensors",
    ),
    "required input absent": (
        lambda: reconnected(CONV_OP, X, -1, B),
        FrontendError,
        "operator 0 CONV_2D: input 1 is absent",
    ),
    "output -1": (
        lambda: written(CONV_OP, -1),
        FrontendError,
        "operator 0: output 0 is tensor -1, but there are 11 tensors",
    ),
    "graph input out of range": (
        lambda: set_graph(inputs=np.array([11], np.int32)),
        FrontendError,
        "graph input 0 is tensor 11, but there are 11 tensors",
    ),
    "graph output out of range": (
        lambda: set_graph(outputs=np.array([-1], np.int32)),
        FrontendError,
        "graph output 0 is tensor -1, but there are 11 tensors",
    ),
    "no graph inputs": (
        lambda: set_graph(inputs=np.array([], np.int32)),
        FrontendError,
        "the graph has no inputs",
    ),
    "no graph outputs": (
        lambda: set_graph(outputs=np.array([], np.int32)),
        FrontendError,
        "the graph has no outputs",
    ),
    "graph input twice": (
        lambda: set_graph(inputs=np.array([X, X], np.int32)),
        FrontendError,
        "a tensor is listed twice among the graph inputs",
    ),
    "graph input constant": (
        lambda: set_graph(inputs=np.array([X, W], np.int32)),
        FrontendError,
        "graph input 1 is tensor 1 'w', which is a constant",
    ),
    "graph output constant": (
        lambda: set_graph(outputs=np.array([W], np.int32)),
        FrontendError,
        "graph output 0 is tensor 1 'w', which is a constant",
    ),
    "graph output not written": (
        lambda: without_last_operator(),
        FrontendError,
        "graph output 0 is tensor 10 'probability', which nothing writes",
    ),
    "input not written": (
        lambda: set_graph(inputs=np.array([CONV], np.int32)),
        FrontendError,
        "operator 0 CONV_2D: input 0 is tensor 0 'x', which nothing writes",
    ),
    "operator without outputs": (
        lambda: written(SOFTMAX_OP),
        FrontendError,
        "operator 4 SOFTMAX: has no outputs",
    ),
    "same tensor in and out": (
        lambda: reconnected(SOFTMAX_OP, PROBABILITY),
        FrontendError,
        (
            "operator 4 SOFTMAX: input 0 is tensor 10 'probability', which is written by "
            "operator 4 SOFTMAX: a cycle, or operators out of order"
        ),
    ),
    "cycle": (
        lambda: reconnected(POOL_OP, DENSE),
        FrontendError,
        (
            "operator 1 MAX_POOL_2D: input 0 is tensor 9 'dense', which is written by "
            "operator 3 FULLY_CONNECTED: a cycle, or operators out of order"
        ),
    ),
    "operators out of order": (
        lambda: swapped_operators(),
        FrontendError,
        (
            "operator 0 MAX_POOL_2D: input 0 is tensor 3 'conv', which is written by "
            "operator 1 CONV_2D: a cycle, or operators out of order"
        ),
    ),
    "tensor written twice": (
        lambda: written(POOL_OP, CONV),
        FrontendError,
        (
            "operator 1 MAX_POOL_2D: output 0 is tensor 3 'conv', which is an input, a "
            "constant or written before"
        ),
    ),
    "two equal outputs": (
        lambda: written(SOFTMAX_OP, PROBABILITY, PROBABILITY),
        FrontendError,
        "operator 4 SOFTMAX: writes a tensor twice",
    ),
    "operator writes a constant": (
        lambda: written(SOFTMAX_OP, FC_W),
        FrontendError,
        (
            "operator 4 SOFTMAX: output 0 is tensor 7 'fc_w', which is an input, a "
            "constant or written before"
        ),
    ),
    "operator writes an input": (
        lambda: written(SOFTMAX_OP, X),
        FrontendError,
        (
            "operator 4 SOFTMAX: output 0 is tensor 0 'x', which is an input, a constant "
            "or written before"
        ),
    ),
    "nine dimensions": (
        lambda: shaped((CONV, [1] * 9)),
        FrontendError,
        "tensor 3 'conv': has 9 dimensions; the limit is 8",
    ),
    "dimension 0": (
        lambda: shaped((CONV, [1, 0, 4, 3])),
        FrontendError,
        "tensor 3 'conv': has the shape [1, 0, 4, 3], want dimensions from 1",
    ),
    "dimension -5": (
        lambda: shaped((CONV, [1, -5, 4, 3])),
        FrontendError,
        "tensor 3 'conv': has the shape [1, -5, 4, 3], want dimensions from 1",
    ),
    "dimension -1": (
        lambda: shaped((X, [-1, 4, 4, 2])),
        UnsupportedOpError,
        (
            "tensor 0 'x': has the shape [-1, 4, 4, 2]: -1 is only known at run time\n"
            "  hint: convert with fixed input shapes"
        ),
    ),
    "dimension too large": (
        lambda: shaped((CONV, [1, 2**25])),
        FrontendError,
        ("tensor 3 'conv': has the shape [1, 33554432]; the limit is 16777216 a dimension"),
    ),
    "too many elements": (
        lambda: shaped((CONV, [2**24] * 8)),
        FrontendError,
        (
            "tensor 3 'conv': has the shape [16777216, 16777216, 16777216, 16777216, "
            "16777216, 16777216, 16777216, 16777216], "
            "6277101735386680763835789423207666416102355444464034512896 elements; the "
            "limit is 268435456"
        ),
    ),
    "shape larger than its data": (
        lambda: shaped((W, [3000, 300, 30, 2])),
        FrontendError,
        (
            "tensor 1 'w': is int8[3000, 300, 30, 2], which takes 54000000 bytes, but "
            "buffer 1 has 54"
        ),
    ),
    "element type unknown": (
        lambda: set_tensor(X, type=99),
        FrontendError,
        "subgraph 0, tensor 0: type is 99, want at most 22",
    ),
    "element type string": (
        lambda: set_tensor(X, type=5),
        UnsupportedOpError,
        ("tensor 0 'x': holds elements of type STRING\n  hint: convert to tensors of numbers"),
    ),
    "variable": (
        lambda: set_tensor(X, isVariable=True),
        UnsupportedOpError,
        (
            "tensor 0: is a variable (state that outlives a run)\n"
            "  hint: make the state an input and an output of the model"
        ),
    ),
    "sparse": (
        lambda: sparse(),
        UnsupportedOpError,
        ("tensor 1: is stored in a sparse format\n  hint: convert without sparsity"),
    ),
    "list of tensors": (
        lambda: list_of_tensors(),
        UnsupportedOpError,
        ("tensor 0: is a list of tensors\n  hint: convert without TensorList ops"),
    ),
    "data in another file": (
        lambda: set_tensor(W, externalBuffer=1),
        UnsupportedOpError,
        ("tensor 1: keeps its data in another file\n  hint: convert into one file"),
    ),
    "scale 0": (
        lambda: set_quantization(CONV, scale=np.array([0], np.float32)),
        FrontendError,
        "tensor 3 'conv': has the scale 0.0 (number 0), want a finite number above 0",
    ),
    "scale NaN": (
        lambda: set_quantization(CONV, scale=np.array([np.nan], np.float32)),
        FrontendError,
        "tensor 3 'conv': has the scale nan (number 0), want a finite number above 0",
    ),
    "scale infinite": (
        lambda: set_quantization(W, scale=np.array([1, np.inf, 1], np.float32)),
        FrontendError,
        "tensor 1 'w': has the scale inf (number 1), want a finite number above 0",
    ),
    "scale negative": (
        lambda: set_quantization(W, scale=np.array([1, 1, -0.5], np.float32)),
        FrontendError,
        "tensor 1 'w': has the scale -0.5 (number 2), want a finite number above 0",
    ),
    "zero points missing": (
        lambda: set_quantization(W, zeroPoint=np.array([0, 0], np.int64)),
        FrontendError,
        "tensor 1: has 3 scales but 2 zero points",
    ),
    "zero point out of range": (
        lambda: set_quantization(CONV, zeroPoint=np.array([300], np.int64)),
        FrontendError,
        "tensor 3 'conv': has the zero point 300, want -128 to 127",
    ),
    "zero point huge": (
        lambda: set_quantization(CONV, zeroPoint=np.array([-(2**62)], np.int64)),
        FrontendError,
        "tensor 3 'conv': has the zero point -4611686018427387904, want -128 to 127",
    ),
    "more scales than indices": (
        lambda: set_quantization(W, scale=np.ones(4, np.float32), zeroPoint=np.zeros(4, np.int64)),
        FrontendError,
        "tensor 1 'w': has 4 scales along axis 0, which has 3 indices",
    ),
    "axis out of range": (
        lambda: set_quantization(W, quantizedDimension=4),
        FrontendError,
        "tensor 1 'w': is quantized along axis 4, but has 4 dimensions",
    ),
    "axis negative": (
        lambda: set_quantization(W, quantizedDimension=-1),
        FrontendError,
        "tensor 1 'w': is quantized along axis -1, but has 4 dimensions",
    ),
    "custom quantization": (
        lambda: custom_quantization(),
        UnsupportedOpError,
        ("tensor 1: is quantized by a custom scheme\n  hint: use scale and zero point"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refuses_with_reason_and_place(name: str) -> None:
    make, error, message = CASES[name]
    with pytest.raises(error, match=f"^{re.escape('m.tflite: ' + message)}$"):
        tflite.load(make(), name="m.tflite")
