"""Adapters: which are here, the reasons that there is none, and failures."""

from __future__ import annotations

import pytest

from rlx.runtime import Device
from rlx.support.errors import DeviceError, TargetNotFoundError
from rlx_wgpu import adapters
from rlx_wgpu.adapters import absence, hardware_of, open_gpu
from support.messages import raises

GPUS = [Device.GPU, Device.VULKAN]


@pytest.mark.parametrize("device", GPUS, ids=str)
def test_reasons_that_there_is_none(device, monkeypatch, tmp_path):
    monkeypatch.setattr(adapters.sys, "platform", "linux")
    for name in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(adapters, "_has_loader", lambda: False)
    assert absence(device, tmp_path) == (
        "the loader of Vulkan is not installed (apt-get install libvulkan1)"
    )
    monkeypatch.setattr(adapters, "_has_loader", lambda: True)
    assert absence(device, tmp_path) == (
        "no driver for Vulkan is installed (that of the GPU's maker, or apt-get install"
        " mesa-vulkan-drivers)"
    )
    folder = tmp_path / "usr/share/vulkan/icd.d"
    folder.mkdir(parents=True)
    (folder / "lvp_icd.json").touch()
    assert absence(device, tmp_path) is None
    monkeypatch.setattr(adapters.util, "find_spec", lambda name: None)
    assert absence(device, tmp_path) == (
        "the package wgpu is not installed (pip install 'rlx[wgpu]')"
    )


def test_a_driver_that_a_variable_names_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(adapters.sys, "platform", "linux")
    monkeypatch.setattr(adapters, "_has_loader", lambda: True)
    monkeypatch.setenv("VK_DRIVER_FILES", "/opt/driver.json")
    assert absence(Device.VULKAN, tmp_path) is None


@pytest.mark.parametrize(
    ("platform", "device", "here"),
    [
        ("darwin", Device.GPU, True),
        ("darwin", Device.VULKAN, False),
        ("win32", Device.VULKAN, True),
    ],
)
def test_other_systems_bring_their_drivers(platform, device, here, monkeypatch):
    monkeypatch.setattr(adapters.sys, "platform", platform)
    assert (absence(device) is None) == here


class Adapter:
    def __init__(self, kind, interface):
        self.info = {
            "adapter_type": kind, "backend_type": interface, "device": "D", "description": "",
        }  # fmt: skip


def test_a_gpu_comes_before_a_processor_that_stands_in_for_one(monkeypatch):
    wgpu = pytest.importorskip("wgpu")
    known = [
        Adapter("CPU", "Vulkan"), Adapter("IntegratedGPU", "OpenGL"),
        Adapter("IntegratedGPU", "Metal"), Adapter("Other", "Vulkan"),
    ]  # fmt: skip
    monkeypatch.setattr(wgpu.gpu, "enumerate_adapters_sync", lambda: known)
    assert hardware_of(Device.GPU) == "D, Metal"
    assert hardware_of(Device.VULKAN) == "D, Vulkan"
    known[:] = known[1:3]
    with pytest.raises(TargetNotFoundError, match=r"^backend wgpu: wgpu [\d.]+ finds no adapter "):
        hardware_of(Device.VULKAN)


@pytest.mark.usefixtures("adapter")
def test_an_adapter_is_opened_once_and_again_after_a_failure():
    wgpu = pytest.importorskip("wgpu")
    gpu = open_gpu(Device.VULKAN)
    assert open_gpu(Device.VULKAN) is gpu
    assert gpu.name == hardware_of(Device.VULKAN)
    with pytest.raises(wgpu.GPUValidationError, match="expected"), gpu.turn() as device:
        device.create_shader_module(code="fn main( {")
    assert open_gpu(Device.VULKAN) is gpu
    with pytest.raises(DeviceError), gpu.turn():
        raise wgpu.GPUOutOfMemoryError("Not enough memory left.")
    assert open_gpu(Device.VULKAN) is not gpu


def test_the_message_of_a_failure():
    wgpu = pytest.importorskip("wgpu")
    gpu = adapters.Gpu(None, "D, Vulkan", wide=True, max_bytes=0)
    with raises(DeviceError), gpu.turn():
        raise wgpu.GPUValidationError("Validation Error\n\nCaused by:\n  Parent device is lost\n")
