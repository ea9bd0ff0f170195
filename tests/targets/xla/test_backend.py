"""The backend's place among others, and its devices."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import rlx
from rlx.ir import Graph, Op, f32
from rlx.runtime import CompileOptions, Device, Session, find_backend
from rlx.support.errors import TargetNotFoundError, UnsupportedOpError
from rlx_xla import BACKEND, platforms
from support.messages import raises

XLA = CompileOptions(backend="xla")

WITHOUT_JAX = """
import sys
import numpy as np
import rlx
rlx.devices()
graph = rlx.trace("f", lambda x: x + x, rlx.f32(2))
rlx.Session().compile(graph).run({"x": np.ones(2)})
assert "jax" not in sys.modules
"""


def test_jax_is_not_imported_unless_the_backend_is_named():
    subprocess.run([sys.executable, "-c", WITHOUT_JAX], check=True)


def test_it_runs_on_a_processor_only_if_it_is_named():
    assert find_backend(Device.CPU).name != "xla"
    assert find_backend(Device.CPU, "xla").devices == (Device.CPU,)


@pytest.mark.usefixtures("only_cpu")
def test_a_device_that_is_absent_is_refused_with_the_command_that_adds_it():
    assert BACKEND.unavailable(Device.CPU) is None
    with raises(TargetNotFoundError):
        find_backend(Device.TPU)


@pytest.mark.parametrize("device", [Device.CUDA, Device.ROCM, Device.TPU], ids=str)
def test_reasons_that_a_device_is_absent(device, monkeypatch, tmp_path):
    platform = platforms.PLATFORMS[device]
    assert platforms.absence(device).startswith("JAX has no plug-in for it (pip install 'jax[")
    monkeypatch.setattr(platforms, "_is_installed", lambda prefix: True)
    assert platforms.absence(device, tmp_path).startswith("no such device is here (/dev/")
    node = tmp_path / platform.files[0].replace("*", "0")
    node.parent.mkdir()
    node.touch()
    assert platforms.absence(device, tmp_path) is None
    monkeypatch.setattr(platforms.util, "find_spec", lambda name: None)
    assert platforms.absence(device) == "the package jax is not installed (pip install 'rlx[xla]')"


def test_jax_finds_no_device():
    with pytest.raises(TargetNotFoundError, match=r"^backend xla: JAX [\d.]+ finds no cuda: "):
        platforms.devices_of(Device.CUDA)


def test_products_by_triton_are_switched_off_on_gpus():
    for device in (Device.CUDA, Device.ROCM):
        assert platforms.PLATFORMS[device].options["xla_gpu_enable_triton_gemm"] is False


@pytest.fixture
def acme():
    """Two ops of another package, which are forgotten afterwards."""
    known = dict(Op.registry)

    class Base(Op):
        operand_count: ClassVar[int] = 1

        def infer(self, *operands):
            return operands[:1]

        def evaluate(self, *operands):
            return operands[:1]

    @dataclass(frozen=True, slots=True, kw_only=True)
    class First(Base):
        name: ClassVar[str] = "acme.first"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Second(Base):
        name: ClassVar[str] = "acme.second"

    yield First(), Second()
    Op.registry.clear()
    Op.registry.update(known)


def test_all_ops_without_a_lowering_are_named_in_one_message(acme):
    graph = Graph("foreign")
    x = graph.input("x", f32(2))
    for op in (acme[0], acme[1], acme[0]):
        x = graph.apply(op, x)
    graph.output(x)
    with raises(UnsupportedOpError):
        Session("cpu", XLA).compile(graph)


def test_settings_of_the_process_stay_as_they_are():
    import jax

    before = jax.config.jax_enable_x64
    graph = rlx.trace("f", lambda x: x + x, rlx.TensorType((2,), rlx.DType.I64))
    (y,) = Session("cpu", XLA).compile(graph).run({"x": np.array([2**40, 1])})
    assert y.tolist() == [2**41, 2]
    assert jax.config.jax_enable_x64 == before
    assert jax.numpy.asarray(np.int64(1)).dtype == (np.int64 if before else np.int32)
