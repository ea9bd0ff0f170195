"""Simulations that must run: ``rlx verify --require``.

Tests: tests/cli/test_require.py
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from rlx.driver.verification.repeat import Repeatable
from rlx.support.errors import ToolMissingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.targets.verifier import NotRun, Plan, Verification, Verifier

ALL: Final = "all"
"""Name that requires every simulation of the default."""


@runtime_checkable
class Planning(Protocol):
    """Interface of a verifier that plans: ``rlx.targets.verifier.Verifier``."""

    def plan(self, folder: Path, tools: Sequence[str] | None) -> Plan:
        """Return the simulations that a verification of ``folder`` would run, possibly none."""
        ...


@dataclass(frozen=True, slots=True)
class Choice:
    """Simulators of a verification.

    Attributes:
        tools: Their names; None for the installed ones.
        not_run: Those of the default that are missing, if further ones were added to the default.
    """

    tools: tuple[str, ...] | None
    not_run: tuple[NotRun, ...] = ()

    def completed(self, result: Verification) -> Verification:
        """Return the result of a verification, with the missing ones of the default."""
        if not self.not_run or not is_dataclass(result):
            return result
        changed: Verification = replace(result, not_run=self.not_run)
        return changed


def required(
    verifier: Verifier, folder: Path, tools: Sequence[str] | None, names: Sequence[str]
) -> Choice:
    """Return the simulators to use, so that those that are required run too.

    Args:
        verifier: Verifier of the folder's target.
        folder: An output folder.
        tools: Simulators by name; None for the installed ones.
        names: Those that must run; ``all`` selects every one of the default.

    Raises:
        ToolMissingError: One of them cannot run here.
        UsageError: The verifier has no list of its simulations, or knows no simulator of that name.
    """
    named_tools = None if tools is None else tuple(tools)
    if not names:
        return Choice(named_tools)
    if not isinstance(verifier, Planning):
        raise UsageError(
            f"{type(verifier).__name__} does not say what it would run",
            where="--require",
            hint="name the simulators by --with; one that is missing is an error then",
        )
    plan = verifier.plan(folder, tools)
    missing = [one for one in plan.not_run if ALL in names or one.name in names]
    if missing:
        raise ToolMissingError(
            "required, but cannot run here: "
            + "; ".join(f"{one.platform}: {one.reason}" for one in missing),
            hint="\n".join(dict.fromkeys(one.install for one in missing)),
        )
    planned = {*plan.tools, *plan.names, ALL}
    more = [name for name in dict.fromkeys(names) if name not in planned]
    if not more:
        return Choice(named_tools)
    chain = (*plan.tools, *more)
    if isinstance(verifier, Repeatable):
        verifier.tools_used(folder, chain)
    return Choice(chain, plan.not_run)


def not_run_here(verifier: Verifier, folder: Path) -> tuple[NotRun, ...]:
    """Return the simulations of the default whose tools are missing, where that is known."""
    return verifier.plan(folder, None).not_run if isinstance(verifier, Planning) else ()
