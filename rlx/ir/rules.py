"""Tables from op class to rule: how a pass, a runtime or a target knows an op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from rlx.support.errors import UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.ir.op import Op

RuleT = TypeVar("RuleT")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason for which a node cannot be lowered or run in its current form.

    Attributes:
        reason: Obstacle, without the node's name.
        hint: Advice to the user; None for nothing in particular.
    """

    reason: str
    hint: str | None = None


def target_hint(name: str) -> str:
    """Return the hint for an op that a target has no rule for."""
    return f"'rlx targets {name}' lists the ops that it supports; pick another target otherwise"


class RuleTable(Generic[RuleT]):
    """One rule for each op class that its owner knows.

    An op without a rule must be named in ``refuse`` with a reason, so that "forgotten" and
    "not possible" cannot be confused; a test walks all ops and all tables.
    """

    def __init__(
        self, owner: str, rules: Mapping[type[Op], RuleT] | None = None, *, hint: str = ""
    ) -> None:
        """Make a table.

        Args:
            owner: Part of rlx that knows the ops, for messages.
            rules: Rule of each op; None for an empty table, which :meth:`rule` fills.
            hint: Advice to a user about an op without a rule.
        """
        self.owner = owner
        self.hint = hint or (
            "express the layer by other ops; for an op of your own, register a rule in the table "
            f"of {owner}"
        )
        self._rules: dict[type[Op], RuleT] = dict(rules or {})
        self._refused: dict[type[Op], str] = {}

    def rule(self, *ops: type[Op]) -> Callable[[RuleT], RuleT]:
        """Register the decorated function for ``ops``.

        Raises:
            ValueError: One of them already has a rule.
        """

        def register(rule: RuleT) -> RuleT:
            for op in ops:
                if op in self._rules:
                    raise ValueError(f"{self.owner} has two rules for {op.name}")
                self._rules[op] = rule
            return rule

        return register

    def refuse(self, reason: str, *ops: type[Op]) -> None:
        """Declare that the owner cannot handle ``ops``, and why."""
        for op in ops:
            self._refused[op] = reason

    def knows(self, op: type[Op]) -> bool:
        """Return whether ``op`` has a rule or a stated reason for having none."""
        return op in self._rules or op in self._refused

    def is_refused(self, op: type[Op]) -> bool:
        """Return whether ``op`` has a stated reason for having no rule."""
        return op in self._refused and op not in self._rules

    def reason(self, op: type[Op]) -> str | None:
        """Return the reason that ``op`` is refused for, or None if it has a rule."""
        if op in self._rules:
            return None
        return self._refused.get(op, "it has no rule")

    def __getitem__(self, op: type[Op]) -> RuleT:
        try:
            return self._rules[op]
        except KeyError:
            raise UnsupportedOpError(
                f"{self.owner} cannot handle {op.name}: {self.reason(op)}",
                hint=self.hint,
            ) from None

    def __contains__(self, op: object) -> bool:
        return op in self._rules
