"""``rlx estimate``: bytes, MACs, cycles or instructions without emitting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.cli.common import json_option, policy_option, print_json
from rlx.cli.emit import print_report
from rlx.cli.model_command import load_model, model_command, selected_target, target_option
from rlx.cli.table import wide_option

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.passes import Policies


@model_command("estimate")
@target_option
@policy_option
@wide_option
@json_option
def command(model: Path, policies: Policies | None, as_json: bool) -> None:
    """Show what MODEL will need on a target, layer by layer, without emitting it."""
    from rlx import driver

    chosen, options = selected_target()
    lowered = driver.lower(load_model(model), chosen, options=options, policies=policies)
    estimate = dict(chosen.estimate(lowered.module, options))
    if lowered.changes:
        estimate["ports"] = [str(change) for change in lowered.changes]
    if as_json:
        report = {"target": chosen.name, "dispatch": lowered.dispatch.to_dict(), **estimate}
        print_json(report)
        return
    if not estimate.get("fits", True):
        print(f"does not fit: {estimate['short']}")
    print_report(chosen, options, estimate)
