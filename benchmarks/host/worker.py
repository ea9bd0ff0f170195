"""Measure one network in this process: ``python -m benchmarks.host.worker NAME RUNTIME``."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.host import pair, ratios
from benchmarks.host.machine import BACKENDS
from benchmarks.host.networks.decoder import decoder
from benchmarks.host.networks.encoder import encoder
from benchmarks.host.networks.mlp import mlp
from benchmarks.host.networks.quantized import quantized
from benchmarks.host.networks.resnet import resnet
from rlx import frontends
from rlx.ir.evaluate import evaluate
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Device, Session

if TYPE_CHECKING:
    from benchmarks.host.networks.case import Case

BATCH = 64


def case(name: str) -> Case:
    """Return the network of this name in its full size."""
    if name in ratios.QUANTIZED:
        return quantized(*ratios.QUANTIZED[name])
    makers = {
        "MLP, batch 1": mlp,
        "ResNet-8, batch 1": resnet,
        "ResNet-8, batch 64": lambda: resnet(BATCH),
        "encoder": encoder,
        "decode step": decoder,
    }
    return makers[name]()


def keywords() -> dict[str, Any]:
    """Return the processor time of the int8 network for one input of a batch.

    Raises:
        ValueError: The outputs are not those of ``evaluate``.
    """
    graph = with_batch(frontends.load(ratios.kws_file()).graph, BATCH)
    generator = np.random.default_rng(0)
    inputs = {
        v.name: generator.integers(-128, 128, v.type.static_shape).astype(np.int8)
        for v in graph.inputs
    }
    net = Session(Device.CPU, CompileOptions(backend="numpy")).compile(graph)
    for ours, exact in zip(net.run(inputs), evaluate(graph, inputs), strict=True):
        if not np.array_equal(ours, exact):
            raise ValueError("the outputs differ from those of evaluate")
    times = []
    for _ in range(pair.ROUNDS):
        start = time.process_time()
        net.run(inputs)
        times.append(time.process_time() - start)
    return {"milliseconds": round(min(times) * 1e3 / BATCH, 4)}


def main(name: str, runtime: str) -> None:
    """Print the figures of a network as JSON."""
    pair.one_core()
    if name == ratios.KWS:
        row = keywords()
    else:
        row = pair.compare(case(name), ratios.ITERATIONS[name], BACKENDS[runtime])
    print(json.dumps(row))


if __name__ == "__main__":
    main(*sys.argv[1:])
