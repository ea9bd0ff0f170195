"""Random float networks, quantized: what is emitted computes the bits of the reference.

Networks come from ``strategies.float_graphs``, calibrated on one sample; weights have 8, 4 or 2
bits. Several go into one design, so that a compiler or simulator runs once for all.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from equivalence.test_targets import RUNNERS, Runner, check, lowers

from support.networks.quantized_networks import quantized_networks

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = 420
"""Networks that are drawn; targets take nearly all of them."""

FEW = 60
"""Networks that are drawn for the short form."""

SHARES = {"host-c": (300, 20, 2), "verilator": (60, 5, 1)}
"""For simulators: networks in all, in one design, and designs of the short form."""


def designs() -> list[object]:
    """Return each runner with the numbers of its designs; the first ones are the short form."""
    params = []
    for param in RUNNERS:
        if param.id not in SHARES:
            continue
        total, together, short = SHARES[param.id]
        for number in range(total // together):
            marks = [*param.marks, *([pytest.mark.campaign] if number >= short else [])]
            params.append(
                pytest.param(
                    *param.values, param.id, number, marks=marks, id=f"{param.id}-{number}"
                )
            )
    return params


@pytest.mark.slow
@pytest.mark.parametrize(("runner", "name", "number"), designs())
def test_quantized_networks(runner: Runner, name: str, number: int, tmp_path: Path) -> None:
    _, together, short = SHARES[name]
    taken = (
        c
        for c in quantized_networks(runner.batch, FEW if number < short else DRAWN)
        if lowers(c, runner)
    )
    first = number * together
    cases = list(itertools.islice(taken, first, first + together))
    assert len(cases) == together
    check(runner, cases, tmp_path)
