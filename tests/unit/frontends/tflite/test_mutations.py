"""Damaged TFLite files: only errors of rlx come out, and soon."""

from __future__ import annotations

import time
import tracemalloc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from malformed.tflite_floats import ENDS, sound_ends, sound_floats
from malformed.tflite_models import sound_model

from rlx.frontends.tflite import frontend as tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.mutation import mutate
from support.files.tflite_fields import scramble
from support.networks import mlperf_like

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 5.0
MEMORY = 512 * 1024 * 1024
SMALL = 1 << 16


def load_damaged(damaged: bytes) -> bool:
    """Import a damaged file and run what was accepted; return whether it was."""
    start = time.perf_counter()
    module, error = None, None
    try:
        module = tflite.load(damaged)
    except (FrontendError, UnsupportedOpError) as refusal:
        error = refusal
    assert time.perf_counter() - start < SECONDS
    if module is None:
        assert error.where is not None
        assert error.message.replace("\n", "").isprintable()
        return False
    verify(module)
    graph = module.graph
    if all(t.size < SMALL for node in graph.nodes for t in node.types):
        inputs = {v.name: np.zeros(v.type.static_shape, v.type.dtype.numpy) for v in graph.inputs}
        with np.errstate(all="ignore"):
            evaluate(graph, inputs)
    return True


def test_damaged_files_are_refused_or_read() -> None:
    data = sound_model()
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
    # Damage to weights is not damage to a file; damage to the rest is found.
    assert 10 < accepted < 150


def test_scrambled_models_are_refused_or_read() -> None:
    data = sound_model()
    accepted = sum(load_damaged(scramble(data, seed)) for seed in range(300))
    assert 50 < accepted < 200


def test_damaged_float_models_are_refused_or_read() -> None:
    data = sound_floats()
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
    assert 10 < accepted < 200


def test_scrambled_float_models_are_refused_or_read() -> None:
    data = sound_floats()
    accepted = sum(load_damaged(scramble(data, seed)) for seed in range(300))
    assert 50 < accepted < 250


@pytest.mark.parametrize("edge", ENDS)
def test_scrambled_models_with_other_types_at_their_ends_are_refused_or_read(edge: str) -> None:
    data = sound_ends(edge)
    accepted = sum(load_damaged(scramble(data, seed)) for seed in range(100))
    assert 20 < accepted < 90


@pytest.mark.slow
def test_many_damaged_files_are_refused_or_read() -> None:
    data = sound_model()
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(1000, 6000))
    accepted += sum(load_damaged(scramble(data, seed)) for seed in range(1000, 4000))
    assert 1000 < accepted < 5000


@pytest.mark.slow
@pytest.mark.parametrize("make", [mlperf_like.network, mlperf_like.dynamic_range])
def test_damaged_networks_are_refused_or_read(make: Callable[[str], bytes]) -> None:
    data = make("kws")
    tracemalloc.start()
    try:
        accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert 60 < accepted < 270
