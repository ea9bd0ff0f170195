"""A transformer encoder: attention and two dense layers, each with a residual and a layer norm.

The three projections of attention are separate in both forms: joining them is the engine's work.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.host.networks.case import Case, OnnxGraph, SeededWeights
from rlx.tracing import Graph

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.tracing import Tensor


@dataclass(frozen=True, kw_only=True)
class EncoderSizes:
    """Sizes of an encoder."""

    layers: int = 6
    sequence: int = 128
    width: int = 384
    heads: int = 12
    hidden: int = 1536

    @property
    def head(self) -> int:
        """Width of one head."""
        return self.width // self.heads


def encoder(sizes: EncoderSizes | None = None) -> Case:
    """Return the network for one sequence."""
    of = sizes or EncoderSizes()
    weights = SeededWeights(3)
    layers = [_layer_weights(of, weights) for _ in range(of.layers)]
    shape = (1, of.sequence, of.width)

    graph = Graph("encoder")
    x = graph.input("x", shape)
    net = OnnxGraph("encoder")
    value = net.input("x", shape)
    for layer in layers:
        x = _rlx_layer(of, x, layer)
        value = _onnx_layer(of, net, value, layer)
    graph.output(x, names=["y"])
    net.output(value, "y", shape)
    feeds = {"x": weights.normal(*shape)}
    return Case(name="encoder", graph=graph, model=net.model(), inputs=feeds, feeds=feeds)


def _layer_weights(of: EncoderSizes, weights: SeededWeights) -> dict[str, Array]:
    tensors = {}
    for name, rows, columns in (
        *((n, of.width, of.width) for n in "qkvo"),
        ("up", of.width, of.hidden),
        ("down", of.hidden, of.width),
    ):
        tensors[name] = weights.matrix(rows, columns)
        tensors[f"{name}_bias"] = weights.normal(columns, deviation=0.02)
    for name in ("norm1", "norm2"):
        tensors[name] = weights.normal(of.width, deviation=0.02, mean=1.0)
        tensors[f"{name}_bias"] = weights.normal(of.width, deviation=0.02)
    return tensors


def _rlx_layer(of: EncoderSizes, x: Tensor, w: dict[str, Array]) -> Tensor:
    def dense(t: Tensor, name: str) -> Tensor:
        return t @ w[name] + w[f"{name}_bias"]

    def heads(t: Tensor) -> Tensor:
        return t.reshape(1, of.sequence, of.heads, of.head).transpose(0, 2, 1, 3)

    q, k, v = (heads(dense(x, name)) for name in "qkv")
    context = q.attention(k, v).transpose(0, 2, 1, 3).reshape(1, of.sequence, of.width)
    x = (x + dense(context, "o")).layer_norm(w["norm1"], w["norm1_bias"])
    return (x + dense(dense(x, "up").gelu(), "down")).layer_norm(w["norm2"], w["norm2_bias"])


def _onnx_layer(of: EncoderSizes, net: OnnxGraph, x: str, w: dict[str, Array]) -> str:
    def dense(t: str, name: str) -> str:
        product = net.op("MatMul", t, net.weights(w[name]))
        return net.op("Add", product, net.weights(w[f"{name}_bias"]))

    def norm(t: str, name: str) -> str:
        scale, bias = net.weights(w[name]), net.weights(w[f"{name}_bias"])
        return net.op("LayerNormalization", t, scale, bias, axis=-1, epsilon=1e-5)

    split = net.sizes(1, of.sequence, of.heads, of.head)
    q, k, v = (
        net.op("Transpose", net.op("Reshape", dense(x, name), split), perm=order)
        for name, order in zip("qkv", [(0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)], strict=True)
    )
    scale = net.weights(np.array(1 / math.sqrt(of.head), np.float32))
    scores = net.op("Softmax", net.op("Mul", net.op("MatMul", q, k), scale), axis=-1)
    heads = net.op("Transpose", net.op("MatMul", scores, v), perm=(0, 2, 1, 3))
    context = net.op("Reshape", heads, net.sizes(1, of.sequence, of.width))
    x = norm(net.op("Add", x, dense(context, "o")), "norm1")
    hidden = net.op("Gelu", dense(x, "up"))
    return norm(net.op("Add", x, dense(hidden, "down")), "norm2")
