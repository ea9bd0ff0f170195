"""The bounds of an emitted folder, by layer."""

import pytest

import rlx
from rlx.targets.verifier import count_bounds
from support import ROOT

pytestmark = [pytest.mark.qemu, pytest.mark.complete]


def test_layers_add_up(tmp_path):
    folder = tmp_path / "out"
    rlx.emit(ROOT / "examples" / "digits" / "digits.rlx", "cortexm", folder, frames=2)
    bounds = count_bounds("cortexm", folder)
    measured = rlx.verify(folder, tools="qemu", cache=False).figures["instructions"]
    assert bounds.reason == ""
    assert measured <= bounds.total <= 1.001 * measured
    assert bounds.total - 100 <= sum(bounds.layers) <= bounds.total
    assert bounds.as_json(["first"])["layers"] == [
        {"layer": "first", "instructions": bounds.layers[0]}
    ]
