"""Float networks of MLPerf Tiny by the four commands: equal bits on a Cortex-M and in an FPGA."""

from __future__ import annotations

import io
import json
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from rlx.cli import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.models, pytest.mark.sim, pytest.mark.qemu]

CALIBRATION = 32
TESTED = 16

ANY = ("--min-sqnr", "-inf", "--min-agreement", "0")
"""Options that take a network whatever ternary weights lose: its bits are compared."""


def _images(shared: Path, name: str) -> np.ndarray:
    """Return samples as the float network takes them, [samples, height, width, 3]."""
    if name == "ic":
        return np.load(shared / "inputs/ic_calib500_uint8.npy").astype(np.float32)
    images = []
    with zipfile.ZipFile(shared / "inputs/vww01_500_jpeg_bgr.zip") as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".jpg"))
        for jpeg in names[: CALIBRATION + TESTED]:
            with Image.open(io.BytesIO(archive.read(jpeg))) as image:
                images.append(np.asarray(image)[..., ::-1])  # stored as blue, green, red
    return (np.stack(images) / 255).astype(np.float32)


def _samples(shared: Path, name: str, model: Path, folder: Path) -> None:
    """Write ``calib.npz`` and ``test.npz`` in the layout of the model's input."""
    from rlx import frontends

    (image,) = frontends.load(model).graph.inputs
    images = _images(shared, name)
    if image.type.static_shape[-1] != 3:
        images = images.transpose(0, 3, 1, 2)
    np.savez(folder / "calib.npz", x=images[:CALIBRATION, np.newaxis])
    np.savez(folder / "test.npz", x=images[CALIBRATION : CALIBRATION + TESTED, np.newaxis])


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    assert status == 0, captured.err + captured.out
    return captured.out


@pytest.mark.parametrize(
    ("name", "file", "weights", "simulators"),
    [
        ("ic", "onnx/ic_pretrainedResnet_float.onnx", "8", "host,qemu"),
        ("vww", "onnx/vww_96_float.onnx", "8", "host,qemu"),
        ("ic", "pretrainedResnet.tflite", "4", "host"),
        ("vww", "vww_96_float.tflite", "2", "host"),
    ],
    ids=["ic-8", "vww-8", "ic-4", "vww-2"],
)  # fmt: skip
def test_import_quantize_compare_emit_verify(
    shared_models, tmp_path, capsys, monkeypatch, name, file, weights, simulators
):
    monkeypatch.chdir(tmp_path)
    channels_last = ["--channels-last"] if file.endswith(".onnx") else []
    run(capsys, "import", shared_models / file, *channels_last, "-o", "model.rlx")
    _samples(shared_models, name, tmp_path / "model.rlx", tmp_path)
    data = ("--calib", "calib.npz", "--test", "test.npz")
    limits = ANY if weights == "2" else ()
    run(capsys, "quantize", "model.rlx", *data, "--weights", weights, "-o", "model.q.rlx", *limits)
    found = json.loads(
        run(capsys, "compare", "model.rlx", "model.q.rlx", "--data", "test.npz", "--json")
    )
    assert found["samples"] == TESTED
    assert found["output"]["sqnr_db"] > {"8": 20, "4": 5, "2": -10}[weights]
    for target, names in (("cortexm", simulators), ("fpga", "verilator")):
        run(capsys, "emit", "model.q.rlx", "--target", target, "--frames", "2", "-o", target)
        report = json.loads(run(capsys, "verify", target, "--with", names, "--json"))
        assert (report["inputs"], report["equal"], report["mismatches"]) == (2, 2, [])
