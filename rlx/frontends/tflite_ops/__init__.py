"""Importers of TFLite operators: one module for each family, one function for each operator."""

from rlx.frontends.tflite_ops import (  # noqa: F401 - importing a family fills the table
    arith,
    compare,
    conv,
    known,
    linear,
    pool,
    reduce,
    shape,
    slices,
    softmax,
    table,
)
from rlx.frontends.tflite_ops.call import IMPORTERS, Call

__all__ = ["IMPORTERS", "Call", "known"]
