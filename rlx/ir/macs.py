"""The table of multiply-accumulates, which ops fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir.rules import RuleTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir.graph import Node

MACS: RuleTable[Callable[[Node], int | None]] = RuleTable("the count of multiply-accumulates")
"""Multiply-accumulates of a node with static shapes; None if they cannot be counted."""
