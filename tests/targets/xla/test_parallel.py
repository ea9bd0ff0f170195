"""Several devices and processes; each test runs programs of this folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rlx.ir import Graph, f32
from rlx.ops import real
from rlx.runtime import Device
from rlx.support.errors import UsageError
from rlx_xla.collectives import all_reduce
from rlx_xla.parallel import shard
from rlx_xla.placement import Placement
from support.messages import raises

HERE = Path(__file__).parent
SECONDS = 240


def start(name, *arguments, devices):
    flags = f"--xla_force_host_platform_device_count={devices}"
    return subprocess.Popen(
        [sys.executable, HERE / name, *arguments],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


REFUSALS = """\
backend xla: a mesh of 16 devices does not fit 8 of kind cpu
  hint: choose smaller axes, or let more processes join
backend xla: no input, parameter or state is called 'y'
  hint: there are: x, w, v
backend xla: 'x' f32[8, 16] cannot be split by ('rows', None)
  hint: name an axis that divides the dimension, or None; axes: data of 2, model of 4
backend xla: 'x' f32[8, 16] cannot be split by ('data',)
  hint: name an axis that divides the dimension, or None; axes: data of 2, model of 4
backend xla: 'x' f32[8, 16] cannot be split by ('data', None)
  hint: name an axis that divides the dimension, or None; axes: data of 3
"""


def test_names_that_do_not_exist():
    with raises(UsageError):
        all_reduce(np.ones(2), "x", "prod")
    with raises(UsageError):
        Placement(Device.CPU, [("data", 4096)], {})


def test_a_mesh_of_one_device():
    graph = Graph("double")
    x = graph.input("x", f32(2))
    graph.output(graph.apply(real.RealAdd(), x, x))
    (y,) = shard(graph, {"data": 1}, {"x": ("data",)}).run({"x": np.ones(2)})
    assert y.tolist() == [2, 2]


def test_eight_devices():
    process = start("eight_devices.py", devices=8)
    out, errors = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, errors
    assert out == REFUSALS


@pytest.mark.slow
def test_two_processes():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    processes = [start("two_processes.py", address, str(i), devices=2) for i in range(2)]
    try:
        ends = [process.communicate(timeout=SECONDS) for process in processes]
        for process, (out, errors) in zip(processes, ends, strict=True):
            assert process.returncode == 0, errors
            assert out.endswith("equal\n")
    finally:
        for process in processes:
            process.kill()
            process.communicate()
