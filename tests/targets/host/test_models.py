"""The networks of MLPerf Tiny: every vector, for each instruction set of this machine."""

from __future__ import annotations

import numpy as np
import pytest

import rlx
from rlx.runtime import CompileOptions
from rlx_host.instruction_set import available

pytestmark = pytest.mark.models

MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
def test_vectors_are_equal(name, instructions, shared_models):
    options = CompileOptions(backend="native", instruction_set=instructions.name)
    compiled = rlx.Session().compile(rlx.load(shared_models / f"{name}.tflite"), options)
    assert compiled._program(()).program.code.refusals == {}
    (key,) = compiled.input_types
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        samples = zip(vectors["x"], vectors["y"], strict=True)
        for x, y in samples:
            np.testing.assert_array_equal(compiled.run({key: x})[0], y)
