"""Kernels of the ops, a module for a family of them."""

from rlx.ir.graph import Source
from rlx.ops import ALL_OPS, nn, q
from rlx_wgpu.lowerings import elementwise, layers, move, reduce, resize
from rlx_wgpu.rules import RULES, refusal_of

_RECURRENT = q.QLstmCell, q.QLstmOutput, q.QSvdf, q.QSvdfState
RULES.refuse("its state is int16; the backend computes int8", *_RECURRENT)
_FUNCTIONS = q.QSigmoid16, q.QSoftmax16, q.QTanh16
RULES.refuse("its activations are int16; the backend computes int8", *_FUNCTIONS)
RULES.refuse("its decomposition is run", *(op for op in ALL_OPS if issubclass(op, nn.NnOp)))
RULES.refuse("its ops are run", q.QChain)
_OTHERS = [op for op in ALL_OPS if op not in RULES and not issubclass(op, nn.NnOp | Source)]
RULES.refuse("the backend computes integers of quantized networks only", *_OTHERS)

__all__ = ["RULES", "elementwise", "layers", "move", "reduce", "refusal_of", "resize"]
