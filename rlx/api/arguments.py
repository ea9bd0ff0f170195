"""Arguments that several functions take, in the forms that Python callers write.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rlx.passes import Policies
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from rlx.api.types import PoliciesLike


def policies_of(policies: PoliciesLike | None) -> Policies | None:
    """Return policies, of one for every op or of policies by op too, ``*`` for all others.

    Raises:
        UsageError: A policy or an op is unknown, or ``policies`` is of another type.
    """
    if policies is None or isinstance(policies, Policies):
        return policies
    import rlx.ops  # noqa: F401 - policies name ops

    if isinstance(policies, str):
        return Policies.parse([policies])
    if isinstance(policies, Mapping):
        return Policies.parse(
            policy if op == "*" else f"{op}={policy}" for op, policy in policies.items()
        )
    raise UsageError(
        f"expected policies, got {policies!r}",
        where="policies",
        hint='write policies="common", or for kinds of op policies={"nn.softmax": "common"}',
    )
