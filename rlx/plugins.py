"""Plugins: Python entry points, looked up by group and name."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from rlx.errors import TargetNotFoundError


def names(group: str) -> list[str]:
    """Return the names that are installed under ``group``, sorted."""
    return sorted(entry.name for entry in entry_points(group=group))


def load(group: str, name: str, *, missing: str, purpose: str, hint: str, extra: str) -> Any:  # noqa: ANN401 - whatever the group offers
    """Return the object that is installed as ``name`` under ``group``.

    Args:
        group: Group of entry points, for example ``rlx.targets``.
        name: Name in the group.
        missing: Message when nothing is installed under that name.
        purpose: Start of the message about a missing package: what needs it.
        hint: What to do when nothing is installed under that name.
        extra: Extra of rlx that installs the packages which the object needs.

    Raises:
        TargetNotFoundError: Nothing is installed under that name, or a package that it needs is
            missing.
    """
    found = entry_points(group=group, name=name)
    if not found:
        raise TargetNotFoundError(missing, hint=hint)
    try:
        return next(iter(found)).load()
    except ModuleNotFoundError as e:
        raise TargetNotFoundError(
            f"{purpose} needs the package {e.name!r}", hint=f"pip install 'rlx[{extra}]'"
        ) from e
