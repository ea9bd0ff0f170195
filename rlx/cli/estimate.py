"""``rlx estimate``: bytes, MACs, cycles or instructions without emitting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rlx.cli.common import json_option, load_model, model_argument, print_json
from rlx.cli.emit import print_report
from rlx.cli.target_options import TargetCommand, build_options

if TYPE_CHECKING:
    from pathlib import Path


@click.command(cls=TargetCommand, name="estimate")
@model_argument
@click.option("--target", required=True, metavar="NAME", help="Target; see 'rlx targets'.")
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    model: Path,
    target: str,
    as_json: bool,
    **target_options: Any,  # noqa: ANN401 - the target's own options
) -> None:
    """Show what MODEL will need on a target, layer by layer, without emitting it."""
    from rlx import emit

    del target
    chosen = ctx.meta["rlx.target"]
    options = build_options(chosen, target_options)
    lowered = emit.lower(load_model(model), chosen, options=options)
    estimate = chosen.estimate(lowered.module, options)
    if as_json:
        report = {"target": chosen.name, "dispatch": lowered.dispatch.to_dict(), **estimate}
        print_json(report)
        return
    if not estimate.get("fits", True):
        print(f"does not fit: {estimate['short']}")
    print_report(chosen.name, estimate)
