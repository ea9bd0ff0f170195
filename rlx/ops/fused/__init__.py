"""Several ops as one, made by fusion on the way to a backend of the host.

Each holds the ops it replaces as its body, a graph, and has its meaning. Emitters never see them.
"""

from rlx.ops.fused.activation import NAMED, Activation
from rlx.ops.fused.attention import AttentionForm, FusedAttention, ScoreStep, ScoreStepKind
from rlx.ops.fused.base import Fused
from rlx.ops.fused.elementwise import ElementwiseForm, FusedElementwise
from rlx.ops.fused.gated import FusedGated, GatedForm
from rlx.ops.fused.norm import FusedNorm, FusedResidualNorm, NormForm
from rlx.ops.fused.product import FusedConv, FusedMatmul, ProductForm
from rlx.ops.fused.softmax import FusedSoftmax, SoftmaxForm

FUSED_OPS = (
    FusedAttention, FusedConv, FusedElementwise, FusedGated, FusedMatmul, FusedNorm,
    FusedResidualNorm, FusedSoftmax,
)  # fmt: skip
"""Every fused op, in alphabetical order."""

__all__ = [
    "FUSED_OPS",
    "NAMED",
    "Activation",
    "AttentionForm",
    "ElementwiseForm",
    "Fused",
    "FusedAttention",
    "FusedConv",
    "FusedElementwise",
    "FusedGated",
    "FusedMatmul",
    "FusedNorm",
    "FusedResidualNorm",
    "FusedSoftmax",
    "GatedForm",
    "NormForm",
    "ProductForm",
    "ScoreStep",
    "ScoreStepKind",
    "SoftmaxForm",
]
