"""A classifier of two dense layers."""

from __future__ import annotations

from benchmarks.host.networks.case import Case, OnnxGraph, SeededWeights
from rlx.tracing import Graph


def mlp(batch: int = 1, sizes: tuple[int, int, int] = (784, 128, 10)) -> Case:
    """Return the network for images of 784 pixels and 10 classes, or of other sizes."""
    inputs, hidden, classes = sizes
    weights = SeededWeights(0)
    w1, b1 = weights.matrix(inputs, hidden), weights.normal(hidden, deviation=0.1)
    w2, b2 = weights.matrix(hidden, classes), weights.normal(classes, deviation=0.1)

    graph = Graph("mlp")
    x = graph.input("x", (batch, inputs))
    graph.output((((x @ w1) + b1).relu() @ w2 + b2).softmax(), names=["y"])

    net = OnnxGraph("mlp")
    value = net.input("x", (batch, inputs))
    value = net.op("Relu", net.op("Gemm", value, net.weights(w1), net.weights(b1)))
    value = net.op("Gemm", value, net.weights(w2), net.weights(b2))
    net.output(net.op("Softmax", value, axis=-1), "y", (batch, classes))

    feeds = {"x": weights.normal(batch, inputs)}
    return Case(name="mlp", graph=graph, model=net.model(), inputs=feeds, feeds=feeds)
