"""Tactics of each integer op, and the kernels that compute a node on a core.

`RULES` is the place to add a kernel: a tactic that comes first is tried first, the plain one is the
last.

Tests: tests/targets/cortexm/test_kernels.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

from rlx.ir import Refusal, RuleTable, once_per_node, target_hint
from rlx.ops.q import (
    QAdd,
    QArgmax,
    QAveragePool2d,
    QChain,
    QClamp,
    QConcat,
    QConv2d,
    QConvert,
    QDense,
    QDiv,
    QL2Norm,
    QLstmCell,
    QLstmOutput,
    QMatmul,
    QMaximum,
    QMaxPool2d,
    QMean,
    QMinimum,
    QMul,
    QPad,
    QPrelu,
    QRequantize,
    QReshape,
    QResizeBilinear,
    QResizeNearest,
    QSigmoid16,
    QSlice,
    QSoftmax,
    QSoftmax16,
    QSquaredDifference,
    QSub,
    QSvdf,
    QSvdfState,
    QTable,
    QTanh16,
    QTranspose,
    computes_int16,
)
from rlx.ops.real import RealCast, RealDequantize, RealQuantize
from rlx.support.errors import UnsupportedOpError
from rlx.targets import Lowering
from rlx.targets.operands import unsupported
from rlx_cortexm.core import DEFAULT_CORE, CortexCore
from rlx_cortexm.kernels.add.tactic import ADD
from rlx_cortexm.kernels.add_mve.tactic import ADD_MVE
from rlx_cortexm.kernels.add_table.tactic import ADD_TABLE
from rlx_cortexm.kernels.argmax.tactic import ARGMAX
from rlx_cortexm.kernels.cast.tactic import CAST, CAST_REAL
from rlx_cortexm.kernels.channel_table.tactic import CHANNEL_TABLE
from rlx_cortexm.kernels.clamp.tactic import CLAMP
from rlx_cortexm.kernels.conv2d.tactic import CONV2D, CONV2D_PACKED
from rlx_cortexm.kernels.conv2d_blocks.tactic import BLOCKS, POINTWISE_BLOCKS
from rlx_cortexm.kernels.conv2d_mve.tactic import CONV2D_MVE
from rlx_cortexm.kernels.conv2d_winograd.tactic import WINOGRAD
from rlx_cortexm.kernels.convert.tactic import CONVERT
from rlx_cortexm.kernels.copy.tactic import CONCAT, NOTHING, PAD, SLICE, TRANSPOSE
from rlx_cortexm.kernels.dense.tactic import DENSE, DENSE_PACKED
from rlx_cortexm.kernels.dense_mve.tactic import DENSE_MVE
from rlx_cortexm.kernels.dense_quads.tactic import QUADS
from rlx_cortexm.kernels.dense_ternary.tactic import TERNARY
from rlx_cortexm.kernels.depthwise.tactic import DEPTHWISE
from rlx_cortexm.kernels.depthwise_large.tactic import DEPTHWISE_LARGE
from rlx_cortexm.kernels.depthwise_mve.tactic import DEPTHWISE_MVE
from rlx_cortexm.kernels.depthwise_planes.tactic import DEPTHWISE_PLANES
from rlx_cortexm.kernels.dequantize.tactic import DEQUANTIZE
from rlx_cortexm.kernels.div.tactic import DIV
from rlx_cortexm.kernels.extreme.tactic import EXTREME
from rlx_cortexm.kernels.int16 import functions as functions16
from rlx_cortexm.kernels.int16 import tactic as int16
from rlx_cortexm.kernels.l2_norm.tactic import L2_NORM
from rlx_cortexm.kernels.lstm.tactic import LSTM
from rlx_cortexm.kernels.matmul.tactic import MATMUL
from rlx_cortexm.kernels.mean.tactic import MEAN
from rlx_cortexm.kernels.mul.tactic import MUL
from rlx_cortexm.kernels.pool2d.tactic import AVERAGE_POOL, LANES_POOL, MAX_POOL
from rlx_cortexm.kernels.pool2d_mve.tactic import POOL_MVE
from rlx_cortexm.kernels.prelu.tactic import PRELU
from rlx_cortexm.kernels.prelu_lines.tactic import PRELU_LINES
from rlx_cortexm.kernels.quantize.tactic import QUANTIZE
from rlx_cortexm.kernels.resize.tactic import BILINEAR, NEAREST
from rlx_cortexm.kernels.softmax.tactic import SOFTMAX
from rlx_cortexm.kernels.svdf.tactic import SVDF, SVDF_STATE
from rlx_cortexm.kernels.table.tactic import TABLE
from rlx_cortexm.unpacked import unpacking

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from rlx.ir import Node, Op
    from rlx_c.candidate import Candidate
    from rlx_cortexm.tactic import AnyTactic, CoreTactic, Tactic


def _with_narrow_weights(
    tactics: tuple[Tactic, ...], packed: tuple[CoreTactic, ...]
) -> tuple[AnyTactic, ...]:
    """Return tactics for weights of any bits.

    Args:
        tactics: Tactics of kernels, most of which read weights as bytes.
        packed: Tactics of kernels that read packed weights.
    """
    return (*map(unpacking, tactics), *tactics, *packed)


RULES: Final[RuleTable[tuple[AnyTactic, ...]]] = RuleTable(
    "cortexm",
    {
        QAdd: (ADD_MVE, ADD_TABLE, ADD),
        QSquaredDifference: (ADD,),
        QSub: (ADD_MVE, ADD_TABLE, ADD),
        QMul: (MUL,),
        QClamp: (CLAMP,),
        QMaximum: (EXTREME,),
        QMinimum: (EXTREME,),
        QPrelu: (CHANNEL_TABLE, PRELU_LINES, PRELU),
        QChain: (CHANNEL_TABLE,),
        QTable: (TABLE,),
        QRequantize: (TABLE,),
        QConv2d: _with_narrow_weights(
            (
                CONV2D_MVE,
                DEPTHWISE_MVE,
                WINOGRAD,
                DEPTHWISE_PLANES,
                POINTWISE_BLOCKS,
                BLOCKS,
                TERNARY,
                DENSE,
                DEPTHWISE,
                DEPTHWISE_LARGE,
                CONV2D,
            ),
            packed=(DENSE_PACKED, CONV2D_PACKED),
        ),
        QDense: _with_narrow_weights((DENSE_MVE, TERNARY, QUADS, DENSE), packed=(DENSE_PACKED,)),
        QDiv: (DIV,),
        QL2Norm: (L2_NORM,),
        QMatmul: (MATMUL,),
        QAveragePool2d: (POOL_MVE, LANES_POOL, AVERAGE_POOL),
        QMaxPool2d: (POOL_MVE, MAX_POOL),
        QMean: (MEAN,),
        QArgmax: (ARGMAX,),
        QSoftmax: (SOFTMAX,),
        QSoftmax16: (functions16.SOFTMAX,),
        QConcat: (CONCAT,),
        QPad: (PAD,),
        QReshape: (NOTHING,),
        QResizeBilinear: (BILINEAR,),
        QResizeNearest: (NEAREST,),
        QSigmoid16: (functions16.GATE_OF,),
        QSlice: (SLICE,),
        QLstmCell: (LSTM,),
        QLstmOutput: (LSTM,),
        QSvdf: (SVDF,),
        QSvdfState: (SVDF_STATE,),
        QTanh16: (functions16.GATE_OF,),
        QTranspose: (TRANSPOSE,),
        QConvert: (CONVERT,),
        RealCast: (CAST_REAL, CAST),
        RealDequantize: (DEQUANTIZE,),
        RealQuantize: (QUANTIZE,),
    },
    hint=target_hint("cortexm"),
)
"""For each op the tactics that may compute it, the plain one last."""


_ON_INT16: Final[Mapping[type[Op], AnyTactic]] = {
    QAdd: int16.TOTAL,
    QAveragePool2d: AVERAGE_POOL,
    QClamp: CLAMP,
    QConcat: CONCAT,
    QConv2d: int16.LAYER,
    QDense: int16.LAYER,
    QMaxPool2d: MAX_POOL,
    QMean: functions16.MEAN,
    QMul: int16.PRODUCT_OF,
    QPad: PAD,
    QRequantize: int16.REQUANTIZE,
    QReshape: NOTHING,
    QSlice: SLICE,
    QSub: int16.TOTAL,
    QTranspose: TRANSPOSE,
}
"""The tactic of each op of both widths on int16."""


def tactics_of(node: Node) -> tuple[AnyTactic, ...]:
    """Return the tactics that may compute a node."""
    return (_ON_INT16[type(node.op)],) if computes_int16(node) else RULES[type(node.op)]


@dataclass(frozen=True, slots=True)
class Kernels(Lowering):
    """The kernels that can compute a node on a core.

    Attributes:
        candidates: At least one, the plain one last.
    """

    candidates: tuple[Candidate, ...]


def candidates(node: Node, core: CortexCore = DEFAULT_CORE) -> tuple[Candidate, ...]:
    """Return every way to compute a node on a core, the plain one last.

    Raises:
        UnsupportedOpError: The node cannot be computed.
    """
    found = lowering(node, core)
    if isinstance(found, Refusal):
        raise unsupported(node, found.reason)
    return found.candidates


@once_per_node
def lowering(node: Node, core: CortexCore) -> Kernels | Refusal:
    """Return every way to compute a node on a core, or the reason why it is refused."""
    reason = RULES.reason(type(node.op))
    if reason is not None:
        return Refusal(reason)
    try:
        return Kernels(_candidates(node, core))
    except UnsupportedOpError as e:
        return Refusal(e.message)


def _candidates(node: Node, core: CortexCore) -> tuple[Candidate, ...]:
    tactics = [t for t in tactics_of(node) if core.vectors or not t.vectors]
    content = _content(node)
    return tuple(_keyed(way, t.summary, content) for t in tactics for way in t.on(node, core))


def _keyed(way: Candidate, summary: str, content: tuple[Hashable, ...]) -> Candidate:
    """Return a candidate with its tactic's summary and a key of its tables."""
    if way.kernel is None:
        return way
    key = (way.kernel.template, way.table_bytes, content, way.tables)
    return replace(
        way,
        lower=cache(way.lower),
        summary=summary,
        tables=key if way.table_bytes else None,
    )


def _content(node: Node) -> tuple[Hashable, ...]:
    """Return all that a node's tables depend on: constants, attributes but the window."""
    op = node.op
    attributes = (v for name, v in op.attributes().items() if name != "window")
    return (*(o for o in node.operands if o.constant is not None), type(op), *attributes)
