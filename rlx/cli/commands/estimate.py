"""``rlx estimate``: bytes, MACs, cycles or instructions without emitting.

Tests: tests/cli/test_table.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rlx.cli.commands.emit import print_report
from rlx.cli.common import executor_option, json_option, policy_option, print_json, progress
from rlx.cli.model_command import (
    load_bound,
    model_command,
    selected_options,
    selected_target,
    target_option,
    weight_bits_option,
)
from rlx.cli.progress import progress_option
from rlx.cli.sweep_option import SweepCommand, swept_values
from rlx.cli.table import prose, show_table, wide_option
from rlx.support.errors import DoesNotFitError, UsageError
from rlx.support.parallel import workers

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.passes import Policies
    from rlx.targets import Target


@model_command(
    "estimate",
    cls=SweepCommand,
    examples=(
        "rlx estimate digits.tflite --target cortexm",
        "rlx estimate digits.tflite --parts all",
    ),
)
@target_option
@weight_bits_option
@policy_option
@executor_option
@wide_option
@json_option
@progress_option
def command(
    model: Path,
    weight_bits: int | None,
    policies: Policies | None,
    executor: str | None,
    as_json: bool,
) -> None:
    """Show what MODEL will need on a target, layer by layer, without emitting it.

    A float network is taken as if it were quantized, which needs no samples: weights of
    --weight-bits, int8 activations.

    With several values of one option, as --parts all or --cpus all, a table compares them, the best
    first.
    """
    from rlx.driver import driver
    from rlx.driver.assumption import assume

    target, options = selected_target()
    swept = swept_values()
    if swept is not None:
        _compare(model, target, options, swept, policies, weight_bits, executor, as_json=as_json)
        return
    if executor is not None:
        raise UsageError(
            "a single estimate has no parts",
            where="--executor",
            hint="leave it out, or compare several values: --parts all",
        )
    assumed = assume(
        load_bound(model), target, options=options, policies=policies, weight_bits=weight_bits
    )
    lowered = driver.lower(assumed.module, target, options=options, policies=policies)
    estimate = dict(target.estimate(lowered.module, options))
    if lowered.changes:
        estimate["ports"] = assumed.ports(lowered.changes)
    if as_json:
        note = assumed.assumption
        report = {
            "target": target.name,
            **({} if note is None else {"assumed": note.as_json()}),
            "dispatch": lowered.dispatch.to_dict(),
            **estimate,
        }
        print_json(report)
        return
    print_report(target, options, estimate)
    if assumed.assumption is not None:
        prose(str(assumed.assumption))


def _compare(
    model: Path,
    target: Target,
    options: Any,  # noqa: ANN401 - the target's own class
    swept: tuple[str, str],
    policies: Policies | None,
    weight_bits: int | None,
    executor: str | None,
    *,
    as_json: bool,
) -> None:
    """Print an estimate for each value; the status is that of what does not fit if nothing does."""
    from rlx.driver.sweep import estimate_values

    option, values = swept
    with progress() as tell, workers(executor) as pool:
        estimates = estimate_values(
            load_bound(model), target, values, options, option=option,
            user_options=selected_options(), policies=policies, weight_bits=weight_bits,
            progress=tell, pool=pool,
        )  # fmt: skip
    if as_json:
        print_json(estimates.as_json())
    else:
        show_table(estimates.table())
        for name, reason in estimates.reasons.items():
            prose(f"{name}: {reason}")
        if estimates.assumed is not None:
            prose(str(estimates.assumed["note"]))
    if estimates.best is None:
        raise click.exceptions.Exit(DoesNotFitError.exit_status)
