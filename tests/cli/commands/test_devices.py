"""``rlx devices``: each device with its backends, and the reason that one cannot be used."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from rlx.cli import main
from rlx.runtime import Device, backend, device_survey
from rlx.runtime.numpy_backend import BACKEND
from rlx.support.plugins import LoadedPlugin, Problem


@dataclass
class Fast:
    """A backend that has one of its two devices."""

    name = "fast"
    devices = (Device.CPU, Device.CUDA)
    rank = 5

    def unavailable(self, device):
        return None if device is Device.CPU else "no driver (pip install driver)"


@pytest.fixture(autouse=True)
def backends(monkeypatch):
    broken = LoadedPlugin(
        "slow", None, "slow 1.0", Problem("backend 'slow'", "it broke", "mend it")
    )
    monkeypatch.setattr(device_survey, "backends", lambda: (Fast(), BACKEND))
    monkeypatch.setattr(backend, "backends", lambda: (Fast(), BACKEND))
    monkeypatch.setattr(device_survey.plugins, "survey", lambda _: [broken])


def test_table(capsys):
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:5]] == [
        ["Devices"],
        ["device", "backend", "state", "reason"],
        ["cpu", "fast", "default"],
        ["cpu", "numpy", "ready"],
        ["cuda", "fast", "missing", *["no", "driver", "(pip", "install", "driver)"]],
    ]
    assert lines[5] == "backend slow cannot be loaded: it broke; mend it"
    assert lines[6].startswith("no installed backend: rocm, tpu, metal")


def test_json(capsys):
    assert main(["devices", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    devices = {one["device"]: one for one in found["devices"]}
    assert list(devices) == [device.value for device in Device]
    assert [d for d, one in devices.items() if one["backend"]] == list(map(str, backend.devices()))
    assert devices["cuda"] == {
        "device": "cuda", "backend": None,
        "backends": [
            {"name": "fast", "usable": False, "reason": "no driver (pip install driver)"}
        ],
    }  # fmt: skip
    assert found["unloaded"] == [{"name": "slow", "reason": "it broke", "hint": "mend it"}]
