"""Whether a network fits the memory that the user has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx.support.errors import DoesNotFitError

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_budget(
    name: str, report: Mapping[str, Any], *, ram: int | None, flash: int | None
) -> None:
    """Check that a network fits.

    Args:
        name: Name of the network.
        report: Its estimate; see :func:`rlx_cortexm.estimate.estimate`.
        ram: Most bytes for the arena, or None.
        flash: Most bytes for constants and code, or None.

    Raises:
        DoesNotFitError: It does not; the hint gives values of both limits that would.
    """
    needs: list[int] = [report[f"{k}_bytes"] for k in ("arena", "constant", "code")]
    arena, constants, code = needs
    problems, suggestions = [], []
    if ram is not None and arena > ram:
        peak = report["peak"]
        problems.append(
            f"RAM: {_size(arena)} needed for the arena, {_size(ram)} given (--ram);"
            f" most of it at layer {peak['layer']}, {peak['op']}"
        )
        suggestions.append(f"--ram {arena}")
    if flash is not None and constants + code > flash:
        problems.append(
            f"flash: about {_size(constants + code)} needed, of it {_size(constants)} for"
            f" constants, {_size(flash)} given (--flash)"
        )
        suggestions.append(f"--flash {constants + code}")
    if problems:
        raise DoesNotFitError(
            "\n  ".join(["it does not fit the memory given", *problems]),
            where=name,
            hint=f"what fits is {' '.join(suggestions)}",
        )


def _size(nbytes: int) -> str:
    """Return bytes as people write them."""
    return f"{nbytes / 1024:.1f} KiB" if nbytes >= 1024 else f"{nbytes} bytes"
