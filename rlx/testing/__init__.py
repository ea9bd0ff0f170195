"""Regression tests of networks: emit, build and run them from pytest, and hold them to budgets.

The pytest plugin (:mod:`rlx.testing.pytest_plugin`) offers it as the fixture ``rlx``.

Level 9.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlx.testing.bits import assert_same_bits
    from rlx.testing.networks import Build, Network, Networks

__all__ = ["Build", "Network", "Networks", "assert_same_bits"]

if not TYPE_CHECKING:  # else a type checker would take any name for a public one

    def __getattr__(name: str) -> object:
        """Import a public name when it is used: pytest loads the plugin of this package always."""
        if name not in __all__:
            raise AttributeError(f"module 'rlx.testing' has no attribute {name!r}")
        module = "bits" if name == "assert_same_bits" else "networks"
        return getattr(import_module(f"rlx.testing.{module}"), name)
