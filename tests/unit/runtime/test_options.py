"""Options of compilation: what they take, and what they say of anything else."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.passes import Policies, Policy
from rlx.passes.fusion import FusionOptions, FusionPolicy, Pattern
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import UsageError
from support.messages import raises


def test_a_precision_has_a_name():
    options = CompileOptions(precision="mixed-bf16")
    assert options == CompileOptions(precision=rlx.PrecisionPolicy.named("mixed-bf16"))
    graph = rlx.trace("square", lambda x: (x @ x).softmax(-1), rlx.f32(2, 2))
    report = Session(options=options).compile(graph).precision
    assert report is not None
    assert ("real.matmul", rlx.DType.BF16) in [(e.op, e.dtype) for e in report.entries]
    with raises(UsageError):
        CompileOptions(precision="f8")


@pytest.mark.parametrize("fusion", [FusionOptions(), None], ids=["fused", "unfused"])
def test_what_grows_beyond_f16_is_found(fusion):
    weights = np.full((2, 2), 300, np.float32)
    graph = rlx.trace("grows", lambda x: ((x @ weights) @ weights).relu(), rlx.f32(1, 2))

    def run(precision: str) -> float:
        options = CompileOptions(precision=precision, check_finite=True, fusion=fusion)
        return float(Session(options=options).compile(graph)(np.ones((1, 2)))[0][0, 0])

    assert run("f32") == 360_000
    assert run("bf16") == pytest.approx(360_000, rel=2**-7)
    for precision in ("f16", "mixed-f16"):
        with raises(FloatingPointError):
            run(precision)


def test_a_dump_is_any_path(tmp_path):
    folder = str(tmp_path / "steps")
    graph = rlx.trace("shares", lambda x: (x * 2.0).exp(), rlx.f32(1, 4))
    compiled = Session(options=CompileOptions(dump=folder)).compile(graph)
    compiled.run({"x": np.ones((2, 4))})
    with compiled.active_extent(2, 4):
        pass
    made = {p.parent.relative_to(tmp_path).as_posix() for p in tmp_path.glob("**/*-plan.txt")}
    assert made == {"steps", "steps/samples-2", "steps/rows-2-of-4"}


def test_names_of_policies_are_known():
    assert Policies("common", {"nn.relu": "native"}) == Policies.parse(["common", "nn.relu=native"])
    with raises(UsageError):
        Policies(ops={"nn.rleu": Policy.COMMON})
    with raises(UsageError):
        Policies("nativ")
    options = FusionOptions(default="keep", patterns={"norm": "fuse"})
    assert options == FusionOptions.parse(["keep", "norm=fuse"])
    assert (options.wants(Pattern.NORM), options.wants(Pattern.CONV)) == (True, False)
    assert FusionOptions(default="fuse").wants(Pattern.CONV)
    with raises(UsageError):
        FusionOptions(patterns={"matmull": FusionPolicy.KEEP})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("backend", 1),
        ("simplify", "no"),
        ("check_finite", 1),
        ("policies", Policy.COMMON),
        ("fusion", False),
        ("precision", rlx.DType.F16),
        ("dump", True),
        ("threads", 0),
        ("threads", -1),
        ("threads", 1_000_000),
        ("threads", "2"),
        ("threads", 2.0),
        ("threads", True),
    ],
)
def test_values_that_an_option_does_not_take(option, value):
    with raises(UsageError):
        CompileOptions(**{option: value})
