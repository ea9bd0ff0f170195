"""The check of the backend xla on a GPU, here on the processor."""

import json
import sys
from importlib import util

import numpy as np

from support import ROOT


def _script():
    spec = util.spec_from_file_location("gpu_check", ROOT / "tools" / "gpu_check.py")
    module = util.module_from_spec(spec)
    sys.modules["gpu_check"] = module  # its dataclass looks there for the types of its fields
    spec.loader.exec_module(module)
    return module


gpu_check = _script()


def test_a_small_check(capsys, monkeypatch):
    monkeypatch.setattr(gpu_check, "SHAPES", gpu_check.SHAPES[:2])
    monkeypatch.setattr(gpu_check, "BATCHED", gpu_check.BATCHED[:1])
    assert gpu_check.main(["--device", "cpu", "--networks", "1"]) == 0
    *table, line = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["int8", "products", "3", "of", "3", "outputs", "equal"]
    found = json.loads(line)
    assert found["device"] == "cpu"
    assert found["compiler"].startswith("jax ")
    assert found["different"] == []


def test_a_difference_is_named():
    report = gpu_check.Report()
    report.compare("a", [(np.ones(2), np.ones(2))])
    report.compare("b", [(np.ones(2), np.zeros(2)), (np.ones(2), np.ones(2))])
    assert report.different == ["b"]
    assert report.rows[1] == ("b", "1 of 2 outputs equal")
