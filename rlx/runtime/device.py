"""Where programs run."""

from __future__ import annotations

import enum


class Device(enum.Enum):
    """A kind of processor. Which of them can be used depends on the backends installed."""

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
