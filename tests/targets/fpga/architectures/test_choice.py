"""The core of the chosen architecture, or a refusal that names options with which it fits."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import numpy as np
import pytest

from rlx.driver import driver
from rlx.ir import Dim, DType, Graph, Refusal, TensorType, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QChain, QClamp, QConvert, QMinimum
from rlx.support.errors import DoesNotFitError, EmitError
from rlx.support.spelling import in_python
from rlx_fpga import TARGET, FpgaOptions
from rlx_fpga.architectures import ARCHITECTURES, choice
from rlx_fpga.explore.advice import Advice, DesignTooLargeError, Suggestion
from support.messages import raises
from support.networks.landmarks import landmarks

SMALL = {"dsp": 1, "bram": 1, "lut": 1, "ff": 1}
UNSIGNED = {
    "x_zero_point": 128, "rescale": Rescale.of(1.0), "zero_point": 0, "dtype": DType.I8,
}  # fmt: skip
LARGE = {**SMALL, "lut": 10**9}


@dataclass
class Fake:
    """An architecture that gives reports without hardware.

    Attributes:
        reports: Report, or the error that is raised, for each of its ways to build.
        seen: Options that it was asked to build with.
    """

    reports: list
    seen: list = field(default_factory=list)

    def variants(self, options):
        return [("" if not n else f" --way {n}", replace(options, prefix=f"w{n}"))
                for n in range(len(self.reports))]  # fmt: skip

    def build(self, _, options):
        self.seen.append(options)
        report = self.reports[int((options.prefix or "w0")[1:])]
        if isinstance(report, Exception):
            raise report
        return SimpleNamespace(report={"interval": 100, **report}, report_for=None)


@pytest.fixture
def fakes(monkeypatch):
    """Three architectures, of which the last ones are too large."""
    found = {name: Fake([LARGE]) for name in ARCHITECTURES}
    monkeypatch.setattr(choice, "architecture", found.__getitem__)
    return found


def network():
    graph = Graph("net")
    graph.output(graph.apply(QClamp(low=0), graph.input("x", i8(1, 4))))
    return GraphModule(graph, Stage.MIR)


BUDGETS = Advice(
    (Suggestion("--dsp 9", FpgaOptions(dsp=9)), Suggestion("--fps 5", FpgaOptions(fps=5.0)))
)


@pytest.mark.parametrize(
    ("own", "other", "hint"),
    [
        (BUDGETS, SMALL, "--dsp 9, or --fps 5, or {}"),
        (Advice(otherwise="--dsp 9 is not enough"), SMALL, "{}"),
        (Advice(), SMALL, "{}"),
        ("use wider streams", SMALL, "{}"),
        (BUDGETS, LARGE, "--dsp 9, or --fps 5"),
        (Advice(otherwise="make it smaller"), DoesNotFitError("no"), "make it smaller"),
        ("--dsp 9 is not enough", DoesNotFitError("no"), "--dsp 9 is not enough"),
    ],
)
def test_a_core_that_cannot_be_is_advised_about(fakes, own, other, hint):
    """Hints of another architecture come after options of this one, else in their place."""
    if isinstance(own, Advice):
        error = DesignTooLargeError("too large", where="graph 'net'", advice=own)
    else:
        error = DoesNotFitError("too large", where="graph 'net'", hint=own)
    fakes["dataflow"].reports = [error]
    fakes["engine"].reports = [other]
    with pytest.raises(DoesNotFitError) as caught:
        choice.build_with_advice(network(), FpgaOptions())
    error = caught.value
    assert (error.message, error.where) == ("too large", "graph 'net'")
    assert error.hint == in_python(hint.format("--architecture engine"))


def test_another_device_is_named_where_no_option_and_no_architecture_helps(fakes, monkeypatch):
    def build(_, options):
        if options.device != "zu3eg" or options.dsp is not None:
            raise DoesNotFitError("too large", where="graph 'net'")
        return SimpleNamespace(report={"interval": 100, **SMALL}, report_for=None)

    monkeypatch.setattr(fakes["dataflow"], "build", build, raising=False)
    with pytest.raises(DoesNotFitError) as caught:
        choice.build_with_advice(network(), FpgaOptions(device="ecp5-25k", dsp=28))
    assert caught.value.hint == 'device="zu3eg" without dsp'


def test_a_core_that_can_be_is_built_even_if_it_is_too_large(fakes):
    fakes["engine"].reports = [SMALL]
    assert choice.build_with_advice(network(), FpgaOptions()).report["lut"] == 10**9
    assert fakes["engine"].seen == []


def flags_of(suggestions):
    return [suggestion.flags for suggestion in suggestions]


def require_fit(options):
    core = choice.build(network(), options)
    choice.require_fit(network(), core, options)


def test_a_design_that_fits_is_not_refused(fakes):
    fakes["engine"].reports = [SMALL, LARGE]
    require_fit(FpgaOptions(architecture="engine"))
    assert len(fakes["engine"].seen) == 1


def test_smaller_ways_come_before_other_architectures(fakes):
    fakes["dataflow"].reports = [LARGE, DoesNotFitError("no"), SMALL, SMALL]
    fakes["engine"].reports = [LARGE, SMALL]
    with pytest.raises(DoesNotFitError) as caught:
        require_fit(FpgaOptions())
    assert caught.value.hint == 'way=2, or architecture="engine", way=1'


def test_the_report_for_other_options_is_used_where_the_hardware_would_be_the_same(fakes):
    """A larger device is found without building anything again."""
    fakes["dataflow"].reports = [LARGE]
    options = FpgaOptions(device="ecp5-25k")
    core = choice.build(network(), options)
    core.report_for = lambda other: {**(SMALL if other.device == "zu7ev" else LARGE)}
    with pytest.raises(DoesNotFitError) as caught:
        choice.require_fit(network(), core, options)
    assert caught.value.hint == 'device="zu7ev"'
    assert len(fakes["dataflow"].seen) == 1


@pytest.mark.parametrize(
    ("interval", "rate", "offered"),
    [(1000, 75_000.0, True), (1001, 75_000.0, False), (10**9, None, True)],
)
def test_another_architecture_must_reach_the_rate(fakes, interval, rate, offered):
    """At 75 MHz, 75,000 frames in a second leave 1000 cycles for each."""
    fakes["parallel"].reports = [LARGE, {**SMALL, "interval": interval}]
    options = FpgaOptions(clock=75e6, fps=rate)
    assert flags_of(choice._fitting_architectures(network(), options)) == (
        ["--architecture parallel --way 1"] if offered else []
    )


def test_each_other_architecture_is_tried_with_its_defaults_until_it_fits(fakes):
    fakes["dataflow"].reports = fakes["parallel"].reports = [SMALL, SMALL]
    options = FpgaOptions(architecture="engine", weights="stream", dsp=3)
    found = flags_of(choice._fitting_architectures(network(), options))
    assert found == ["--architecture dataflow", "--architecture parallel"]
    assert fakes["engine"].seen == []
    for name in ("dataflow", "parallel"):
        (seen,) = fakes[name].seen
        assert (seen.architecture, seen.weights, seen.fold, seen.dsp) == (name, "mem", (), 3)
    folded = FpgaOptions(fold=(("n0", 1, 1),))
    assert flags_of(choice._fitting_architectures(network(), folded)) == ["--architecture parallel"]
    assert fakes["parallel"].seen[-1].fold == ()


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize(
    "kind",
    [
        TensorType((1, 4), DType.I32),
        TensorType((Dim("n"), 4), DType.I8),
        TensorType((1, 4), DType.F32),
    ],
)
def test_an_input_that_no_stream_can_carry_is_refused(name, kind):
    graph = Graph("net")
    graph.input("y", i8(1, 4))
    graph.output(graph.input("x", kind))
    with raises(EmitError):
        choice.build(GraphModule(graph, Stage.MIR), FpgaOptions(architecture=name))


def test_a_refusal_names_only_architectures_that_can_build_the_node():
    graph = Graph("net")
    x, y = (graph.input(name, i8(1, 4)) for name in "xy")
    smaller = graph.apply(QMinimum(), x, y).node
    assert choice.lowering(smaller, "engine") == Refusal(
        "the array keeps the larger of two values, not the smaller;"
        " --architecture dataflow or parallel can build it",
        "use --architecture dataflow or parallel",
    )
    for name in ("dataflow", "parallel"):
        assert not hasattr(choice.lowering(smaller, name), "reason")
    code = graph.apply(QConvert(**UNSIGNED), graph.input("z", TensorType((4,), DType.U8))).node
    for name in ARCHITECTURES:
        assert "--architecture" not in (choice.lowering(code, name).hint or "")


def test_an_output_that_is_a_constant_is_named():
    graph = Graph("net")
    graph.input("x", i8(1, 4))
    graph.output(graph.constant(np.ones((1, 4), np.int8), name="one"))
    with raises(EmitError):
        choice.build(GraphModule(graph, Stage.MIR), FpgaOptions())


@pytest.mark.parametrize(("budget", "has_chains"), [(16, False), (100, True)])
def test_chains_whose_memories_exceed_the_budget_are_built_as_ops(budget, has_chains):
    options = FpgaOptions(bram=budget)
    module = driver.lower(landmarks(16, (64,)), TARGET, options=options).module
    core = choice.build(module, options)
    assert any(isinstance(node.op, QChain) for node in core.nodes) is has_chains
    choice.require_fit(module, core, options)


def test_a_design_that_fits_in_neither_form_is_refused():
    options = FpgaOptions(bram=4)
    module = driver.lower(landmarks(16, (64,)), TARGET, options=options).module
    with raises(DoesNotFitError):
        choice.require_fit(module, choice.build(module, options), options)
