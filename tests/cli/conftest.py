"""Fixtures of the command line's tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def digits_model():
    """The demo's network, 8x8 digits, as a file."""
    return Path(__file__).parents[2] / "examples" / "digits" / "digits.rlx"
