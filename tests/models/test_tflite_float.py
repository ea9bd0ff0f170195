"""The MLPerf Tiny networks in float32: outputs as near to LiteRT's as rounding allows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx import frontends
from rlx.ir.evaluate import evaluate
from rlx.ir.module import Stage
from rlx.ir.verify import verify
from support.references.litert import dequantized, run_litert

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.models

FRAMES = 64
TOLERANCE = 1e-5
"""Of the range of a network's outputs."""


def images(inputs: Path) -> np.ndarray:
    pixels: np.ndarray = np.load(inputs / "vww01_first64_rgb_uint8.npy")
    return pixels.astype(np.float32) / np.float32(255)


def objects(inputs: Path) -> np.ndarray:
    pixels: np.ndarray = np.load(inputs / "ic_calib500_uint8.npy")[:FRAMES]
    return pixels.astype(np.float32)


def windows(inputs: Path) -> np.ndarray:
    recording: np.ndarray = np.load(inputs / "ad_normal_id_01_00000000_logmel_f32.npy")
    return np.stack([recording[i : i + 5].reshape(-1) for i in range(FRAMES)])


def utterances(inputs: Path) -> np.ndarray:
    codes: np.ndarray = np.load(inputs / "kws01_x_int8.npy")[:FRAMES].reshape(-1, 49, 10, 1)
    # What the codes of the int8 network's input represent.
    return (codes.astype(np.float32) - 83) * np.float32(0.5847029)


MODELS: dict[str, Callable[[Path], np.ndarray]] = {
    "vww_96_float": images,
    "pretrainedResnet": objects,
    "ad01_fp32": windows,
    "kws_ref_model_float32": utterances,
}


@pytest.mark.parametrize("name", MODELS)
def test_outputs_equal_those_of_litert(shared_models: Path, name: str) -> None:
    path = shared_models / f"{name}.tflite"
    begin = time.perf_counter()
    module = frontends.load(path)
    assert time.perf_counter() - begin < 2
    verify(module)
    assert module.stage is Stage.HIR
    assert module.reference is None
    data = path.read_bytes()
    if name == "kws_ref_model_float32":
        # The dynamic-range file: compared is the network with its weights dequantized.
        data = dequantized(data)
    frames = MODELS[name](shared_models / "inputs")[:, None]
    (expected,) = run_litert(data, *((frame,) for frame in frames))
    (value,) = module.graph.inputs
    found = np.stack([evaluate(module.graph, {value.name: frame})[0] for frame in frames])
    assert found.shape == expected.shape
    assert len(found) == FRAMES
    assert np.abs(found - expected).max() <= TOLERANCE * np.ptp(expected)
