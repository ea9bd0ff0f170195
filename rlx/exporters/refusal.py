"""One error for all nodes of a network that a format cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rlx.errors import UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_LISTED: Final = 20


def refused_together(errors: Sequence[UnsupportedOpError], format_: str) -> UnsupportedOpError:
    """Return the error that lists what a format cannot hold; a single one as it is."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"{len(errors)} ops have no form in {format_}"]
    lines += [f"  {error.where}: {error.message}" for error in errors[:_MAX_LISTED]]
    if len(errors) > _MAX_LISTED:
        lines.append(f"  and {len(errors) - _MAX_LISTED} more")
    hints = dict.fromkeys(error.hint for error in errors)
    return UnsupportedOpError("\n".join(lines), hint="; ".join(hints))
