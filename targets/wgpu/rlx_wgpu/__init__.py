"""Backend ``wgpu``: integer networks on GPUs through Vulkan and the like, by way of WebGPU.

The package wgpu is imported when a network is compiled for it, not before.

Level 11.
"""

from rlx_wgpu.backend import BACKEND

__all__ = ["BACKEND"]
