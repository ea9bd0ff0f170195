"""Every integer op, and small networks, on every target: what is emitted computes the same bits.

Cases come from ``strategies``. Several of them go into one graph side by side, so that a compiler
or simulator is built once for all; the graph takes the way of ``rlx emit``: pass pipeline, memory
plan, emission, output folder, simulator of ``rlx_sim``.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from rlx.driver.driver import emit, lower
from rlx.driver.reference import reference_outputs
from rlx.ir import Graph, Input, i8
from rlx.ir.graph import copy_node
from rlx.ir.module import GraphModule, Stage
from rlx.ir.printer import format_graph
from rlx.ops.numerics.exponential import softmax_scaling
from rlx.ops.q import Q_OPS, QArgmax, QReshape, QSoftmax
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx.targets import load, names, verifier
from rlx_fpga.architectures import ARCHITECTURES, DEFAULT
from rlx_sim.protocol import compare
from strategies import STRATEGIES, Case, random_graphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rlx.ir import Array, Node, Op, Value
    from rlx_sim.protocol import Simulator

FRAMES = 12
DRAWN = 80
STEP = 8
TIMEOUT_S = 300.0
GROUP = 3
"""Ops whose cases share a build."""

OP_GROUPS = [Q_OPS[i : i + GROUP] for i in range(0, len(Q_OPS), GROUP)]


@dataclass(frozen=True)
class Runner:
    """A target and a simulator of what it emits.

    Attributes:
        target: Name of the target.
        variant: Name of these options among the target's runners.
        options: Options of the target.
        simulator: Runs an emitted folder.
        cases: Cases of each op.
        batch: Largest leading dimension.
    """

    target: str
    variant: str
    options: Any
    simulator: Simulator
    cases: int
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.variant}-{self.simulator.name}"


MARKS = {
    "host-c": (),
    "host-program": (),
    "qemu": (pytest.mark.qemu,),
    "unicorn": (pytest.mark.qemu,),
}
CASES = {"host-c": 4, "host-program": 4, "verilator": 3}
BATCHES = {"fpga": 1}
VARIANTS: dict[str, dict[str, tuple[dict[str, Any], int]]] = {
    "fpga": {
        DEFAULT: ({}, CASES["verilator"]),
        **{
            name: ({"architecture": name, "device": "zu7ev"}, 1)
            for name in ARCHITECTURES
            if name != DEFAULT
        },
    }
}
"""For a target, its ways to build: options, and cases of each op."""


def runners() -> Iterator[Any]:
    """Yield every installed target, in each variant, with each simulator of its verifier."""
    for target in names():
        for name, simulator in verifier.load(target).simulators().items():
            plain = {target: ({}, CASES.get(name, 5))}
            for variant, (chosen_options, cases) in VARIANTS.get(target, plain).items():
                options = load(target).options(**chosen_options)
                batch = BATCHES.get(target, 2)
                runner = Runner(target, variant, options, simulator, cases, batch)
                where = name if variant in (target, DEFAULT) else f"{name}-{variant}"
                yield pytest.param(runner, marks=MARKS.get(name, (pytest.mark.sim,)), id=where)


RUNNERS = list(runners())


@functools.cache
def drawn(op: type[Op] | None, batch: int) -> tuple[Case, ...]:
    """Return different cases of an op, or networks: those that show most first, always the same.

    What is one code everywhere shows little, so cases are sorted by the number of different codes
    in their outputs, and taken from all over the better half.
    """
    found: dict[str, Case] = {}
    strategy = random_graphs if op is None else STRATEGIES[op]

    # A failure names its graph; shrinking would build hundreds of simulators.
    @settings(
        max_examples=DRAWN,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(strategy(size=3, batch=batch))
    def collect(case: Case) -> None:
        found.setdefault(format_graph(case.graph), case)

    collect()
    cases = sorted(found.values(), key=_variety, reverse=True)
    half = (len(cases) + 1) // 2
    return tuple(cases[i] for first in range(STEP) for i in range(first, half, STEP)) + tuple(
        cases[half:]
    )


def chosen(op: type[Op] | None, runner: Runner, count: int) -> list[Case]:
    """Return cases that the runner's target takes."""
    return list(itertools.islice((c for c in drawn(op, runner.batch) if lowers(c, runner)), count))


def _variety(case: Case) -> int:
    """Return the number of different codes that the outputs hold."""
    outputs = reference_outputs(case.graph, frames_of(case, 4)).outputs
    return sum(len(np.unique(y)) for y in outputs)


