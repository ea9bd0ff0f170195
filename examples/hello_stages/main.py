"""Follow one graph from its author's layers to what a backend runs."""

from __future__ import annotations

import numpy as np

import rlx
from rlx.ir.diff import inspect_graph_diff
from rlx.ir.inspect import inspect_graph
from rlx.passes.decompose import decompose


def build() -> rlx.Graph:
    """Return a small classifier of images of any batch size, channels last."""
    graph = rlx.Graph("classifier")
    image = graph.input("image", ("batch", 8, 8, 1))
    kernel = graph.param("kernel", (4, 3, 3, 1))
    weights = graph.param("weights", (10, 64))
    features = image.conv(kernel, padding="same").relu().max_pool(2).flatten()
    graph.output(features.linear(weights).softmax(), names=["probabilities"])
    return graph


def main() -> None:
    """Print the graph before and after decomposition, bind its batch, run it."""
    layers = build().graph
    algebra = decompose(layers)
    print(layers)
    print(algebra)
    print(inspect_graph_diff(layers, algebra))

    four = rlx.bind(algebra, {"batch": 4})
    print(inspect_graph(four))

    session = rlx.Session()
    for entry in session.check(layers).entries:
        print(f"{entry.count} {entry.op}: {entry.path}; {entry.reason}".rstrip("; "))
    compiled = session.compile(four)
    generator = np.random.default_rng(0)
    for name, type_ in compiled.param_types.items():
        compiled.set_param(name, generator.standard_normal(type_.shape))
    (probabilities,) = compiled.run({"image": generator.standard_normal((4, 8, 8, 1))})
    print("sums of the probabilities:", probabilities.sum(axis=-1).round(6).tolist())


if __name__ == "__main__":
    main()
