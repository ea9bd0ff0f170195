"""Tests that run kernels need an adapter; software ones do."""

from __future__ import annotations

import pytest

from rlx.runtime import Device
from rlx_wgpu.adapters import absence
from support import missing


@pytest.fixture(scope="session")
def adapter() -> None:
    """Skip the test without an adapter for Vulkan, or fail in CI."""
    reason = absence(Device.VULKAN)
    if reason is not None:
        missing(f"no adapter for Vulkan: {reason}")
