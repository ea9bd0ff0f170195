"""Networks in float and samples for them, from ``RLX_SHARED`` (or ``../shared``).

Samples are shuffled by a fixed seed and split into two halves: each half is tested with ranges from
samples of the other half, so that all of them are tested and none is calibrated on.
"""

from __future__ import annotations

import csv
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from PIL import Image

from benchmarks import reference
from examples.mnist.train import FLOAT_MODEL, TRAINED, digits
from rlx import frontends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from rlx.ir import Graph

    Array = npt.NDArray[Any]

ROOT: Final = Path(__file__).parents[2]

CALIBRATION: Final = 100
"""Number of samples that ranges are computed from."""


@dataclass(frozen=True, slots=True)
class FloatNetwork:
    """A float network and samples.

    Attributes:
        name: Name in tables.
        model: The path of the model, from the folder of the networks of MLPerf Tiny.
        samples: Returns inputs [samples, *shape], and labels or None.
        calibration: Number of samples that ranges are computed from.
    """

    name: str
    model: str | Path
    samples: Callable[[], tuple[Array, Array | None]]
    calibration: int = CALIBRATION

    @property
    def file(self) -> Path:
        """The model."""
        return reference.tiny() / self.model

    def graph(self) -> Graph:
        """Return the float graph."""
        return frontends.load(self.file).graph

    def folds(self) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
        """Yield data for calibration and, from the other half, for testing."""
        x, labels = self.samples()
        order = np.random.default_rng(0).permutation(len(x))
        halves = np.sort(order[: len(x) // 2]), np.sort(order[len(x) // 2 :])
        for own, other in (halves, halves[::-1]):
            chosen = own[:: max(1, len(own) // self.calibration)][: self.calibration]
            yield _part(x, labels, chosen), _part(x, labels, other)


def _part(x: Array, labels: Array | None, indices: Array) -> dict[str, Array]:
    part = {"x": x[indices]}
    return part if labels is None else {**part, "y": labels[indices]}


def vww() -> tuple[Array, Array]:
    """Return 500 photographs [500, 96, 96, 3] in [0, 1], and whether a person is on them."""
    with zipfile.ZipFile(reference.tiny() / "inputs" / "vww01_500_jpeg_bgr.zip") as archive:
        text = io.TextIOWrapper(archive.open("labels.csv"), encoding="utf-8")
        rows = list(csv.reader(text))
        # The channels are stored blue first.
        images = [
            np.asarray(Image.open(archive.open(name)).convert("RGB"))[..., ::-1] for name, _ in rows
        ]
    pixels = np.stack(images).astype(np.float32) / np.float32(255)
    return pixels, np.array([int(label) for _, label in rows])


def kws() -> tuple[Array, Array]:
    """Return 1000 utterances [1000, 49, 10, 1], dequantized, and their words."""
    stored = np.load(reference.tiny() / "inputs" / "kws01_x_int8.npy").astype(np.float32)
    x = (stored - 83) * np.float32(0.5847029)
    return x.reshape(-1, 49, 10, 1), np.load(reference.tiny() / "inputs" / "kws01_labels.npy")


def ic() -> tuple[Array, None]:
    """Return 500 images [500, 32, 32, 3] with pixels 0 to 255, without labels."""
    return np.load(reference.tiny() / "inputs" / "ic_calib500_uint8.npy").astype(np.float32), None


def ad() -> tuple[Array, None]:
    """Return windows of five frames [196, 640] of a recording of a normal machine."""
    frames = np.load(reference.tiny() / "inputs" / "ad_normal_id_01_00000000_logmel_f32.npy")
    windows = np.stack([frames[i : i + 5].reshape(-1) for i in range(len(frames) - 4)])
    return windows.astype(np.float32), None


def channels_first(samples: Callable[[], tuple[Array, Array | None]]) -> Callable[[], Any]:
    """Return samples whose channels are the first axis."""

    def rotated() -> tuple[Array, Array | None]:
        x, labels = samples()
        return np.ascontiguousarray(np.moveaxis(x, -1, 1)), labels

    return rotated


def mnist() -> tuple[Array, Array]:
    """Return the 2,000 digits [2000, 28, 28, 1] in [0, 1] that TinyConv is not trained on."""
    images, labels = digits(reference.folder() / "data" / "mnist")
    return (images[TRAINED:] / np.float32(255)).astype(np.float32), labels[TRAINED:]


NETWORKS: Final = (
    FloatNetwork("VWW", "vww_96_float.tflite", vww),
    FloatNetwork("VWW, ONNX", "onnx/vww_96_float.onnx", channels_first(vww)),
    FloatNetwork("KWS", "kws_ref_model_float32.tflite", kws),
    FloatNetwork("IC", "pretrainedResnet.tflite", ic),
    FloatNetwork("IC, ONNX", "onnx/ic_pretrainedResnet_float.onnx", channels_first(ic)),
    FloatNetwork("AD", "ad01_fp32.tflite", ad, 98),
    FloatNetwork("TinyConv", FLOAT_MODEL, mnist, 200),
)
