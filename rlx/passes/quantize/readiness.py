"""Readiness of a float graph for an integer form: a decision over its ops, without samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ops.real import RealDequantize
from rlx.passes.dead_code import DeadCode
from rlx.passes.fold_constants import FoldConstants
from rlx.passes.index_chains import IndexChains
from rlx.passes.quantize.convert import Converted, convert, prepare
from rlx.passes.quantize.fold_batch_norm import FoldBatchNorm
from rlx.passes.quantize.islands import TabulateIslands, floats_within
from rlx.passes.quantize.linear_form import LinearForm
from rlx.passes.quantize.single import in_float32
from rlx.passes.unroll import unroll
from rlx.support.errors import QuantizationError, UnsupportedOpError

if TYPE_CHECKING:
    from rlx.ir import Graph


def simplified(graph: Graph, *, keep_stored: bool = True) -> Graph:
    """Return a float graph as calibration sees it: unrolled, constants and batch norms folded.

    Products with constant matrices are dense layers.

    Args:
        graph: The graph.
        keep_stored: Whether weights that the graph stores as integers stay these.
    """
    keep = (RealDequantize,) if keep_stored else ()
    folded = FoldConstants(keep=keep, keep_narrow=True).apply(_plain(graph))
    return DeadCode().apply(FoldBatchNorm().apply(LinearForm().apply(folded)))


def prepared(graph: Graph) -> Graph:
    """Return a simplified graph in the ops that are converted.

    Ops that are written in simpler ones become products with matrices too.

    Raises:
        UnsupportedOpError: Something has no integer form.
    """
    made = prepare(DeadCode().apply(graph)).graph
    return DeadCode().apply(LinearForm().apply(made))


def _plain(graph: Graph) -> Graph:
    """Return a graph without loops of known length and without long chains of indices."""
    return IndexChains().apply(unroll(graph))


def calibration_error(graph: Graph) -> UnsupportedOpError | QuantizationError | None:
    """Return the error of a quantization with any samples; None if all ops have integer forms."""
    try:
        prepare(simplified(in_float32(graph)))
    except (UnsupportedOpError, QuantizationError) as error:
        return error
    return None


def converted(graph: Graph) -> Converted:
    """Return the integer graph of one that holds its own scales, with these.

    Raises:
        QuantizationError: A value has no scale.
        UnsupportedOpError: Something has no integer form.
    """
    plain = _plain(in_float32(graph))
    tables = TabulateIslands().apply(plain)
    done = tables is not plain and not floats_within(tables)
    return Converted(tables, {}, {}, ()) if done else convert(tables, {})


def conversion_error(graph: Graph) -> UnsupportedOpError | QuantizationError | None:
    """Return the error of a conversion by the graph's own scales; None if it succeeds."""
    try:
        converted(graph)
    except (UnsupportedOpError, QuantizationError) as error:
        return error
    return None
