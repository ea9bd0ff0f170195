"""Importers of TFLite operators: one module for each family, one function for each operator."""

from rlx.frontends.tflite.ops import (  # noqa: F401 - importing a family fills the table
    arith,
    blocks,
    boundary,
    compare,
    conv,
    create,
    functions,
    known,
    linear,
    lstm,
    norm,
    places,
    pool,
    recurrent,
    reduce,
    resize,
    running_sum,
    selections,
    shape,
    slices,
    softmax,
    strided,
    table,
    transposed,
)
from rlx.frontends.tflite.ops.call import Call
from rlx.frontends.tflite.ops.importers import IMPORTERS, REAL_IMPORTERS

__all__ = ["IMPORTERS", "REAL_IMPORTERS", "Call", "known"]
