"""Hypothesis strategies of graphs with inputs: one for each op, and small random networks.

Typical use::

    @pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
    @given(data=st.data())
    def test_emitted_code_agrees(op, data):
        case = data.draw(STRATEGIES[op](size=3, weight_types=(DType.I8,)))
        expected = evaluate(case.graph, case.inputs)

Every case keeps within what any target can compute: no sum in any order, raw or with zero points
taken off, and no number shifted left leaves int32.
"""

from strategies import (
    arith,
    compare,
    control,
    functions16,
    fused,
    linear,
    nn,
    pool,
    quantized,
    real,
    recurrent,
    reduce,
    resize,
    shape,
)
from strategies.case import Case, Knobs
from strategies.floats import float_graphs
from strategies.networks import random_graphs
from strategies.table import STRATEGIES

__all__ = [
    "STRATEGIES",
    "Case",
    "Knobs",
    "arith",
    "compare",
    "control",
    "float_graphs",
    "functions16",
    "fused",
    "linear",
    "nn",
    "pool",
    "quantized",
    "random_graphs",
    "real",
    "recurrent",
    "reduce",
    "resize",
    "shape",
]
