"""Every input of the MLPerf Tiny sets through emitted C: bytes equal TensorFlow Lite Micro's."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from rlx import frontends
from rlx.driver import driver
from rlx.support.files.golden import Golden
from rlx.targets import target
from rlx_sim.firmware.host_c import HostC
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.protocol import compare
from support.files.tflite_builder import tflm

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.ir import Array

pytestmark = [pytest.mark.models, pytest.mark.qemu]

SAMPLE = 5
"""Inputs that run under QEMU too, spread over the set."""

AD_SCALE, AD_ZERO_POINT, AD_FRAMES = 0.3910152, 89, 5


def utterances(inputs: Path) -> Array:
    return np.load(inputs / "kws01_x_int8.npy").reshape(-1, 1, 49, 10, 1)


def centred(pixels: Array) -> Array:
    """Return the codes of pixels 0 to 255."""
    return (pixels.astype(np.int16) - 128).astype(np.int8)


def small_images(inputs: Path) -> Array:
    return centred(np.load(inputs / "ic_calib500_uint8.npy").reshape(-1, 1, 32, 32, 3))


def photographs(inputs: Path) -> Array:
    """Return the pictures of people and of none; their channels are stored B, G, R."""
    with zipfile.ZipFile(inputs / "vww01_500_jpeg_bgr.zip") as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".jpg"))
        pictures = [np.asarray(Image.open(io.BytesIO(archive.read(name)))) for name in names]
    return centred(np.stack(pictures)[..., ::-1].reshape(-1, 1, 96, 96, 3))


def machine_sounds(inputs: Path) -> Array:
    """Return the windows of five frames of a recording."""
    recording = np.load(inputs / "ad_normal_id_01_00000000_logmel_f32.npy")
    windows = len(recording) - AD_FRAMES + 1
    reals = np.stack([recording[i : i + AD_FRAMES].reshape(1, -1) for i in range(windows)])
    codes = np.rint(reals / AD_SCALE) + AD_ZERO_POINT
    return np.clip(codes, -128, 127).astype(np.int8)


SETS = {
    "kws_ref_model": (utterances, 1000),
    "pretrainedResnet_quant": (small_images, 500),
    "vww_96_int8": (photographs, 500),
    "ad01_int8": (machine_sounds, 196),
}
"""Network: its inputs and their number."""


def expected(model: Path, inputs: Array) -> Array:
    """Return the results of TensorFlow Lite Micro."""
    interpreter = tflm(model.read_bytes())
    outputs = []
    for one in inputs:
        interpreter.set_input(np.ascontiguousarray(one), 0)
        interpreter.invoke()
        outputs.append(np.array(interpreter.get_output(0)))
    return np.stack(outputs)


@pytest.mark.parametrize("name", SETS)
def test_every_input_equals_tflm(name: str, shared_models: Path, tmp_path: Path) -> None:
    read: Callable[[Path], Array]
    read, count = SETS[name]
    inputs = read(shared_models / "inputs")
    assert len(inputs) == count
    file = shared_models / f"{name}.tflite"
    golden = Golden((inputs,), (expected(file, inputs),))
    assert len({output.tobytes() for output in golden.outputs[0]}) > count // 10
    module = frontends.load(file)
    driver.emit(module, target.load("cortexm"), tmp_path / "net", golden=golden)
    on_host = HostC().simulate(tmp_path / "net", golden, timeout_s=300)
    assert compare("host", on_host, golden) == []
    every = count // SAMPLE
    some = Golden(tuple(x[::every] for x in golden.inputs), (golden.outputs[0][::every],))
    assert compare("qemu", Qemu().simulate(tmp_path / "net", some, timeout_s=300), some) == []
