"""Rules of the conversion, one module a family, as ``rlx.ops.q`` has them."""

from rlx.passes.quantize.rules import (
    arith,
    boundary,
    compare,
    index,
    integers,
    linear,
    pool,
    reduce,
    refused,
    shape,
    softmax,
    stepped,
)
from rlx.passes.quantize.rules.call import (
    RULES,
    Conversion,
    NodeConversion,
    Rule,
    place_of,
    quant_of,
)

__all__ = [
    "RULES",
    "Conversion",
    "NodeConversion",
    "Rule",
    "arith",
    "boundary",
    "compare",
    "index",
    "integers",
    "linear",
    "place_of",
    "pool",
    "quant_of",
    "reduce",
    "refused",
    "shape",
    "softmax",
    "stepped",
]
