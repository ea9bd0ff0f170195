"""Devices of the host."""

from __future__ import annotations

import enum


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
