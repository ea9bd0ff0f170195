"""One step of a decoder: a token in, its logits out, keys and values kept.

The graph of rlx has caches of a fixed length as states, writes the new keys and values at their
position and masks the rest. The ONNX model has the usual form of exports: past keys and values
are inputs, and outputs with the new ones appended.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.host.networks.case import Case, OnnxGraph, SeededWeights
from rlx.ops import real
from rlx.tracing import Graph

if TYPE_CHECKING:
    from rlx.ir import Array
    from rlx.tracing import Tensor

EPSILON = 1e-5


@dataclass(frozen=True, kw_only=True)
class DecoderSizes:
    """Sizes of a decoder, the length of its cache, and the number of tokens in it."""

    width: int = 256
    layers: int = 4
    heads: int = 8
    hidden: int = 688
    tokens: int = 4096
    cache: int = 256
    position: int = 128

    @property
    def head(self) -> int:
        """Width of one head."""
        return self.width // self.heads


def decoder(sizes: DecoderSizes | None = None) -> Case:
    """Return the step for one token after ``position`` others."""
    of = sizes or DecoderSizes()
    weights = SeededWeights(4)
    embedding = weights.normal(of.tokens, of.width)
    layers = [_layer_weights(of, weights) for _ in range(of.layers)]
    norm = weights.normal(of.width, deviation=0.02, mean=1.0)
    logits = weights.matrix(of.width, of.tokens)
    past = [weights.normal(2, of.heads, of.position, of.head) for _ in range(of.layers)]
    inputs = {"token": np.array([17], np.int32), "position": np.array([of.position], np.int32)}
    inputs["token"] %= of.tokens
    states, feeds = {}, dict(inputs)
    for i, pair in enumerate(past):
        for name, tensor in zip((f"k{i}", f"v{i}"), pair, strict=True):
            states[name] = np.zeros((of.heads, of.cache, of.head), np.float32)
            states[name][:, : of.position] = tensor
            feeds[name] = np.ascontiguousarray(tensor)
    outer = (embedding, layers, norm, logits)
    return Case(
        name="decoder", graph=_rlx(of, *outer), model=_onnx(of, *outer),
        inputs=inputs, feeds=feeds, states=states,
    )  # fmt: skip


def _layer_weights(of: DecoderSizes, weights: SeededWeights) -> dict[str, Array]:
    shapes = dict.fromkeys("qkvo", (of.width, of.width))
    shapes |= {"gate": (of.width, of.hidden), "up": (of.width, of.hidden)}
    shapes |= {"down": (of.hidden, of.width)}
    found = {name: weights.matrix(*shape) for name, shape in shapes.items()}
    for name in ("norm1", "norm2"):
        found[name] = weights.normal(of.width, deviation=0.02, mean=1.0)
    return found


def _angles(of: DecoderSizes) -> tuple[Array, Array]:
    """Return cosines and sines [cache, head] of the rotation at each position."""
    frequencies = 10000.0 ** (-np.arange(0, of.head, 2) / of.head)
    angles = np.tile(np.arange(of.cache)[:, np.newaxis] * frequencies, 2)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _rlx(
    of: DecoderSizes, embedding: Array, layers: list[dict[str, Array]], norm: Array, logits: Array
) -> Graph:
    graph = Graph("decoder")
    token = graph.input("token", (1,), "i32")
    position = graph.input("position", (1,), "i32")
    cosines, sines = (graph.constant(a).gather(position) for a in _angles(of))
    positions = graph.constant(np.arange(of.cache, dtype=np.int32)[np.newaxis])
    mask = positions <= position
    half = of.head // 2

    def heads(t: Tensor) -> Tensor:
        return t.reshape(of.heads, 1, of.head)

    def rotated(t: Tensor) -> Tensor:
        swapped = graph.concat([-t[:, :, half:], t[:, :, :half]], axis=2)
        return t * cosines + swapped * sines

    def kept(name: str, new: Tensor) -> Tensor:
        cache = graph.state(name, (of.heads, of.cache, of.head))
        after = cache.apply(real.RealScatter(axis=1), position, new)
        graph.set_state(cache, after)
        return after

    x = graph.constant(embedding).gather(token)
    for i, w in enumerate(layers):
        h = x.rms_norm(w["norm1"], EPSILON)
        q, k = (rotated(heads(h @ w[n])) for n in "qk")
        keys, values = kept(f"k{i}", k), kept(f"v{i}", heads(h @ w["v"]))
        x = x + q.attention(keys, values, mask).reshape(1, of.width) @ w["o"]
        h = x.rms_norm(w["norm2"], EPSILON)
        x = x + ((h @ w["gate"]).silu() * (h @ w["up"])) @ w["down"]
    graph.output(x.rms_norm(norm, EPSILON) @ logits, names=["logits"])
    return graph


class _Step(OnnxGraph):
    """The ONNX form of a step, with methods for its repeated parts."""

    def __init__(self, of: DecoderSizes) -> None:
        super().__init__("decoder")
        self.of = of
        token = self.input("token", (1,), "int32")
        position = self.input("position", (1,), "int32")
        self.token = token
        self.cosines, self.sines = (
            self.op("Gather", self.weights(a), position) for a in _angles(of)
        )

    def norm(self, x: str, scale: Array) -> str:
        """Append the division by the root mean square."""
        square = self.op("Pow", x, self.weights(np.array(2.0, np.float32)))
        mean = self.op("ReduceMean", square, self.sizes(-1), keepdims=1)
        moved = self.op("Add", mean, self.weights(np.array(EPSILON, np.float32)))
        divided = self.op("Div", x, self.op("Sqrt", moved))
        return self.op("Mul", divided, self.weights(scale))

    def dense(self, x: str, matrix: Array) -> str:
        """Append a matrix product."""
        return self.op("MatMul", x, self.weights(matrix))

    def heads(self, x: str) -> str:
        """Append the split into heads."""
        return self.op("Reshape", x, self.sizes(self.of.heads, 1, self.of.head))

    def rotated(self, x: str) -> str:
        """Append the rotation by position."""
        half, axis = self.of.head // 2, self.sizes(2)
        low = self.op("Slice", x, self.sizes(0), self.sizes(half), axis)
        high = self.op("Slice", x, self.sizes(half), self.sizes(self.of.head), axis)
        swapped = self.op("Concat", self.op("Neg", high), low, axis=2)
        turned = self.op("Mul", swapped, self.sines)
        return self.op("Add", self.op("Mul", x, self.cosines), turned)

    def attention(self, q: str, keys: str, values: str) -> str:
        """Append attention of one query to all keys."""
        across = self.op("Transpose", keys, perm=(0, 2, 1))
        scale = self.weights(np.array(1 / math.sqrt(self.of.head), np.float32))
        scores = self.op("Mul", self.op("MatMul", q, across), scale)
        mixed = self.op("MatMul", self.op("Softmax", scores, axis=-1), values)
        return self.op("Reshape", mixed, self.sizes(1, self.of.width))


def _onnx(
    of: DecoderSizes, embedding: Array, layers: list[dict[str, Array]], norm: Array, logits: Array
) -> object:
    net = _Step(of)
    past = (of.heads, of.position, of.head)
    present = (of.heads, of.position + 1, of.head)
    x = net.op("Gather", net.weights(embedding), net.token)
    cache_outputs = []
    for i, w in enumerate(layers):
        h = net.norm(x, w["norm1"])
        q, k = (net.rotated(net.heads(net.dense(h, w[n]))) for n in "qk")
        keys = net.op("Concat", net.input(f"k{i}", past), k, axis=1)
        v = net.heads(net.dense(h, w["v"]))
        values = net.op("Concat", net.input(f"v{i}", past), v, axis=1)
        cache_outputs += [(keys, f"new_k{i}"), (values, f"new_v{i}")]
        x = net.op("Add", x, net.dense(net.attention(q, keys, values), w["o"]))
        h = net.norm(x, w["norm2"])
        gate = net.dense(h, w["gate"])
        gated = net.op("Mul", net.op("Mul", gate, net.op("Sigmoid", gate)), net.dense(h, w["up"]))
        x = net.op("Add", x, net.dense(gated, w["down"]))
    net.output(net.dense(net.norm(x, norm), logits), "logits", (1, of.tokens))
    for value, name in cache_outputs:
        net.output(value, name, present)
    return net.model()
