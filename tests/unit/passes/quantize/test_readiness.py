"""Advice to quantize a network is given where its ops have integer forms, and only there."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlx
from rlx.ir import DType, GraphModule
from rlx.ops.control import CONTROL_OPS
from rlx.ops.nn import NN_OPS
from rlx.ops.real import REAL_OPS
from rlx.support.errors import DoesNotFitError, QuantizationError, UnsupportedOpError, UsageError
from rlx.targets import quantize_hint
from strategies import STRATEGIES

FLOATS = [op for op in (*NN_OPS, *REAL_OPS, *CONTROL_OPS) if not op.name.endswith("quantize")]


def refused(graph, inputs):
    """Return the error of ops without an integer form, or None."""
    samples = {name: np.stack([array] * 2) for name, array in inputs.items()}
    try:
        with np.errstate(all="ignore"):
            rlx.quantize(GraphModule.hir(graph), samples)
    except UnsupportedOpError as error:
        return error
    except (UsageError, QuantizationError, DoesNotFitError):
        # About the numbers of these samples, not the ops.
        return None
    return None


@pytest.mark.slow
@pytest.mark.parametrize("op", FLOATS, ids=lambda op: op.name)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_advice_is_what_a_quantization_with_samples_does(op, data):
    case = data.draw(STRATEGIES[op](size=3))
    if not all(v.type.dtype is DType.F32 for v in case.graph.inputs) or not case.inputs:
        return
    error, hint = refused(case.graph, case.inputs), quantize_hint(case.graph)
    if error is not None:
        assert hint.startswith(f"{error.hint}: {error.message.splitlines()[0]}")
