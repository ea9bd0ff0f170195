"""Sound files that the parts of the campaign damage."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import malformed.tflite_models as made
import numpy as np

import rlx.ops  # noqa: F401 - files may hold any of our ops
from rlx.driver import driver
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.file import to_file_bytes
from rlx.ir.module import GraphModule, Stage
from rlx.targets import target
from support.files.tflite_builder import TfliteBuilder
from support.networks import ir_samples
from support.networks.mlperf_like import NETWORKS, network

if TYPE_CHECKING:
    from rlx.ir import Graph


@cache
def small_models() -> tuple[bytes, ...]:
    """Return small TFLite models, of all kinds of operators together."""
    return (
        made.sound_model(),
        made.one("PAD", (1, 3, 3, 2), (1, 5, 5, 2), [[0, 0], [1, 1], [1, 1], [0, 0]]),
        made.one("MEAN", (1, 4, 4, 2), (1, 2), [1, 2], x=made.CODES, keepDims=False),
        made.one("TRANSPOSE", (1, 2, 3, 4), (1, 3, 2, 4), [0, 2, 1, 3]),
        made.one("LEAKY_RELU", (1, 8), (1, 8), alpha=0.1),
        made.one("HARD_SWISH", (1, 8), (1, 8)),
        made.one("STRIDED_SLICE", (4, 6), (2, 3), [0, 0], [4, 6], [2, 2]),
        made.one("AVERAGE_POOL_2D", (1, 6, 6, 3), (1, 3, 3, 3), **made_pool()),
        made.two("ADD", (1, 4, 4, 2), (1, 4, 4, 2), (1, 4, 4, 2), fusedActivationFunction="RELU"),
        made.two("CONCATENATION", (1, 4, 4, 2), (1, 4, 4, 3), (1, 4, 4, 5), axis=3),
        made.depthwise(2),
        shortcut(),
    )


def made_pool() -> dict[str, object]:
    """Return the options of a pool of 2 by 2."""
    return {"padding": "SAME", "strideH": 2, "strideW": 2, "filterHeight": 2, "filterWidth": 2}


def shortcut() -> bytes:
    """Return a network with a shortcut, a constant operand and two outputs."""
    model = TfliteBuilder()
    x = model.tensor((1, 5, 5, 4), name="x", **made.CODES)
    w = model.constant(np.ones((4, 1, 1, 4), np.int8), scale=[0.1] * 4, name="w")
    c, s, y = (model.tensor((1, 5, 5, 4), name=n, **made.CODES) for n in "csy")
    z = model.tensor((1, 5, 5, 4), name="z", scale=1 / 256, zero_point=-128)
    k = model.constant(np.full((4,), 3, np.int8), scale=0.25, name="k")
    model.operator("CONV_2D", [x, w, -1], [c], padding="SAME", strideH=1, strideW=1)
    model.operator("ADD", [c, x], [s])
    model.operator("MUL", [s, k], [y])
    model.operator("LOGISTIC", [s], [z])
    return model.build([x], [y, z])


@cache
def modules() -> tuple[GraphModule, ...]:
    """Return modules at stages MIR and LIR (with a memory plan), integer and real."""
    imported = [tflite.load(data) for data in (*small_models(), network("kws"))]
    planned = [
        driver.lower(imported[index], target.load(name)).module
        for index, name in ((0, "cortexm"), (-1, "cortexm"), (0, "fpga"))
    ]
    samples = [GraphModule(graph, Stage.MIR) for graph in graphs()]
    return (*imported, *planned, *samples)


def graphs() -> tuple[Graph, ...]:
    """Return graphs made by hand: quantized and real ops, symbols, several results, regions."""
    return (
        ir_samples.clamp_graph(), ir_samples.network(), ir_samples.several_results(),
        ir_samples.regions(),
    )  # fmt: skip


@cache
def rlx_files() -> tuple[bytes, ...]:
    """Return the ``.rlx`` files of :func:`modules`."""
    return tuple(map(to_file_bytes, modules()))


def prepare() -> None:
    """Make and read all of it."""
    for name in NETWORKS:
        network(name)
    rlx_files()
