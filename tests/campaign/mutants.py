"""Damaged files that are accepted: what is emitted for them still computes the reference's bits."""

from __future__ import annotations

import functools
from itertools import count

from campaign import networks
from campaign.equality import c_options
from campaign.part import Outcome, Part
from campaign.runs import simulated
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType
from rlx.ir.hash import structural_hash
from rlx.support.errors import RlxError
from rlx_sim.firmware.host_c import HostC
from support.files.mutation import mutate

_SEEDS = 10_000
"""Networks from here on are those of this part, and damages to each are numbered likewise."""


@functools.cache
def _meaning(data: bytes) -> str | None:
    """Return a hash of what a file computes, or None if it is refused or takes floats."""
    try:
        graph = tflite.load(data).graph
    except RlxError:
        return None
    quantized = all(value.type.dtype is DType.I8 for value in graph.inputs)
    return structural_hash(graph) if quantized else None


def _accepted(number: int) -> bytes:
    """Return a damaged network that is accepted and computes something else than the sound one."""
    sound = networks.make(_SEEDS + number)
    for seed in count(number * _SEEDS):
        damaged = mutate(sound, seed)
        if _meaning(damaged) not in (None, _meaning(sound)):
            return damaged
    raise AssertionError


def _run(number: int) -> Outcome:
    simulator = HostC(optimization="-O1", sanitize=True)
    data = _accepted(number)
    return simulated(data, "cortexm", c_options(number), simulator, count=4, seed=number)


PARTS = (
    Part(
        name="mutants",
        title="damaged networks that are accepted: C under sanitizers",
        goal="200 equal",
        run=_run,
        cases=200,
        short=4,
    ),
)
