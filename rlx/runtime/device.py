"""Devices of the host.

Tests: tests/unit/runtime/test_backend.py
"""

from __future__ import annotations

import enum

from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean


class Device(enum.Enum):
    """A kind of processor. The installed backends determine which can be used."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"
    TPU = "tpu"
    METAL = "metal"
    MLX = "mlx"
    ANE = "ane"
    GPU = "gpu"
    VULKAN = "vulkan"
    OPENGL = "opengl"
    DIRECTX = "directx"
    WEBGPU = "webgpu"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def _missing_(cls, value: object) -> Device:
        """Raise the error for an object that is not a device."""
        names = [device.value for device in cls]
        raise UsageError(
            f"no device is called {value!r}", hint=did_you_mean(str(value), names, what="devices")
        )
