"""Target ``host``: a network as a C library and a program for processors of computers."""

from typing import Final

REFERENCE_NETWORK: Final = "golden/network.rlx"
"""The emitted network, for the comparison with the native backend."""
