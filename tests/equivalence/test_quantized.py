"""Random float networks, quantized: what is emitted computes the bits of the reference.

Networks come from ``strategies.float_graphs``, calibrated on one sample; weights have 8, 4 or 2
bits. Several go into one design, so that a compiler or simulator runs once for all.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from equivalence.test_targets import RUNNERS, Runner, check, lowers
from hypothesis import HealthCheck, Phase, given, settings
from quant_support import calibrated, without_boundaries

from rlx.ir import GraphModule, Stage
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.quant import WeightScheme, convert, prepare
from strategies import Case, float_graphs

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = 420
"""Networks that are drawn; targets take nearly all of them."""

FEW = 60
"""Networks that are drawn for the short form."""

SHARES = {"host-c": (300, 20, 2), "verilator": (60, 5, 1)}
"""For simulators: networks in all, in one design, and designs of the short form."""

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
def networks(batch: int, count: int) -> tuple[Case, ...]:
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


def designs() -> list[object]:
    """Return each runner with the numbers of its designs; the first ones are the short form."""
    params = []
    for param in RUNNERS:
        if param.id not in SHARES:
            continue
        total, together, short = SHARES[param.id]
        for number in range(total // together):
            marks = [*param.marks, *([pytest.mark.campaign] if number >= short else [])]
            params.append(
                pytest.param(
                    *param.values, param.id, number, marks=marks, id=f"{param.id}-{number}"
                )
            )
    return params


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "name", "number"), designs())
def test_quantized_networks(runner: Runner, name: str, number: int, tmp_path: Path) -> None:
    _, together, short = SHARES[name]
    taken = (
        c for c in networks(runner.batch, FEW if number < short else DRAWN) if lowers(c, runner)
    )
    first = number * together
    cases = list(itertools.islice(taken, first, first + together))
    assert len(cases) == together
    check(runner, cases, tmp_path)
