"""Every op of reals: converted into a valid graph near the float one, or refused with a reason."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlx.ir import DType, Input, Value, rebuild
from rlx.ir.evaluate import evaluate
from rlx.ir.module import GraphModule, Stage
from rlx.ir.verify import verify
from rlx.ops.nn import NN_OPS
from rlx.ops.real import REAL_OPS
from rlx.passes.quantize import convert, prepare
from rlx.passes.quantize.rules import RULES
from rlx.support.errors import QuantizationError, RlxError, UnsupportedOpError
from strategies import STRATEGIES
from support.quant_support import calibrated


def every(ops):
    return pytest.mark.parametrize("op", ops, ids=lambda op: op.name)


@every(REAL_OPS)
def test_an_op_is_a_function_of_one_number_or_has_a_rule_or_a_reason(op):
    assert RULES.knows(op) or op.traits.elementwise


def with_one_input(case):
    """Return the case's graph with all inputs but the first float one constant, and that one."""
    floats = [v.name for v in case.graph.inputs if v.type.dtype is DType.F32]

    def visit(new, node, operands):
        if isinstance(node.op, Input) and node.name not in floats[:1]:
            return [new.constant(case.inputs[node.name])]
        return None

    return rebuild(case.graph, visit), {n: case.inputs[n] for n in floats[:1]}


def converted_or_refused(graph, inputs):
    """Return the integer graph, or the refusal."""
    try:
        fitted = prepare(graph).graph
        return convert(fitted, calibrated(fitted, [inputs])).graph
    except (UnsupportedOpError, QuantizationError) as error:
        return error


@every([op for op in (*NN_OPS, *REAL_OPS) if not op.name.endswith("quantize")])
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_op_is_converted_or_refused(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    for graph, inputs in ((case.graph, case.inputs), with_one_input(case)):
        if not inputs or any(v.type.dtype is not DType.F32 for v in graph.inputs):
            continue
        with np.errstate(all="ignore"):
            found = converted_or_refused(graph, inputs)
        if isinstance(found, RlxError):
            assert found.where
            assert found.hint
            continue
        verify(GraphModule(found, Stage.MIR))
        with np.errstate(all="ignore"):
            wanted, given_ = evaluate(graph, inputs), evaluate(found, inputs)
        assert [(x.shape, x.dtype) for x in wanted] == [(x.shape, x.dtype) for x in given_]
        assert all(isinstance(v, Value) for v in found.outputs)
