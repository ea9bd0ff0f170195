"""Regression tests of networks: emit, build and run them from pytest, and hold them to budgets.

The pytest plugin (:mod:`rlx.pytest_plugin`) offers it as the fixture ``rlx``.
"""

from rlx.testing.bits import assert_same_bits
from rlx.testing.networks import Build, Network, Networks

__all__ = ["Build", "Network", "Networks", "assert_same_bits"]
