"""Random float networks of ``strategies.float_graphs``, quantized, with int8 inputs and outputs."""

from __future__ import annotations

import functools

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from rlx.ir import GraphModule, Stage
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.passes.quantize import WeightScheme, convert, prepare
from strategies import Case, float_graphs
from support.quant_support import calibrated, without_boundaries

SCHEMES = (WeightScheme(8), WeightScheme(4), WeightScheme(2), WeightScheme(8, per_channel=False))


def quantized(case: Case, scheme: WeightScheme) -> Case:
    """Return a float network as one of int8 inputs and outputs."""
    graph = prepare(case.graph).graph
    converted = convert(graph, calibrated(graph, [case.inputs]), scheme)
    verify(GraphModule(converted.graph, Stage.MIR))
    inner = without_boundaries(converted.graph)
    outer, made = graph.inputs[0], inner.inputs[0]
    op = converted.graph.users()[converted.graph.inputs[0]][0].op
    (steps,) = op.evaluate(case.inputs[outer.name])
    # Taking the boundaries off changes nothing else.
    (reals,) = evaluate(converted.graph, case.inputs)
    (found,) = evaluate(inner, {made.name: steps})
    last = converted.graph.outputs[0].node.op
    assert np.array_equal(last.evaluate(found)[0], reals)
    return Case(inner, {made.name: steps})


@functools.cache
def quantized_networks(batch: int, count: int) -> tuple[Case, ...]:
    """Return quantized random networks, always the same."""
    found: list[Case] = []

    @settings(
        max_examples=count,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(float_graphs(size=3, batch=batch))
    def collect(case: Case) -> None:
        found.append(quantized(case, SCHEMES[len(found) % len(SCHEMES)]))

    collect()
    return tuple(found)
