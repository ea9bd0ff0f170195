"""Options of compilation: what they take, and what they say of anything else."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rlx
from rlx.passes import Policies, Policy
from rlx.passes.fusion import FusionOptions, FusionPolicy, Pattern
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import UsageError


def test_a_precision_has_a_name():
    options = CompileOptions(precision="mixed-bf16")
    assert options == CompileOptions(precision=rlx.PrecisionPolicy.named("mixed-bf16"))
    graph = rlx.trace("square", lambda x: (x @ x).softmax(-1), rlx.f32(2, 2))
    report = Session(options=options).compile(graph).precision
    assert report is not None
    assert ("real.matmul", rlx.DType.BF16) in [(e.op, e.dtype) for e in report.entries]
    with pytest.raises(UsageError, match=r"^no precision is called 'f8'\n  hint: .*mixed-bf16$"):
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
        message = (
            r"real.matmul %\d+ .*made inf at index \[0, 0\], 2 of 2 elements.*f16\[1, 2\] from 600"
        )
        with pytest.raises(FloatingPointError, match=re.compile(message, re.DOTALL)):
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
    with pytest.raises(
        UsageError, match=r"no op is called 'nn.rleu'\n  hint: did you mean 'nn.relu'"
    ):
        Policies(ops={"nn.rleu": Policy.COMMON})
    with pytest.raises(
        UsageError, match=r"no policy is called 'nativ'\n  hint: did you mean 'nativ"
    ):
        Policies("nativ")
    options = FusionOptions(default="keep", patterns={"norm": "fuse"})
    assert options == FusionOptions.parse(["keep", "norm=fuse"])
    assert (options.wants(Pattern.NORM), options.wants(Pattern.CONV)) == (True, False)
    assert FusionOptions(default="fuse").wants(Pattern.CONV)
    message = r"^fusion: no pattern of fusion is called 'matmull'\n  hint: did you mean 'matmul'\?"
    with pytest.raises(UsageError, match=message):
        FusionOptions(patterns={"matmull": FusionPolicy.KEEP})


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("backend", 1, "give its name, as 'rlx check --help' lists them"),
        ("simplify", "no", "give True or False"),
        ("check_finite", 1, "give True or False"),
        ("policies", Policy.COMMON, "give Policies.parse(['common']) or Policies.parse(["),
        ("fusion", False, "give FusionOptions(), or None to fuse nothing"),
        ("precision", rlx.DType.F16, "give a PrecisionPolicy, its name, or None"),
        ("dump", True, "give the path of a folder, or None"),
    ],
)
def test_values_of_another_type(option, value, hint):
    shown = f"options of compilation: {option} cannot be {value!r}\n  hint: {hint}"
    with pytest.raises(UsageError, match=f"^{re.escape(shown)}"):
        CompileOptions(**{option: value})
