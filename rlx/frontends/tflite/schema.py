"""The part of the TFLite schema that rlx reads, as data.

Field numbers, types and defaults are facts of the public format (``schema.fbs`` of TensorFlow Lite,
version 3). Fields that rlx does not need are left out; their presence is harmless unless it changes
the meaning of a model, then they are read as ``Presence`` and refused.

Tests: tests/unit/driver/exporters/test_tflite.py
"""

from __future__ import annotations

import enum

from rlx.frontends.tflite.flatbuffer import (
    Child,
    Children,
    Field,
    FieldType,
    Numbers,
    Presence,
    Scalar,
    Table,
    Text,
    UnionField,
)

IDENTIFIER = b"TFL3"
VERSION = 3


class TensorType(enum.IntEnum):
    """Element type of a tensor."""

    FLOAT32 = 0
    FLOAT16 = 1
    INT32 = 2
    UINT8 = 3
    INT64 = 4
    STRING = 5
    BOOL = 6
    INT16 = 7
    COMPLEX64 = 8
    INT8 = 9
    FLOAT64 = 10
    COMPLEX128 = 11
    UINT64 = 12
    RESOURCE = 13
    VARIANT = 14
    UINT32 = 15
    UINT16 = 16
    INT4 = 17
    BFLOAT16 = 18
    INT2 = 19
    UINT4 = 20
    FLOAT8_E4M3FN = 21
    FLOAT8_E5M2 = 22


# Bits of an element; types that are not here have no fixed size.
ELEMENT_BITS = {
    TensorType.FLOAT32: 32,
    TensorType.FLOAT16: 16,
    TensorType.INT32: 32,
    TensorType.UINT8: 8,
    TensorType.INT64: 64,
    TensorType.BOOL: 8,
    TensorType.INT16: 16,
    TensorType.COMPLEX64: 64,
    TensorType.INT8: 8,
    TensorType.FLOAT64: 64,
    TensorType.COMPLEX128: 128,
    TensorType.UINT64: 64,
    TensorType.UINT32: 32,
    TensorType.UINT16: 16,
    TensorType.INT4: 4,
    TensorType.BFLOAT16: 16,
    TensorType.INT2: 2,
    TensorType.UINT4: 4,
    TensorType.FLOAT8_E4M3FN: 8,
    TensorType.FLOAT8_E5M2: 8,
}

# Smallest and largest value of each quantized type.
VALUE_RANGE = {
    TensorType.INT8: (-128, 127),
    TensorType.UINT8: (0, 255),
    TensorType.INT16: (-32768, 32767),
    TensorType.INT32: (-(2**31), 2**31 - 1),
    TensorType.INT64: (-(2**63), 2**63 - 1),
    TensorType.INT4: (-8, 7),
    TensorType.INT2: (-2, 1),
}


class Padding(enum.IntEnum):
    """Behaviour of a window at the border."""

    SAME = 0
    VALID = 1


class Activation(enum.IntEnum):
    """The function that an operator applies to its own result."""

    NONE = 0
    RELU = 1
    RELU_N1_TO_1 = 2
    RELU6 = 3
    TANH = 4
    SIGN_BIT = 5


