"""Policies for fitting ops to a target or backend, and the dispatch report.

Tests: tests/unit/passes/test_fit.py
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rlx.ir import Op
from rlx.support.errors import UnsupportedOpError, UsageError
from rlx.support.text.names import shorten
from rlx.support.text.suggest import closest, did_you_mean
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class Policy(StrEnum):
    """Policy for an op that could be computed in two ways.

    ``PREFER_NATIVE`` keeps it unchanged where that is possible, and writes it in other ops where
    not. ``COMMON`` writes it in other ops where they exist. ``NATIVE`` keeps it unchanged or
    refuses it.
    """

    PREFER_NATIVE = "prefer-native"
    COMMON = "common"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Policies:
    """A policy for each kind of op.

    Attributes:
        default: For every op that is not in ``ops``.
        ops: Policy by name of the op, such as ``nn.softmax``.

    Raises:
        UsageError: There is no such policy or op.
    """

    default: Policy = Policy.PREFER_NATIVE
    ops: Mapping[str, Policy] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        chosen = {_known_op(name): _policy(policy) for name, policy in self.ops.items()}
        object.__setattr__(self, "default", _policy(self.default))
        object.__setattr__(self, "ops", MappingProxyType(chosen))

    def of(self, op: Op) -> Policy:
        """Return the policy for an op."""
        return self.ops.get(op.name, self.default)

    def to_dict(self) -> dict[str, str]:
        """Return the policies by name of the op, ``*`` for all others, ready for JSON."""
        return {"*": str(self.default), **{name: str(p) for name, p in sorted(self.ops.items())}}

    @staticmethod
    def parse(texts: Iterable[str]) -> Policies:
        """Return the policies that ``POLICY`` or ``OP=POLICY`` name, the last one of each kind.

        Raises:
            UsageError: There is no such policy or op.
        """
        default, ops = Policy.PREFER_NATIVE, {}
        for text in texts:
            op, equals, policy = text.rpartition("=")
            if equals:
                ops[op] = _policy(policy)
            else:
                default = _policy(policy)
        return Policies(default, ops)


def _policy(text: str) -> Policy:
    if text not in list(Policy):
        raise UsageError(
            f"no policy is called {text!r}",
            where="--policy",
            hint=did_you_mean(text, Policy, what="policies")
            + f"; for one kind of op: OP={Policy.COMMON}",
        )
    return Policy(text)


def _known_op(name: str) -> str:
    if name not in Op.registry:
        guess = closest(name, Op.registry)
        raise UsageError(
            f"no op is called {name!r}",
            where="--policy",
            hint=f"did you mean {guess!r}? 'rlx inspect' shows the names of ops"
            if guess
            else "use a name as 'rlx inspect' shows it, for example q.requantize",
        )
    return name


class Outcome(StrEnum):
    """Outcome for a node: kept, rewritten in other ops, or refused.

    ``REWRITTEN`` is another op of the same level; ``DECOMPOSED`` a formula of simpler ops.
    """

    NATIVE = "native"
    REWRITTEN = "rewritten"
    DECOMPOSED = "decomposed"
    REFUSED = "refused"


_MAX_LISTED_NODES: Final = 3
"""Nodes of one op that the message of an error names; a report has them all."""


@dataclass(frozen=True, slots=True)
class OpDispatch:
    """Dispatch of the nodes of one op.

    Attributes:
        op: Name of the op.
        count: Number of nodes.
        path: Their outcome.
        reason: Reason for which they are not native, else empty.
        nodes: Labels of the nodes.
        hint: Advice to the user about a refusal, or None.
    """

    op: str
    count: int
    path: Outcome
    reason: str
    nodes: tuple[str, ...]
    hint: str | None = None

    def __str__(self) -> str:
        """Return the line of a message: some of the nodes, and the reason they are not native."""
        named = ", ".join(shorten(label) for label in self.nodes[:_MAX_LISTED_NODES])
        rest = len(self.nodes) - _MAX_LISTED_NODES
        more = f" and {rest} more" if rest > 0 else ""
        return f"{self.op} ({named}{more}): {self.reason}"


@dataclass(frozen=True, slots=True)
class DispatchReport:
    """Dispatch of each op of a graph on its way to a target or backend.

    Attributes:
        graph: Name of the graph.
        owner: The target or backend.
        entries: Dispatch of each op, by name.
        hint: Hint about refused ops whose refusals have none.
    """

    graph: str
    owner: str
    entries: tuple[OpDispatch, ...]
    hint: str = "change the model, or pick another target ('rlx targets' lists what each has)"

    @property
    def ready(self) -> bool:
        """Whether no op is refused."""
        return all(e.path is not Outcome.REFUSED for e in self.entries)

    def to_dict(self) -> dict[str, Any]:
        """Return the report ready for JSON."""
        rows = [asdict(entry) for entry in self.entries]
        return {"owner": self.owner, "ready": self.ready, "ops": rows}

    @property
    def lacking(self) -> tuple[str, ...]:
        """The ops that are refused, each once."""
        return tuple(dict.fromkeys(e.op for e in self.entries if e.path is Outcome.REFUSED))

    def require_ready(self, advice: str | None = None) -> None:
        """Raise one UnsupportedOpError that names every op that cannot be lowered.

        Args:
            advice: Hint for all of them; None for those of the single refusals.
        """
        bad = [e for e in self.entries if e.path is Outcome.REFUSED]
        if bad:
            hints = dict.fromkeys(e.hint for e in bad if e.hint is not None)
            raise UnsupportedOpError(
                f"{self.owner} cannot compile {counted(len(bad), 'kind of op')}:\n    "
                + "\n    ".join(map(str, bad)),
                where=f"graph {self.graph!r}",
                hint=advice or "; ".join(hints) or self.hint,
            )
