"""The backend's place among others, and what it refuses."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rlx
from rlx.ir import DType, Graph, TensorType, f32
from rlx.ops import q, real
from rlx.ops.numerics.fixed_point import Rescale, Rounding
from rlx.runtime import CompileOptions, Device
from rlx.runtime.lowering import lower
from rlx.support.errors import UnsupportedOpError
from rlx_wgpu import BACKEND
from rlx_wgpu.lowerings import refusal_of
from support.messages import raises

WITHOUT_WGPU = """
import sys
import numpy as np
import rlx
rlx.devices()
graph = rlx.trace("f", lambda x: x + x, rlx.f32(2))
rlx.Session().compile(graph).run({"x": np.ones(2)})
assert "wgpu" not in sys.modules
"""


def test_wgpu_is_not_imported_unless_its_device_is_named():
    subprocess.run([sys.executable, "-c", WITHOUT_WGPU], check=True)


def test_it_is_bound_to_one_device():
    assert BACKEND.devices == (Device.GPU, Device.VULKAN)
    assert BACKEND.on(Device.VULKAN).devices == (Device.VULKAN,)


def test_all_ops_without_a_kernel_are_named_in_one_message():
    graph = rlx.trace("floats", lambda x: (x.exp() + x).exp(), f32(2)).graph
    with raises(UnsupportedOpError):
        lower(graph, BACKEND, CompileOptions(backend="wgpu"))


def test_so_are_types_and_roundings():
    graph = Graph("others")
    wide = graph.input("wide", TensorType((2, 3), DType.I64))
    x = graph.input("x", TensorType((1, 2), DType.I8))
    w = graph.constant(np.ones((3, 2), np.int8))
    bias = graph.constant(np.zeros(3, np.int32))
    rescale = Rescale.of(0.5, rounding=Rounding.FLOAT32)
    y = graph.apply(q.QDense(x_zero_point=0, rescale=rescale, zero_point=0), x, w, bias)
    graph.output(graph.apply(real.RealTranspose(axes=(1, 0)), wide), y)
    with raises(UnsupportedOpError):
        lower(graph, BACKEND, CompileOptions(backend="wgpu"))


@pytest.mark.parametrize(("count", "refused"), [(2**23 - 1, False), (2**23, True)])
def test_a_mean_of_very_many_elements_is_refused(count, refused):
    graph = Graph("mean")
    x = graph.input("x", TensorType((2, count), DType.I8))
    op = q.QMean(axes=(1,), x_zero_point=0, rescale=Rescale.of(1e-6), zero_point=0)
    assert (refusal_of(graph.apply(op, x).node) is not None) == refused
