"""``rlx check``: what a target or backend does with each op of a model.

Tests: tests/cli/test_commands.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rlx.cli import failures
from rlx.cli.common import json_option, policy_option, print_json
from rlx.cli.completions import backend_names
from rlx.cli.host_options import BackendOption
from rlx.cli.model_command import (
    load_bound,
    model_command,
    selected_target,
    weight_bits_option,
    with_name,
)
from rlx.cli.streams import complain
from rlx.cli.table import print_table, prose, sentences, wide_option
from rlx.support import plugins
from rlx.support.errors import RlxError, TargetNotFoundError, UnsupportedOpError, UsageError
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.driver.assumption import Assumption
    from rlx.ir import GraphModule
    from rlx.passes import DispatchReport, Policies


@model_command(
    "check",
    examples=("rlx check digits.tflite --target cortexm", "rlx check digits.onnx --backend numpy"),
)
@click.option("--target", metavar="NAME", help="Target; see 'rlx targets'.")
@click.option(
    "--backend",
    cls=BackendOption,
    metavar="NAME",
    help="Backend that runs graphs on the host.",
    shell_complete=backend_names,
)
@weight_bits_option
@policy_option
@wide_option
@json_option
def command(
    model: Path,
    target: str | None,
    backend: str | None,
    weight_bits: int | None,
    policies: Policies | None,
    as_json: bool,
) -> int:
    """Show what a target or backend does with each op of MODEL; nothing is planned or emitted.

    Each op is native, rewritten as another op, decomposed into simpler ones, or refused; for a
    target, after the model is simplified. A float network is taken by a target as if it were
    quantized. Exit status 5 if anything is refused.
    """
    if (target is None) == (backend is None):
        raise UsageError(
            "a target or a backend is needed, but not both",
            hint="give --target NAME or --backend NAME",
        )
    if backend is not None:
        if weight_bits is not None:
            raise UsageError(
                "a backend computes float networks in float",
                where="--weight-bits",
                hint="leave it out, or give --target NAME",
            )
        return _print(_for_backend(load_bound(model), backend, policies), model, as_json=as_json)
    from rlx.driver.assumption import assume
    from rlx.driver.driver import fit_to_target

    plugin, options = selected_target()
    module = load_bound(model)
    try:
        assumed = assume(
            module, plugin, options=options, policies=policies, weight_bits=weight_bits
        )
    except UnsupportedOpError as error:
        if as_json:
            return _print_refused(error, model)
        raise
    fitted = fit_to_target(assumed.module, plugin, options=options, policies=policies)
    return _print(fitted.dispatch, model, assumed.assumption, as_json=as_json)


def _for_backend(module: GraphModule, name: str, policies: Policies | None) -> DispatchReport:
    """Return the treatment of each op by the backend called ``name``."""
    from rlx.runtime.backend import GROUP, backends, fit_to_backend

    for backend in backends():
        if backend.name == name:
            return fit_to_backend(module.graph, backend, policies).report
    if problem := plugins.problem_of(GROUP, name):
        raise TargetNotFoundError(str(problem), hint=problem.hint)
    known = [b.name for b in backends()]
    raise TargetNotFoundError(
        f"no backend is called {name!r}", hint=did_you_mean(name, known, what="backends")
    )


def _print(
    report: DispatchReport, model: Path, note: Assumption | None = None, *, as_json: bool
) -> int:
    """Print a report, also that of a graph that is refused; return the exit status.

    Raises:
        UnsupportedOpError: Ops are refused. With ``as_json`` it is a part of the object.
    """
    if as_json:
        refusal = _refusal(report)
        if refusal is not None:
            refusal.hint = with_name(refusal.hint, model)
        assumed = {} if note is None else {"assumed": note.as_json()}
        error = {} if refusal is None else failures.as_object(refusal)
        print_json(assumed | report.to_dict() | error)
        if refusal is not None:
            complain(failures.text(refusal))
        return 0 if refusal is None else refusal.exit_status
    rows = [[e.op, e.count, str(e.path), e.reason] for e in report.entries]
    columns = [
        "op",
        "count",
        "path",
        sentences("why"),
    ]
    print_table(f"Ops of {report.graph} on {report.owner}", columns, rows)
    if note is not None:
        prose(str(note))
    report.require_ready()
    return 0


def _print_refused(error: UnsupportedOpError, model: Path) -> int:
    """Print that a float network cannot be quantized as JSON; return the exit status."""
    error.hint = with_name(error.hint, model)
    print_json({"owner": "quantization", "ready": False, "ops": []} | failures.as_object(error))
    complain(failures.text(error))
    return error.exit_status


def _refusal(report: DispatchReport) -> RlxError | None:
    try:
        report.require_ready()
    except RlxError as error:
        return error
    return None
