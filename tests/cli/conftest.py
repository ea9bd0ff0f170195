"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest

ARM = ("arm-none-eabi-gcc", "zig", "qemu-system-arm", "unicorn")


@pytest.fixture(scope="session")
def digits_model():
    """The demo's network, 8x8 digits, as a file."""
    return Path(__file__).parents[2] / "examples" / "digits" / "digits.rlx"


@pytest.fixture
def plain(monkeypatch):
    """A machine with a compiler for itself, and nothing for ARM."""
    import rlx_sim.toolchain

    real = rlx_sim.toolchain._search
    monkeypatch.setattr(
        rlx_sim.toolchain, "_search", lambda name: None if name in ARM else real(name)
    )
    monkeypatch.delenv("CI", raising=False)
