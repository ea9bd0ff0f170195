"""The door for backends, and the report of what they do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import rlx
from rlx.ir import Refusal, RuleTable, f32
from rlx.ops.nn import NnRelu, NnSoftmax
from rlx.ops.real import RealAdd, RealMaximum, RealReduceMax
from rlx.passes import Policies, Policy
from rlx.runtime import CompileOptions, Device, Session, backend
from rlx.runtime.numpy_backend import BACKEND, NumpyProgram
from rlx.support.errors import (
    BackendWarning,
    PluginWarning,
    TargetNotFoundError,
    UnsupportedOpError,
)
from support.messages import raises

RULES: RuleTable[None] = RuleTable("backend toy")
RULES.rule(NnRelu, RealAdd, RealMaximum)(None)
RULES.refuse("it has no reductions", RealReduceMax)


@dataclass
class Toy:
    """A backend with three ops, that computes by NumPy and remembers what it was given."""

    name: str = "toy"
    devices: tuple[Device, ...] = (Device.GPU, Device.CPU)
    rank: int = 5
    trouble: str | None = None
    given: list = field(default_factory=list)

    def unavailable(self, device):
        return self.trouble

    def refusal(self, node):
        reason = RULES.reason(type(node.op))
        return None if reason is None else Refusal(reason)

    def claims(self, op):
        return op in RULES

    def plan(self, module, options):
        return BACKEND.plan(module, options)

    def compile(self, module, options):
        self.given.append(module.graph)
        return NumpyProgram(module, options)


@pytest.fixture
def toy(monkeypatch):
    toy = Toy()
    monkeypatch.setattr(backend, "backends", lambda: (toy, BACKEND))
    return toy


def test_the_numpy_backend_comes_in_by_its_entry_point():
    assert [b.name for b in backend.backends()] == ["numpy", "native", "wgpu", "xla"]
    assert backend.backends()[0] is BACKEND


def test_the_highest_rank_is_taken_unless_told_otherwise(toy):
    assert backend.find_backend(Device.CPU) is toy
    assert backend.find_backend(Device.CPU, "numpy") is BACKEND
    assert backend.devices() == (Device.CPU, Device.GPU)
    graph = rlx.trace("g", lambda x: x.relu(), f32(2))
    Session("cpu", CompileOptions(backend="numpy")).compile(graph)
    assert not toy.given
    Session("gpu").compile(graph)
    assert len(toy.given) == 1


def test_a_backend_without_its_device_is_passed_over_but_not_silently(toy):
    toy.trouble = "no driver"
    with pytest.warns(BackendWarning, match=r"^backend toy cannot use cpu: no driver; a slower"):
        assert backend.find_backend(Device.CPU) is BACKEND
    assert backend.find_backend(Device.CPU) is BACKEND
    assert backend.devices() == (Device.CPU,)
    with raises(TargetNotFoundError):
        Session("gpu")


def test_a_backend_on_the_wrong_device_names_its_own(toy):
    with raises(TargetNotFoundError):
        backend.find_backend(Device.GPU, "numpy")
    toy.devices = (Device.GPU, Device.VULKAN)
    with raises(TargetNotFoundError):
        backend.find_backend(Device.CPU, "toy")
    with raises(TargetNotFoundError):
        backend.find_backend(Device.TPU, "toy")


def test_an_unknown_backend_gets_a_suggestion(toy, monkeypatch):
    with raises(TargetNotFoundError):
        backend.find_backend(Device.CPU, "toyy")
    monkeypatch.setenv("RLX_BACKEND", "numpyy")
    with raises(TargetNotFoundError):
        backend.find_backend(Device.CPU, "numpyy")
    with raises(TargetNotFoundError):
        backend.find_backend(Device.CPU, "toyy")


def test_model_level_ops_are_handed_over_or_decomposed(toy):
    graph = rlx.trace("g", lambda x: x.relu().clamp(-1.0, 1.0) + 1.0, f32(2))
    report = Session("gpu").check(graph)
    assert not report.ready
    assert [(e.op, e.path, e.reason) for e in report.entries] == [
        ("nn.clamp", "refused", "it comes down to real.minimum: it has no rule"),
        ("nn.relu", "native", ""),
        ("real.add", "native", ""),
    ]
    graph = rlx.trace("g", lambda x: x.relu().clamp(low=-1.0) + 1.0, f32(2))
    report = Session("gpu").check(graph)
    assert report.ready
    assert [(e.op, e.path) for e in report.entries] == [
        ("nn.clamp", "decomposed"), ("nn.relu", "native"), ("real.add", "native"),
    ]  # fmt: skip
    assert Session("gpu").compile(graph).run({"x": [-3, 5]})[0].tolist() == [1.0, 6.0]
    ops = [n.op.name for n in toy.given[-1].op_nodes]
    assert ops == ["nn.relu", "real.maximum", "real.add"]


def test_one_error_lists_everything_that_cannot_run(toy):
    graph = rlx.trace("g", lambda x: (x.softmax() - 1.0, x.max()), f32(2))
    with raises(UnsupportedOpError):
        Session("gpu").compile(graph)
    assert not toy.given


@pytest.fixture
def acme(installed):
    """A package with a backend whose library is missing."""
    installed({"acme.py": "import no_jax"}, {"rlx.backends": {"acme": "acme:BACKEND"}})
    backend.backends.cache_clear()
    yield
    backend.backends.cache_clear()


@pytest.mark.usefixtures("acme", "only_cpu")
def test_a_backend_without_its_library_is_named():
    reason = "backend 'acme' of third-party 1.0: needs the package 'no_jax', which is not installed"
    with pytest.warns(PluginWarning, match=f"^skipped {reason}$"):
        assert [b.name for b in backend.backends()] == ["numpy", "native", "wgpu", "xla"]
    with raises(TargetNotFoundError):
        Session("ane")
    with raises(TargetNotFoundError):
        backend.find_backend(Device.CPU, "acme")


def test_a_policy_decomposes_what_the_backend_has(toy):
    graph = rlx.trace("g", lambda x: x.relu() + 1.0, f32(2))
    options = CompileOptions(policies=Policies(ops={"nn.relu": Policy.COMMON}))
    report = Session("gpu").check(graph, options)
    assert [(e.op, e.path, e.reason) for e in report.entries] == [
        ("nn.relu", "decomposed", "the policy is common"), ("real.add", "native", ""),
    ]  # fmt: skip
    assert Session("gpu", options).compile(graph).run({"x": [-3, 5]})[0].tolist() == [1.0, 6.0]
    assert [n.op.name for n in toy.given[-1].op_nodes] == ["real.maximum", "real.add"]


def test_what_a_backend_takes_is_left():
    graph = rlx.trace("g", lambda x: x.relu().softmax(), f32(2)).graph
    fitted = backend.fit_to_backend(graph, Toy(given=[])).graph
    names = {n.op.name for n in fitted.op_nodes}
    assert NnRelu.name in names
    assert NnSoftmax.name not in names


def test_what_hangs_on_parameters_only_is_computed_once():
    graph = rlx.trace("g", lambda x: x @ x.builder.param("w", (3, 3)).exp().T, f32(2, 3))
    session = Session().compile(graph)
    session.set_param("w", np.zeros((3, 3)))
    assert session.run({"x": np.ones((2, 3))})[0].tolist() == [[3.0] * 3] * 2
    program = session._programs[()].program
    assert [node.op.name for node, _ in program.steps] == ["fused.matmul"]
