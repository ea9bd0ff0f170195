"""Options of fusion: patterns and limits.

Tests: tests/unit/passes/fusion/test_report.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from rlx.ir import Op
from rlx.support.errors import UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Claims: TypeAlias = Callable[[type[Op]], bool]
"""Function that returns whether a backend has a kernel for a class of fused ops."""


class Pattern(StrEnum):
    """Pattern that can be fused. The value is its name in options and reports.

    ``FOLD``: factors and sums with constants or parameters, after or before a product with weights,
    become part of weights and bias; so does a batch normalization. ``JOIN``: products of one value
    with several weights become one product, and slices of it.
    """

    FOLD = "fold"
    JOIN = "join"
    ATTENTION = "attention"
    NORM = "norm"
    SOFTMAX = "softmax"
    GATED = "gated"
    MATMUL = "matmul"
    CONV = "conv"
    ELEMENTWISE = "elementwise"


class FusionPolicy(StrEnum):
    """Policy for a pattern: fused where it is found, or left unchanged."""

    FUSE = "fuse"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionOptions:
    """Patterns to fuse, and limits.

    Attributes:
        default: For every pattern that is not in ``patterns``.
        patterns: Policy by pattern.
        max_steps: Most ops of an elementwise region.
        max_operands: Most operands of an elementwise region.
        limit_bytes: Folded and joined weights larger than this are not made at compile time.
        join_macs: Products of more multiply-accumulates are not joined: joining saves a call, which
            they do not notice, and joined weights are a copy in addition to those of the graph.
    """

    default: FusionPolicy = FusionPolicy.FUSE
    patterns: Mapping[Pattern, FusionPolicy] = field(default_factory=lambda: MappingProxyType({}))
    max_steps: int = 64
    max_operands: int = 16
    limit_bytes: int = 1 << 28
    join_macs: int = 1 << 22

    def __post_init__(self) -> None:
        """Refuse names that nothing has, and limits that no region can keep.

        Raises:
            UsageError: There is no such pattern or policy.
            ValueError: A limit is too small.
        """
        object.__setattr__(self, "default", _policy(self.default))
        policies = {_pattern(name): _policy(policy) for name, policy in self.patterns.items()}
        object.__setattr__(self, "patterns", MappingProxyType(policies))
        if self.max_steps < 2 or self.max_operands < 1:
            raise ValueError(
                "a region has at least 2 steps and 1 operand, but the limits are"
                f" {self.max_steps} and {self.max_operands}"
            )

    def wants(self, pattern: Pattern) -> bool:
        """Return whether a pattern is to be fused."""
        return self.patterns.get(pattern, self.default) is FusionPolicy.FUSE

    def to_dict(self) -> dict[str, Any]:
        """Return the options ready for JSON: policies by pattern, ``*`` for all others."""
        policies = {str(name): str(policy) for name, policy in sorted(self.patterns.items())}
        return {
            "patterns": {"*": str(self.default), **policies},
            "max_steps": self.max_steps,
            "max_operands": self.max_operands,
            "limit_bytes": self.limit_bytes,
            "join_macs": self.join_macs,
        }

    @staticmethod
    def parse(texts: Iterable[str]) -> FusionOptions:
        """Return the options that ``POLICY`` or ``PATTERN=POLICY`` name, the last one of each.

        Raises:
            UsageError: There is no such policy or pattern.
        """
        default, patterns = FusionPolicy.FUSE, {}
        for text in texts:
            pattern, equals, policy = text.rpartition("=")
            if equals:
                patterns[_pattern(pattern)] = _policy(policy)
            else:
                default = _policy(policy)
        return FusionOptions(default=default, patterns=MappingProxyType(patterns))


def _pattern(text: str) -> Pattern:
    return Pattern(_known(text, Pattern, "patterns"))


def _policy(text: str) -> FusionPolicy:
    return FusionPolicy(_known(text, FusionPolicy, "policies"))


def _known(text: str, names: type[StrEnum], what: str) -> str:
    """Return ``text`` if it is one of ``names``.

    Raises:
        UsageError: It is none.
    """
    known = [str(name) for name in names]
    if text not in known:
        kind = {"patterns": "pattern", "policies": "policy"}[what]
        raise UsageError(
            f"no {kind} of fusion is called {text!r}",
            where="fusion",
            hint=did_you_mean(text, known, what=what),
        )
    return text
