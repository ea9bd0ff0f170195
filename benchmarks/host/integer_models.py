"""Integer networks on the NumPy backend: prepared ops against their definitions.

``ratio`` is the speedup of the backend over ``rlx.ir.evaluate``, one after the other
in the same process, best of several rounds. Milliseconds are of processor time for one input.
The networks are those of MLPerf Tiny if ``RLX_SHARED`` (or ``../shared``) holds them; without it
there is nothing to measure.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import reference
from rlx import frontends
from rlx.ir.evaluate import evaluate
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Device, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MODELS = ("kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "ad01_int8")
BATCHES = (1, 64)
ROUNDS = 7


def measure() -> Iterator[dict[str, Any]]:
    """Yield a row for each model and size of batch."""
    session = Session(Device.CPU, CompileOptions(backend="numpy"))
    generator = np.random.default_rng(0)
    for name in MODELS:
        file = reference.tiny() / f"{name}.tflite"
        if not file.is_file():
            continue
        single = frontends.load(file).graph
        for batch in BATCHES:
            graph = with_batch(single, batch)
            inputs = {
                v.name: generator.integers(-128, 128, v.type.static_shape).astype(np.int8)
                for v in graph.inputs
            }
            compiled = session.compile(graph)
            equal = all(
                np.array_equal(a, b)
                for a, b in zip(compiled.run(inputs), evaluate(graph, inputs), strict=True)
            )
            fast = _milliseconds(lambda run=compiled.run, x=inputs: run(x), ROUNDS)
            plain = _milliseconds(lambda g=graph, x=inputs: evaluate(g, x), 2)
            yield {
                "model": name,
                "batch": batch,
                "equal": equal,
                "ratio": round(plain / fast, 1),
                "milliseconds": round(fast / batch, 4),
            }


def _milliseconds(call: Callable[[], object], rounds: int) -> float:
    """Return the minimum processor time of some calls after a first one."""
    call()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times) * 1e3
