"""Damaged TFLite files: only errors of rlx come out, and soon."""

from __future__ import annotations

import struct
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mutation import mutate
from tflite_builder import pack, unpack
from tflite_malformed import sound_model

from rlx.errors import FrontendError, UnsupportedOpError
from rlx.frontends import tflite
from rlx.ir.evaluate import evaluate
from rlx.ir.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

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
        inputs = {v.name: np.zeros(v.type.static_shape, np.int8) for v in graph.inputs}
        evaluate(graph, inputs)
    return True


def scramble(data: bytes, seed: int) -> bytes | None:
    """Return a model with one to three fields changed, or None if they cannot be written."""
    random = np.random.default_rng(seed)
    model = unpack(data)
    for _ in range(int(random.integers(1, 4))):
        table, name = _field(model, random)
        setattr(table, name, _other(getattr(table, name), random))
    try:
        return pack(model)
    except (struct.error, TypeError, ValueError, OverflowError):
        return None


def _field(table: Any, random: np.random.Generator) -> tuple[Any, str]:
    """Return a random field that holds a value."""
    while True:
        fields = [(n, v) for n, v in sorted(vars(table).items()) if v is not None]
        name, value = fields[int(random.integers(len(fields)))]
        if isinstance(value, list) and value:
            value = value[int(random.integers(len(value)))]
        if all(v is None for v in getattr(value, "__dict__", {}).values()):
            return table, name
        table = value


def _other(value: Any, random: np.random.Generator) -> Any:
    if isinstance(value, np.ndarray):
        changed = value.copy()
        if len(value) and random.random() < 0.7:
            dtype = value.dtype
            number = random.choice([0, 1, -1, 2, 3, 5, 9, 127, 1e9, -7, np.nan, np.inf])
            with np.errstate(invalid="ignore"):
                changed[int(random.integers(len(value)))] = np.array(number).astype(dtype)
            return changed
        return np.resize(changed, int(random.integers(6)))
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return float(random.choice([0.0, -1.0, np.nan, np.inf, 1e-30, 1e30]))
    if isinstance(value, int):
        return int(random.choice([0, 1, -1, 2, 3, 4, 9, 17, 25, 99, 127]))
    return value


def test_damaged_files_are_refused_or_read() -> None:
    data = sound_model()
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
    # Damage to weights is not damage to a file; damage to the rest is found.
    assert 10 < accepted < 150


def test_scrambled_models_are_refused_or_read() -> None:
    data = sound_model()
    scrambled = [s for seed in range(300) if (s := scramble(data, seed)) is not None]
    accepted = sum(map(load_damaged, scrambled))
    assert len(scrambled) > 200
    assert 50 < accepted < 200


@pytest.mark.models
def test_many_damaged_files_are_refused_or_read() -> None:
    data = sound_model()
    accepted = sum(load_damaged(mutate(data, seed)) for seed in range(1000, 6000))
    accepted += sum(
        load_damaged(s) for seed in range(1000, 4000) if (s := scramble(data, seed)) is not None
    )
    assert 1000 < accepted < 5000


@pytest.mark.models
def test_damaged_networks_are_refused_or_read(shared_models: Path) -> None:
    data = (shared_models / "kws_ref_model.tflite").read_bytes()
    tracemalloc.start()
    try:
        accepted = sum(load_damaged(mutate(data, seed)) for seed in range(300))
        assert tracemalloc.get_traced_memory()[1] < MEMORY
    finally:
        tracemalloc.stop()
    assert 60 < accepted < 270