def frames_of(case: Case, count: int) -> tuple[Array, ...]:
    """Return for each input the case's own value and random ones, [count, *shape]."""
    generator = np.random.default_rng(3)
    frames = []
    for value in case.graph.inputs:
        own = case.inputs[value.name][np.newaxis]
        more = generator.integers(-128, 128, (count - 1, *own.shape[1:]))
        frames.append(np.concatenate([own, more.astype(np.int8)]))
    return tuple(frames)


def softmax_of_many_codes() -> Case:
    """Sums of exponentials from 512 on, where every probability is below half a step."""
    multiplier, left_shift, diff_min = softmax_scaling(0.05)
    graph = Graph("case")
    x = graph.input("x", i8(1, 600))
    op = QSoftmax(multiplier=multiplier, left_shift=left_shift, diff_min=diff_min)
    graph.output(graph.apply(op, x, name="op"), names=["result"])
    return Case(graph, {"x": np.full((1, 600), 9, np.int8)})


NEVER_ALONE = (QArgmax, QReshape, QSoftmax)
"""Ops that the engine does on the way of other ops: its networks have them."""

MORE_CASES = {QSoftmax: (softmax_of_many_codes(),)}


def lowers(case: Case, runner: Runner) -> bool:
    """Whether the target takes the case; what it does not take it must refuse."""
    target = load(runner.target)
    try:
        lowered = lower(GraphModule(case.graph, Stage.MIR), target, options=runner.options)
        target.estimate(lowered.module, runner.options)
    except (UnsupportedOpError, DoesNotFitError, EmitError):
        return False
    return True


def side_by_side(cases: Sequence[Case]) -> Case:
    """Return one graph that holds those of all cases, and all inputs."""
    graph = Graph("cases")
    inputs: dict[str, Array] = {}
    for index, case in enumerate(cases):
        mapped: dict[Value, Value] = {}
        for node in case.graph.nodes:
            mapped.update(zip(node.results, _copy(graph, node, mapped, index), strict=True))
        inputs.update({f"c{index}_{name}": x for name, x in case.inputs.items()})
        names = [f"c{index}_{name}" for name in case.graph.output_names]
        graph.output(*(mapped[o] for o in case.graph.outputs), names=names)
    return Case(graph, inputs)


def _copy(graph: Graph, node: Node, mapped: dict[Value, Value], index: int) -> Sequence[Value]:
    if isinstance(node.op, Input):
        return [graph.input(f"c{index}_{node.name}", node.result.type)]
    return copy_node(graph, node, tuple(mapped[o] for o in node.operands)).results


def check(runner: Runner, cases: Sequence[Case], folder: Path) -> None:
    """Emit the cases in one design, run it on the cases' inputs and on random ones, compare."""
    case = side_by_side(cases)
    owners = [index for index, one in enumerate(cases) for _ in one.graph.outputs]
    vectors = reference_outputs(case.graph, frames_of(case, FRAMES))
    module, target = GraphModule(case.graph, Stage.MIR), load(runner.target)
    emit(module, target, folder / "out", options=runner.options, golden=vectors)
    simulation = runner.simulator.simulate(folder / "out", vectors, timeout_s=TIMEOUT_S)
    wrong = compare(str(runner), simulation, vectors)
    if wrong:
        graph = cases[owners[wrong[0].output]].graph
        pytest.fail(f"{wrong[0]}\n{format_graph(graph)}", pytrace=False)


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("ops", OP_GROUPS, ids=lambda ops: "-".join(o.name[2:] for o in ops))
def test_ops(runner: Runner, ops: Sequence[type[Op]], tmp_path: Path) -> None:
    target = load(runner.target)
    cases: list[Case] = []
    for op in ops:
        taken = chosen(op, runner, runner.cases)
        why = target.reason(op, runner.options)
        alone = runner.variant == "engine" and op in NEVER_ALONE
        assert taken or why or alone, f"{runner} takes no case of {op.name}"
        cases += [*taken, *(case for case in MORE_CASES.get(op, ()) if lowers(case, runner))]
    if cases:
        check(runner, cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("part", range(2))
def test_networks(runner: Runner, part: int, tmp_path: Path) -> None:
    check(runner, chosen(None, runner, 2 * runner.cases)[part::2], tmp_path)


def test_every_installed_target_runs() -> None:
    found = {param.values[0].target for param in RUNNERS}
    assert sorted(set(names()) - found) == []
