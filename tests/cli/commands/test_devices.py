"""``rlx devices``: each device with its backends, and the reason that one cannot be used."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from rlx.cli import main
from rlx.runtime import Device, backend, device_survey
from rlx.runtime.numpy_backend import BACKEND
from rlx.support.errors import TargetNotFoundError
from rlx.support.plugins import LoadedPlugin, Problem


@dataclass
class Fast:
    """A backend that has one of its two devices."""

    name = "fast"
    devices = (Device.CPU, Device.CUDA)
    rank = 5

    def unavailable(self, device):
        return None if device is Device.CPU else "no driver (pip install driver)"


@dataclass
class Named:
    """A backend that names its hardware, which one of its devices lacks."""

    name = "named"
    devices = (Device.GPU, Device.VULKAN)
    rank = 1

    def unavailable(self, device):
        return None

    def hardware(self, device):
        if device is Device.VULKAN:
            raise TargetNotFoundError("no adapter", hint="install one")
        return "Test GPU 9"


@pytest.fixture(autouse=True)
def backends(monkeypatch):
    broken = LoadedPlugin(
        "slow", None, "slow 1.0", Problem("backend 'slow'", "it broke", "mend it")
    )
    monkeypatch.setattr(device_survey, "backends", lambda: (Fast(), Named(), BACKEND))
    monkeypatch.setattr(backend, "backends", lambda: (Fast(), Named(), BACKEND))
    monkeypatch.setattr(device_survey.plugins, "survey", lambda _: [broken])


def test_table(capsys):
    assert main(["devices"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:7]] == [
        ["Devices"],
        ["device", "backend", "state", *["hardware", "or", "reason"]],
        ["cpu", "fast", "default"],
        ["cpu", "numpy", "ready"],
        ["cuda", "fast", "missing", *["no", "driver", "(pip", "install", "driver)"]],
        ["gpu", "named", "default", *["Test", "GPU", "9"]],
        ["vulkan", "named", "missing", *["no", "adapter", "(install", "one)"]],
    ]
    assert lines[7] == "backend slow cannot be loaded: it broke; mend it"
    assert lines[8].startswith("no installed backend: rocm, tpu, metal")


def test_json(capsys):
    assert main(["devices", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    devices = {one["device"]: one for one in found["devices"]}
    assert list(devices) == [device.value for device in Device]
    assert [d for d, one in devices.items() if one["backend"]] == ["cpu", "gpu"]
    assert devices["gpu"]["backends"][0]["hardware"] == "Test GPU 9"
    assert devices["cuda"] == {
        "device": "cuda", "backend": None,
        "backends": [
            {"name": "fast", "usable": False, "reason": "no driver (pip install driver)",
             "hardware": ""}
        ],
    }  # fmt: skip
    assert found["unloaded"] == [{"name": "slow", "reason": "it broke", "hint": "mend it"}]
