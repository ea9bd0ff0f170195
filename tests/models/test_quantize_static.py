"""The files of ONNX Runtime's quantizer: the numbers of ONNX Runtime, and integer networks."""

import numpy as np
import pytest

from rlx.ir.evaluate import evaluate
from rlx.passes.quantize import convert
from rlx.support.errors import UnsupportedOpError
from support.files.onnx_builder import by_runtime, load
from support.files.quantize_static import FORMS, NETWORKS, TYPES, quantized

pytestmark = pytest.mark.slow

every_file = pytest.mark.parametrize(
    ("name", "form", "types", "per_channel"),
    [(n, f, t, c) for n in NETWORKS for f in FORMS for t in TYPES for c in (False, True)],
    ids=lambda v: "-".join(v) if isinstance(v, tuple) else str(v),
)


@every_file
def test_a_file_runs_and_becomes_an_integer_network(tmp_path, name, form, types, per_channel):
    data, samples = quantized(tmp_path, name, form, types, per_channel=per_channel)
    graph = load(data)
    expected = [by_runtime(data, x)[0] for x in samples]
    found = [evaluate(graph, {"x": x})[0] for x in samples]
    assert all(map(np.array_equal, found, expected))
    if _has_zero_points(graph):
        with pytest.raises(UnsupportedOpError, match="its weights have a zero point"):
            convert(graph, {})
        return
    made = convert(graph, {}).graph
    assert {n.op.dialect for n in made.op_nodes} == {"q", "real"}
    whole = [evaluate(made, {"x": x})[0] for x in samples]
    step = made.outputs[0].node.op.quant.scale[0]
    apart = max(float(np.abs(a - b).max()) for a, b in zip(whole, expected, strict=True)) / step
    # A float Tanh between quantized layers becomes a table of another scale; the softmax of
    # integers is that of TFLM, within a step of the float one.
    steps = {("of one axis", "QDQ"): 2, ("of one axis", "QOperator"): 2, ("residual", "QDQ"): 1}
    assert round(apart, 3) <= steps.get((name, form), 0)


def _has_zero_points(graph):
    """Return whether weights have zero points that int8 weights cannot do without."""
    for node in graph.op_nodes:
        for operand in node.operands[1:2]:
            quant = getattr(node.op, "w_quant", None) or operand.type.quant
            stored = operand.node.operands[0] if operand.node.operands else operand
            quant = quant or stored.type.quant
            array = stored.constant
            if quant is not None and array is not None and array.dtype == np.uint8:
                zeros = np.array(quant.zero_point)
                centred = (
                    array.astype(int).min() - zeros.max(),
                    array.astype(int).max() - zeros.min(),
                )
                if centred[0] < -128 or centred[1] > 127:
                    return True
    return False
