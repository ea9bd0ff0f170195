"""Files that look unusual and are read all the same."""

from __future__ import annotations

import numpy as np

from malformed.case import Accepted, Case
from malformed.tflite_models import (
    CONV,
    CONV_OP,
    DENSE_OP,
    PROBABILITY,
    RESHAPE_OP,
    SHAPE,
    B,
    W,
    X,
    hybrid,
    one,
    reconnected,
    second_subgraph,
    set_graph,
    set_operator,
    set_quantization,
    set_tensor,
    sound_model,
)
from malformed.tflite_oddities import (
    bare_options,
    broken_name,
    deprecated_codes,
    set_versions,
    unnamed,
    with_code,
    with_metadata,
    with_tensor,
)

CASES: dict[str, Case] = {
    "the sound model": Accepted(
        lambda: sound_model(), "it has no defect; every other file differs from it in one place"
    ),
    "hybrid model": Accepted(
        lambda: hybrid(), "int8 weights beside float32 activations mean float32 weights"
    ),
    "float32 input": Accepted(
        lambda: one("QUANTIZE", (1, 3), (1, 3), x={"dtype": "float32"}),
        "the host computes the conversion, and targets do or take it off",
    ),
    "float32 output": Accepted(
        lambda: one("DEQUANTIZE", (1, 3), (1, 3), y={"dtype": "float32"}),
        "the host computes the conversion, and targets do or take it off",
    ),
    "bias scales along axis 3": Accepted(
        lambda: set_quantization(B, quantizedDimension=3),
        "the interpreter reads no axis of a bias, and neither does rlx",
    ),
    "bias scales too many": Accepted(
        lambda: set_quantization(B, scale=np.ones(7, np.float32), zeroPoint=np.zeros(7, np.int64)),
        "nothing reads the scales of a bias",
    ),
    "bias without quantization": Accepted(
        lambda: set_tensor(B, quantization=None), "nothing reads the scale of a bias"
    ),
    "bias left out": Accepted(
        lambda: reconnected(CONV_OP, X, W), "an optional input may be left out"
    ),
    "bias -1": Accepted(
        lambda: reconnected(CONV_OP, X, W, -1), "-1 means an optional input that is absent"
    ),
    "shape constant without quantization": Accepted(
        lambda: set_tensor(SHAPE, quantization=None), "integers need no scale"
    ),
    "one zero point for three scales": Accepted(
        lambda: set_quantization(W, zeroPoint=np.zeros(1, np.int64)),
        "the interpreter takes one zero point for all channels",
    ),
    "options of add absent": Accepted(
        lambda: bare_options("ADD"), "every field of the options has a default"
    ),
    "options of multiplication absent": Accepted(
        lambda: bare_options("MUL"), "every field of the options has a default"
    ),
    "options of subtraction absent": Accepted(
        lambda: bare_options("SUB"), "every field of the options has a default"
    ),
    "options of concatenation absent": Accepted(
        lambda: bare_options("CONCATENATION", (4, 3)), "the axis is 0 by default"
    ),
    "options of the dense layer absent": Accepted(
        lambda: set_operator(DENSE_OP, builtinOptions=None, builtinOptionsType=0),
        "every field of the options has a default",
    ),
    "options of the dense layer announced but absent": Accepted(
        lambda: set_operator(DENSE_OP, builtinOptions=None),
        "a table that was left out has the defaults",
    ),
    "options of reshape absent": Accepted(
        lambda: set_operator(RESHAPE_OP, builtinOptions=None, builtinOptionsType=0),
        "the shape comes from the second input",
    ),
    "tensor name of 5,000 bytes": Accepted(
        lambda: set_tensor(X, name="n" * 5000),
        "a name of any length is legal; its beginning is kept",
    ),
    "graph name of 5,000 bytes": Accepted(
        lambda: set_graph(name="n" * 5000), "a name of any length is legal; its beginning is kept"
    ),
    "names that are equal": Accepted(lambda: set_tensor(CONV, name="x"), "names need not differ"),
    "name that is no UTF-8": Accepted(
        lambda: broken_name(), "what cannot be read as text is replaced"
    ),
    "no names": Accepted(lambda: unnamed(), "tensors are known by their number"),
    "unused string tensor": Accepted(lambda: with_tensor(type=5), "nothing reads it"),
    "unused variable": Accepted(lambda: with_tensor(isVariable=True), "nothing reads it"),
    "unused tensor of unknown size": Accepted(
        lambda: with_tensor(shape=np.array([-1, 3], np.int32)), "nothing reads it"
    ),
    "unused tensor with a scale of 0": Accepted(lambda: with_tensor(scale=0.0), "nothing reads it"),
    "unused operator code": Accepted(lambda: with_code(), "nothing refers to it"),
    "second subgraph that nothing calls": Accepted(lambda: second_subgraph(), "the first one runs"),
    "signature and metadata": Accepted(
        lambda: with_metadata(), "they say nothing about what is computed"
    ),
    "shape signature with -1": Accepted(
        lambda: set_tensor(X, shapeSignature=np.array([-1, 4, 4, 2], np.int32)),
        "the shape itself is fixed",
    ),
    "operator version 99": Accepted(
        lambda: set_versions(99),
        "the version says who may read it; the fields that rlx reads keep their meaning",
    ),
    "deprecated operator code only": Accepted(
        lambda: deprecated_codes(), "old writers know the first of the two fields only"
    ),
    "weights are a graph output too": Accepted(
        lambda: set_graph(outputs=np.array([PROBABILITY, CONV], np.int32)),
        "a tensor on the way may be an output as well",
    ),
    "scalar by an empty shape": Accepted(
        lambda: one("RESHAPE", (1, 1), (), np.zeros(0)),
        "a list without entries is the shape of a single number",
    ),
    "paddings of a single number": Accepted(
        lambda: one("PAD", (), (), np.zeros((0, 2))), "a tensor without dimensions has no widths"
    ),
    "zero point at both ends": Accepted(
        lambda: set_quantization(X, zeroPoint=np.array([127], np.int64)), "127 is a code"
    ),
}
