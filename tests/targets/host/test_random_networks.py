"""Random integer networks run wholly as C, and give the bits of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import rlx
from rlx.runtime import CompileOptions
from rlx_host.instruction_set import available
from strategies import random_graphs


@pytest.mark.parametrize("instructions", available(), ids=lambda one: one.name)
@settings(max_examples=4)
@given(case=random_graphs(size=9, batch=2))
def test_networks_are_equal(instructions, case):
    options = CompileOptions(backend="native", instruction_set=instructions.name)
    native = rlx.Session().compile(case.graph, options)
    reference = rlx.Session().compile(case.graph, CompileOptions(backend="numpy"))
    assert native._program(()).program.code.refusals == {}
    inputs = [case.inputs[name] for name in reference.input_types]
    for a, b in zip(native.run_slots(*inputs), reference.run_slots(*inputs), strict=True):
        np.testing.assert_array_equal(a, b)
