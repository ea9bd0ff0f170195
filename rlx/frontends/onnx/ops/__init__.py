"""Importers of ONNX operators: one module for each family, one function for each operator."""

from rlx.frontends.onnx.ops import (  # noqa: F401 - importing a family fills the table
    activation,
    arith,
    attention,
    classic,
    conv,
    create,
    det,
    einsum,
    grid_sample,
    index,
    linear,
    linear_attention,
    microsoft,
    norm,
    pool,
    qlinear,
    qonnx,
    qonnx_more,
    quantize,
    recurrent,
    reduce,
    regions,
    resample,
    shape,
    signal,
    slices,
    symbols,
)
from rlx.frontends.onnx.ops.call import Call
from rlx.frontends.onnx.ops.registry import IMPORTERS, SYMBOLIC
from rlx.frontends.onnx.ops.scope import Real, Scope

__all__ = ["IMPORTERS", "SYMBOLIC", "Call", "Real", "Scope"]
