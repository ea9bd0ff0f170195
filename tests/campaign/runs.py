"""Shared code of the parts about random networks: frames, emission, comparison of what ran."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from campaign.part import Outcome
from rlx.driver.driver import emit
from rlx.driver.reference import reference_outputs
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType
from rlx.support.errors import DoesNotFitError, EmitError, RlxError, UnsupportedOpError
from rlx.targets import target
from rlx_sim.protocol import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rlx.ir import Array, Graph
    from rlx.ir.module import GraphModule
    from rlx.support.files.golden import Golden
    from rlx_sim.protocol import Simulator

TIMEOUT_S = 300.0
CODES = 128
"""Codes of int8 go from -CODES to CODES - 1."""


def frames(graph: Graph, count: int, seed: int) -> tuple[Array, ...]:
    """Return ``count`` frames for each input, int8 or uint8[count, *shape].

    In this order: all least codes, all largest, a mix of both, a constant, then random ones.
    """
    random = np.random.default_rng(seed)
    found = []
    for value in graph.run_inputs:
        shift = 0 if value.type.dtype is DType.I8 else CODES
        array = random.integers(-CODES, CODES, (count, *value.type.static_shape))
        array[0:1] = -CODES
        array[1:2] = CODES - 1
        array[2:3] = np.where(array[2:3] < 0, -CODES, CODES - 1)
        array[3:4] = int(random.integers(-CODES, CODES))
        found.append((array + shift).astype(value.type.dtype.numpy))
    return tuple(found)


def vectors(module: GraphModule, count: int, seed: int) -> Golden:
    """Return ``frames`` with what the reference computes for them."""
    return reference_outputs(module.graph, frames(module.graph, count, seed))


@contextmanager
def emitted(
    module: GraphModule, name: str, options: dict[str, Any], golden: Golden
) -> Iterator[Path]:
    """Emit for target ``name`` with ``options`` into a folder that lives as long as the context."""
    chosen = target.load(name)
    with tempfile.TemporaryDirectory(prefix="rlx-campaign-") as folder:
        out = Path(folder) / "out"
        emit(module, chosen, out, options=chosen.options(**options), golden=golden)
        yield out


def simulated(
    data: bytes, name: str, options: dict[str, Any], simulator: Simulator, *, count: int, seed: int
) -> Outcome:
    """Import a TFLite network, emit it, run what was emitted, and compare every output."""
    module = tflite.load(data)
    return emission_equals(module, name, options, simulator, count=count, seed=seed)


def emission_equals(
    module: GraphModule,
    name: str,
    options: dict[str, Any],
    simulator: Simulator,
    *,
    count: int,
    seed: int,
) -> Outcome:
    """Emit a network, run what was emitted on ``count`` frames, and compare every output."""
    golden = vectors(module, count, seed)
    try:
        with emitted(module, name, options, golden) as folder:
            ran = simulator.simulate(folder, golden, timeout_s=TIMEOUT_S)
    except (DoesNotFitError, EmitError, UnsupportedOpError) as refusal:
        return refused(refusal)
    wrong = compare(simulator.name, ran, golden)
    amounts = {"frames": golden.frames, "cycles": ran.cycles or 0}
    if wrong:
        return Outcome("differs", f"{options}: {wrong[0]}", amounts)
    return Outcome("equal", "", {k: v for k, v in amounts.items() if v})


def refused(error: RlxError) -> Outcome:
    """Return the outcome of a refusal: a finding if it lacks a place or a remedy."""
    lacking = [name for name in ("where", "hint") if not getattr(error, name)]
    finding = f"refused without {' and '.join(lacking)}: {error.message}" if lacking else ""
    return Outcome("refused", finding)