# Names of the builtin operators; the position in the list is the code.
OPERATOR_NAMES = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1
RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM
CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM
CAST PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT
SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT
SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND
LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL
REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE
MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5
SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM
CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND
HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL
GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX
UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT
STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM
STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG
STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER
STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT
STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR
REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
""".split()  # noqa: SIM905 - as a literal it would take 210 lines
OPERATOR_CODES = {name: code for code, name in enumerate(OPERATOR_NAMES)}


def _table(name: str, *fields: tuple[int, str, FieldType]) -> Table:
    return Table(name, tuple(Field(*entry) for entry in fields))


_PADDING = Scalar("i1", 0, 0, 1)
_ACTIVATION = Scalar("i1", 0, 0, 5)
_COUNT = Scalar("i4", 0, 1)
_DILATION = Scalar("i4", 1, 1)
_FLAG = Scalar("?", default=False)
_INT = Scalar("i4")
_TYPE = Scalar("i1", 0, 0)
_MASK = Scalar("i4", 0, 0, 0xFF)

# Tables of options by their number in the union ``BuiltinOptions``.
OPTIONS = {
    1: _table(
        "Conv2DOptions",
        (0, "padding", _PADDING),
        (1, "stride_w", _COUNT),
        (2, "stride_h", _COUNT),
        (3, "activation", _ACTIVATION),
        (4, "dilation_w", _DILATION),
        (5, "dilation_h", _DILATION),
        (6, "quantized_bias_type", _TYPE),
    ),
    2: _table(
        "DepthwiseConv2DOptions",
        (0, "padding", _PADDING),
        (1, "stride_w", _COUNT),
        (2, "stride_h", _COUNT),
        (3, "depth_multiplier", Scalar("i4", 0, 0)),
        (4, "activation", _ACTIVATION),
        (5, "dilation_w", _DILATION),
        (6, "dilation_h", _DILATION),
    ),
    5: _table(
        "Pool2DOptions",
        (0, "padding", _PADDING),
        (1, "stride_w", _COUNT),
        (2, "stride_h", _COUNT),
        (3, "filter_w", _COUNT),
        (4, "filter_h", _COUNT),
        (5, "activation", _ACTIVATION),
    ),
    6: _table("SVDFOptions", (0, "rank", _COUNT), (1, "activation", _ACTIVATION)),
    8: _table(
        "FullyConnectedOptions",
        (0, "activation", _ACTIVATION),
        (1, "weights_format", Scalar("i1", 0, 0, 1)),
        (2, "keep_num_dims", _FLAG),
        (4, "quantized_bias_type", _TYPE),
    ),
    9: _table("SoftmaxOptions", (0, "beta", Scalar("f4", 0.0))),
    10: _table("ConcatenationOptions", (0, "axis", _INT), (1, "activation", _ACTIVATION)),
    11: _table("AddOptions", (0, "activation", _ACTIVATION)),
    12: _table("L2NormOptions", (0, "activation", _ACTIVATION)),
    15: _table(
        "ResizeBilinearOptions", (2, "align_corners", _FLAG), (3, "half_pixel_centers", _FLAG)
    ),
    17: _table("ReshapeOptions", (0, "new_shape", Numbers("i4"))),
    19: _table("SpaceToDepthOptions", (0, "block_size", _COUNT)),
    21: _table("MulOptions", (0, "activation", _ACTIVATION)),
    22: _table("PadOptions"),
    23: _table("GatherOptions", (0, "axis", _INT), (1, "batch_dims", _INT)),
    26: _table("TransposeOptions"),
    27: _table("ReducerOptions", (0, "keep_dims", _FLAG)),
    28: _table("SubOptions", (0, "activation", _ACTIVATION)),
    29: _table("DivOptions", (0, "activation", _ACTIVATION)),
    30: _table("SqueezeOptions", (0, "squeeze_dims", Numbers("i4"))),
    32: _table(
        "StridedSliceOptions",
        (0, "begin_mask", _MASK),
        (1, "end_mask", _MASK),
        (2, "ellipsis_mask", _MASK),
        (3, "new_axis_mask", _MASK),
        (4, "shrink_axis_mask", _MASK),
        (5, "offset", _FLAG),
    ),
    35: _table("SplitOptions", (0, "num_splits", _COUNT)),
    39: _table("MaximumMinimumOptions"),
    40: _table("ArgMaxOptions", (0, "output_type", Scalar("i1"))),
    43: _table("PadV2Options"),
    48: _table("SliceOptions"),
    49: _table(
        "TransposeConvOptions",
        (0, "padding", _PADDING),
        (1, "stride_w", _COUNT),
        (2, "stride_h", _COUNT),
        (3, "activation", _ACTIVATION),
    ),
    52: _table("ExpandDimsOptions"),
    57: _table("ArgMinOptions", (0, "output_type", Scalar("i1"))),
    59: _table("PackOptions", (0, "values_count", _COUNT), (1, "axis", _INT)),
    64: _table("UnpackOptions", (0, "num", _COUNT), (1, "axis", _INT)),
    71: _table(
        "UnidirectionalSequenceLSTMOptions",
        (0, "activation", _ACTIVATION),
        (1, "cell_clip", Scalar("f4", 0.0)),
        (3, "time_major", _FLAG),
    ),
    74: _table(
        "ResizeNearestNeighborOptions",
        (0, "align_corners", _FLAG),
        (1, "half_pixel_centers", _FLAG),
    ),
    75: _table("LeakyReluOptions", (0, "alpha", Scalar("f4", 0.0))),
    77: _table("MirrorPadOptions", (0, "mode", Scalar("i1", 0, 0, 1))),
    79: _table("SplitVOptions", (0, "num_splits", _COUNT)),
    89: _table("QuantizeOptions"),
    91: _table("HardSwishOptions"),
    94: _table("DepthToSpaceOptions", (0, "block_size", _COUNT)),
    101: _table("BatchMatMulOptions", (0, "adj_x", _FLAG), (1, "adj_y", _FLAG)),
    102: _table("CumsumOptions", (0, "exclusive", _FLAG), (1, "reverse", _FLAG)),
    103: _table("CallOnceOptions", (0, "init_subgraph", _INT)),
    106: _table(
        "Conv3DOptions",
        (0, "padding", _PADDING),
        (1, "stride_d", _COUNT),
        (2, "stride_w", _COUNT),
        (3, "stride_h", _COUNT),
        (4, "activation", _ACTIVATION),
        (5, "dilation_d", _DILATION),
        (6, "dilation_w", _DILATION),
        (7, "dilation_h", _DILATION),
    ),
    111: _table("VarHandleOptions", (0, "container", Text()), (1, "shared_name", Text())),
    112: _table("ReadVariableOptions"),
    113: _table("AssignVariableOptions"),
    116: _table("GeluOptions", (0, "approximate", _FLAG)),
}

# The table of options that each operator carries. An operator that is not here has none.
OPTIONS_OF = {
    "CONV_2D": 1,
    "DEPTHWISE_CONV_2D": 2,
    "AVERAGE_POOL_2D": 5,
    "MAX_POOL_2D": 5,
    "L2_POOL_2D": 5,
    "SVDF": 6,
    "FULLY_CONNECTED": 8,
    "SOFTMAX": 9,
    "CONCATENATION": 10,
    "ADD": 11,
    "L2_NORMALIZATION": 12,
    "RESIZE_BILINEAR": 15,
    "RESHAPE": 17,
    "SPACE_TO_DEPTH": 19,
    "MUL": 21,
    "PAD": 22,
    "GATHER": 23,
    "TRANSPOSE": 26,
    "MEAN": 27,
    "SUM": 27,
    "REDUCE_MAX": 27,
    "REDUCE_MIN": 27,
    "REDUCE_PROD": 27,
    "REDUCE_ANY": 27,
    "REDUCE_ALL": 27,
    "SUB": 28,
    "DIV": 29,
    "SQUEEZE": 30,
    "STRIDED_SLICE": 32,
    "SPLIT": 35,
    "MAXIMUM": 39,
    "MINIMUM": 39,
    "ARG_MAX": 40,
    "PADV2": 43,
    "SLICE": 48,
    "TRANSPOSE_CONV": 49,
    "EXPAND_DIMS": 52,
    "ARG_MIN": 57,
    "PACK": 59,
    "UNPACK": 64,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 71,
    "RESIZE_NEAREST_NEIGHBOR": 74,
    "LEAKY_RELU": 75,
    "MIRROR_PAD": 77,
    "SPLIT_V": 79,
    "QUANTIZE": 89,
    "HARD_SWISH": 91,
    "DEPTH_TO_SPACE": 94,
    "BATCH_MATMUL": 101,
    "CUMSUM": 102,
    "CALL_ONCE": 103,
    "CONV_3D": 106,
    "VAR_HANDLE": 111,
    "READ_VARIABLE": 112,
    "ASSIGN_VARIABLE": 113,
    "GELU": 116,
}

BLOCKWISE = _table("BlockwiseQuantization", (0, "scales", _INT), (1, "zero_points", _INT),
                   (2, "block_size", _INT))  # fmt: skip
BLOCKWISE_DETAILS = 2
"""Number of ``BLOCKWISE`` in the union ``QuantizationDetails``."""

QUANTIZATION = _table(
    "QuantizationParameters",
    (2, "scale", Numbers("f4")),
    (3, "zero_point", Numbers("i8")),
    (4, "details_type", Scalar("u1")),
    (5, "details", UnionField({BLOCKWISE_DETAILS: BLOCKWISE})),
    (6, "axis", _INT),
)

# How the numbers of an index are stored: the union ``SparseIndexVector``.
_INDICES = {
    number: _table(name, (0, "values", Numbers(code)))
    for number, (name, code) in enumerate(
        (("Int32Vector", "i4"), ("Uint16Vector", "u2"), ("Uint8Vector", "u1")), start=1
    )
}
DIMENSION = _table(
    "DimensionMetadata",
    (0, "format", Scalar("i1", 0, 0, 1)),
    (1, "dense_size", _INT),
    (3, "segments", UnionField(_INDICES)),
    (5, "indices", UnionField(_INDICES)),
)
SPARSITY = _table(
    "SparsityParameters",
    (0, "traversal_order", Numbers("i4")),
    (1, "block_map", Numbers("i4")),
    (2, "dimensions", Children(DIMENSION, "rank")),
)

TENSOR = _table(
    "Tensor",
    (0, "shape", Numbers("i4")),
    (1, "type", Scalar("i1", 0, 0, max(TensorType))),
    (2, "buffer", Scalar("u4")),
    (3, "name", Text()),
    (4, "quantization", Child(QUANTIZATION)),
    (5, "is_variable", _FLAG),
    (6, "sparsity", Child(SPARSITY)),
    (7, "shape_signature", Numbers("i4")),
    (9, "variant_tensors", Presence()),
    (10, "external_buffer", Scalar("u4")),
)

OPERATOR = _table(
    "Operator",
    (0, "opcode_index", Scalar("u4")),
    (1, "inputs", Numbers("i4")),
    (2, "outputs", Numbers("i4")),
    (3, "options_type", Scalar("u1")),
    (4, "options", UnionField(OPTIONS)),
    (5, "custom_options", Numbers("u1")),
)

SUBGRAPH = _table(
    "SubGraph",
    (0, "tensors", Children(TENSOR, "tensors")),
    (1, "inputs", Numbers("i4")),
    (2, "outputs", Numbers("i4")),
    (3, "operators", Children(OPERATOR, "nodes")),
    (4, "name", Text()),
)

OPERATOR_CODE = _table(
    "OperatorCode",
    (0, "deprecated_builtin_code", Scalar("i1")),
    (1, "custom_code", Text()),
    (2, "version", Scalar("i4", 1)),
    (3, "builtin_code", _INT),
)

BUFFER = _table(
    "Buffer",
    (0, "data", Numbers("u1")),
    (1, "offset", Scalar("u8")),
    (2, "size", Scalar("u8")),
)

MODEL = _table(
    "Model",
    (0, "version", Scalar("u4")),
    (1, "operator_codes", Children(OPERATOR_CODE, "nodes")),
    (2, "subgraphs", Children(SUBGRAPH, "tensors")),
    (4, "buffers", Children(BUFFER, "tensors")),
)
