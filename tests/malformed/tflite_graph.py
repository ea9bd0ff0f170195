"""Files whose tables are sound but whose graph or tensors contradict themselves."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case, Refused
from malformed.tflite_models import (
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
from rlx.support.errors import FrontendError, UnsupportedOpError

CASES: dict[str, Case] = {
    "schema version": Refused(
        lambda: set_model(version=2),
        UnsupportedOpError,
        "model",
        "the schema version is 2, expected 3",
    ),
    "no subgraph": Refused(
        lambda: set_model(subgraphs=[]), FrontendError, "model", "the file holds no subgraph"
    ),
    "two subgraphs": Accepted(
        lambda: second_subgraph(), "the first subgraph runs; no operator calls the second"
    ),
    "no buffers": Refused(
        lambda: set_model(buffers=[]),
        FrontendError,
        "tensor 1",
        "refers to buffer 1, but there are 0 buffers",
    ),
    "no operator codes": Refused(
        lambda: set_model(operatorCodes=[]),
        FrontendError,
        "operator 0",
        "refers to operator code 0, but there are 0",
    ),
    "buffer out of range": Refused(
        lambda: set_tensor(W, buffer=99),
        FrontendError,
        "tensor 1",
        "refers to buffer 99, but there are 6 buffers",
    ),
    "buffer in the file's tail": Refused(
        lambda: buffer_in_tail(),
        FrontendError,
        "tensor 1",
        "buffer 1 takes bytes 1048576 to 1048630, but the file has",
    ),
    "data too short": Refused(
        lambda: set_data(W, b"\1" * 53),
        FrontendError,
        "tensor 1 'w'",
        "is int8[3, 3, 3, 2], which takes 54 bytes, but buffer 1 has 53",
    ),
    "data too long": Refused(
        lambda: set_data(B, b"\1" * 16),
        UnsupportedOpError,
        "tensor 2 'b'",
        "is int32[3], which takes 12 bytes, but buffer 2 has 16",
    ),
    "operator code out of range": Refused(
        lambda: set_operator(SOFTMAX_OP, opcodeIndex=77),
        FrontendError,
        "operator 4",
        "refers to operator code 77, but there are 5",
    ),
    "operator code negative": Refused(
        lambda: negative_code(),
        FrontendError,
        "operator 0",
        "has the operator code -3, expected at least 0",
    ),
    "tensor out of range": Refused(
        lambda: reconnected(CONV_OP, X, 9999, B),
        FrontendError,
        "operator 0",
        "input 1 is tensor 9999, but there are 11 tensors",
    ),
    "tensor -2": Refused(
        lambda: reconnected(CONV_OP, X, -2, B),
        FrontendError,
        "operator 0",
        "input 1 is tensor -2, but there are 11 tensors",
    ),
    "required input absent": Refused(
        lambda: reconnected(CONV_OP, X, -1, B),
        FrontendError,
        "operator 0 CONV_2D",
        "input 1 is absent",
    ),
    "output -1": Refused(
        lambda: written(CONV_OP, -1),
        FrontendError,
        "operator 0",
        "output 0 is tensor -1, but there are 11 tensors",
    ),
    "graph input out of range": Refused(
        lambda: set_graph(inputs=np.array([11], np.int32)),
        FrontendError,
        "subgraph 0",
        "graph input 0 is tensor 11, but there are 11 tensors",
    ),
    "graph output out of range": Refused(
        lambda: set_graph(outputs=np.array([-1], np.int32)),
        FrontendError,
        "subgraph 0",
        "graph output 0 is tensor -1, but there are 11 tensors",
    ),
    "no graph inputs": Refused(
        lambda: set_graph(inputs=np.array([], np.int32)),
        UnsupportedOpError,
        "subgraph 0",
        "the graph has no inputs",
    ),
    "no graph outputs": Refused(
        lambda: set_graph(outputs=np.array([], np.int32)),
        FrontendError,
        "subgraph 0",
        "the graph has no outputs",
    ),
    "graph input twice": Refused(
        lambda: set_graph(inputs=np.array([X, X], np.int32)),
        UnsupportedOpError,
        "subgraph 0",
        "a tensor is listed twice among the graph inputs",
    ),
    "graph input constant": Refused(
        lambda: set_graph(inputs=np.array([X, W], np.int32)),
        UnsupportedOpError,
        "subgraph 0",
        "graph input 1 is tensor 1 'w', which is a constant",
    ),
    "graph output constant": Refused(
        lambda: set_graph(outputs=np.array([W], np.int32)),
        UnsupportedOpError,
        "subgraph 0",
        "graph output 0 is tensor 1 'w', which is a constant",
    ),
    "graph output not written": Refused(
        lambda: without_last_operator(),
        FrontendError,
        "subgraph 0",
        "graph output 0 is tensor 10 'probability', which nothing writes",
    ),
    "input not written": Refused(
        lambda: set_graph(inputs=np.array([CONV], np.int32)),
        FrontendError,
        "operator 0 CONV_2D",
        "input 0 is tensor 0 'x', which nothing writes",
    ),
    "operator without outputs": Refused(
        lambda: written(SOFTMAX_OP), FrontendError, "operator 4 SOFTMAX", "has no outputs"
    ),
    "same tensor in and out": Refused(
        lambda: reconnected(SOFTMAX_OP, PROBABILITY),
        FrontendError,
        "operator 4 SOFTMAX",
        (
            "input 0 is tensor 10 'probability', which is written by operator 4 SOFTMAX: "
            "a cycle, or operators out of order"
        ),
    ),
    "cycle": Refused(
        lambda: reconnected(POOL_OP, DENSE),
        FrontendError,
        "operator 1 MAX_POOL_2D",
        (
            "input 0 is tensor 9 'dense', which is written by operator 3 "
            "FULLY_CONNECTED: a cycle, or operators out of order"
        ),
    ),
    "operators out of order": Refused(
        lambda: swapped_operators(),
        FrontendError,
        "operator 0 MAX_POOL_2D",
        (
            "input 0 is tensor 3 'conv', which is written by operator 1 CONV_2D: a "
            "cycle, or operators out of order"
        ),
    ),
    "tensor written twice": Refused(
        lambda: written(POOL_OP, CONV),
        FrontendError,
        "operator 1 MAX_POOL_2D",
        "output 0 is tensor 3 'conv', which is an input, a constant or written before",
    ),
    "two equal outputs": Refused(
        lambda: written(SOFTMAX_OP, PROBABILITY, PROBABILITY),
        FrontendError,
        "operator 4 SOFTMAX",
        "writes a tensor twice",
    ),
    "operator writes a constant": Refused(
        lambda: written(SOFTMAX_OP, FC_W),
        FrontendError,
        "operator 4 SOFTMAX",
        "output 0 is tensor 7 'fc_w', which is an input, a constant or written before",
    ),
    "operator writes an input": Refused(
        lambda: written(SOFTMAX_OP, X),
        FrontendError,
        "operator 4 SOFTMAX",
        "output 0 is tensor 0 'x', which is an input, a constant or written before",
    ),
    "nine dimensions": Refused(
        lambda: shaped((CONV, [1] * 9)),
        FrontendError,
        "tensor 3 'conv'",
        "has 9 dimensions; the limit is 8",
    ),
    "dimension 0": Refused(
        lambda: shaped((CONV, [1, 0, 4, 3])),
        FrontendError,
        "tensor 3 'conv'",
        "has the shape [1, 0, 4, 3], expected dimensions of at least 1",
    ),
    "dimension -5": Refused(
        lambda: shaped((CONV, [1, -5, 4, 3])),
        FrontendError,
        "tensor 3 'conv'",
        "has the shape [1, -5, 4, 3], expected dimensions of at least 1",
    ),
    "dimension -1": Refused(
        lambda: shaped((X, [-1, 4, 4, 2])),
        UnsupportedOpError,
        "tensor 0 'x'",
        "has the shape [-1, 4, 4, 2]: -1 is only known at run time",
    ),
    "dimension too large": Refused(
        lambda: shaped((CONV, [1, 2**25])),
        FrontendError,
        "tensor 3 'conv'",
        "has the shape [1, 33554432]; the limit is 8388608 a dimension",
    ),
    "too many elements": Refused(
        lambda: shaped((CONV, [2**23] * 8)),
        FrontendError,
        "tensor 3 'conv'",
        "has the shape [8388608, 8388608, 8388608, 8388608, ",
    ),
    "shape larger than its data": Refused(
        lambda: shaped((W, [3000, 300, 30, 2])),
        FrontendError,
        "tensor 1 'w'",
        "is int8[3000, 300, 30, 2], which takes 54000000 bytes, but buffer 1 has 54",
    ),
    "element type unknown": Refused(
        lambda: set_tensor(X, type=99),
        FrontendError,
        "subgraph 0, tensor 0",
        "type is 99, expected at most 22",
    ),
    "element type string": Refused(
        lambda: set_tensor(X, type=5),
        UnsupportedOpError,
        "graph input 0, tensor 0 'x'",
        "holds elements of type STRING",
    ),
    "variable": Refused(
        lambda: set_tensor(X, isVariable=True),
        UnsupportedOpError,
        "graph input 0, tensor 0 'x'",
        "is a variable (state that outlives a run)",
    ),
    "sparse": Refused(
        lambda: sparse(),
        FrontendError,
        "tensor 1 'w'",
        "is int8[3, 3, 3, 2], which its 0 sparse dimensions do not fit",
    ),
    "list of tensors": Refused(
        lambda: list_of_tensors(),
        UnsupportedOpError,
        "graph input 0, tensor 0 'x'",
        "is a list of tensors",
    ),
    "data in another file": Refused(
        lambda: set_tensor(W, externalBuffer=1),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' keeps its data in another file"
        ),
    ),
    "scale 0": Refused(
        lambda: set_quantization(CONV, scale=np.array([0], np.float32)),
        FrontendError,
        "tensor 3 'conv'",
        "has the scale 0.0 (number 0), expected a finite number above 0",
    ),
    "scale NaN": Refused(
        lambda: set_quantization(CONV, scale=np.array([np.nan], np.float32)),
        FrontendError,
        "tensor 3 'conv'",
        "has the scale nan (number 0), expected a finite number above 0",
    ),
    "scale infinite": Refused(
        lambda: set_quantization(W, scale=np.array([1, np.inf, 1], np.float32)),
        FrontendError,
        "tensor 1 'w'",
        "has the scale inf (number 1), expected a finite number above 0",
    ),
    "scale negative": Refused(
        lambda: set_quantization(W, scale=np.array([1, 1, -0.5], np.float32)),
        FrontendError,
        "tensor 1 'w'",
        "has the scale -0.5 (number 2), expected a finite number above 0",
    ),
    "zero points missing": Refused(
        lambda: set_quantization(W, zeroPoint=np.array([0, 0], np.int64)),
        FrontendError,
        "tensor 1",
        "has 3 scales but 2 zero points",
    ),
    "zero point out of range": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.array([300], np.int64)),
        FrontendError,
        "tensor 3 'conv'",
        "has the zero point 300, expected -128 to 127",
    ),
    "zero point huge": Refused(
        lambda: set_quantization(CONV, zeroPoint=np.array([-(2**62)], np.int64)),
        FrontendError,
        "tensor 3 'conv'",
        "has the zero point -4611686018427387904, expected -128 to 127",
    ),
    "more scales than indices": Refused(
        lambda: set_quantization(W, scale=np.ones(4, np.float32), zeroPoint=np.zeros(4, np.int64)),
        FrontendError,
        "operator 0 CONV_2D",
        "tensor 1 'w' has 4 scales along axis 0, which has 3 indices",
    ),
    "axis out of range": Refused(
        lambda: set_quantization(W, quantizedDimension=4),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' is quantized along axis 4, expected 0"
        ),
    ),
    "axis negative": Refused(
        lambda: set_quantization(W, quantizedDimension=-1),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' is quantized along axis -1, expected 0"
        ),
    ),
    "custom quantization": Refused(
        lambda: custom_quantization(),
        UnsupportedOpError,
        "operator 0 CONV_2D",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 1 'w' is quantized by a custom scheme"
        ),
    ),
}
