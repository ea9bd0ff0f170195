"""The MLPerf Tiny networks in batches on the NumPy backend: TensorFlow Lite Micro's outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rlx import frontends
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Device, Session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.models


@pytest.mark.parametrize(
    "name", ["kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "ad01_int8"]
)
def test_batch_equals_tflm(shared_models: Path, name: str) -> None:
    vectors = np.load(shared_models / "vectors" / f"{name}.npz")
    x, y = (np.concatenate(list(vectors[key])) for key in ("x", "y"))
    graph = with_batch(frontends.load(shared_models / f"{name}.tflite").graph, len(x))
    session = Session(Device.CPU, CompileOptions(backend="numpy"))
    (found,) = session.compile(graph).run({graph.inputs[0].name: x})
    assert np.array_equal(found, y)
