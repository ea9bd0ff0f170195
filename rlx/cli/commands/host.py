"""``rlx host``: what a model needs on this machine, and what is fused there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rlx.cli import bindings
from rlx.cli.common import json_option, print_json
from rlx.cli.machine_option import METAVAR, machine_limits
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.table import prose, show, show_figures, show_table, wide_option
from rlx.support.text.tables import float_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.ir import GraphModule
    from rlx.ir.manifest import BindingManifest
    from rlx.passes.fusion import FusionReport
    from rlx.runtime import CompileOptions
    from rlx.runtime.observation.roofline import Roofline


class _Part(NamedTuple):
    """A part of the output: a JSON object, and a function that prints it as text."""

    data: dict[str, Any]
    show: Callable[[], None]


@model_command(
    "host",
    examples=("rlx host digits.tflite", "rlx host digits.tflite --memory --roofline measured"),
)
@click.option("--memory", is_flag=True, help="Show the bytes that it needs.")
@click.option("--fusion", is_flag=True, help="Show what is fused, what not, and why.")
@click.option(
    "--bindings",
    "with_bindings",
    is_flag=True,
    help="Show what a run binds: names, types, bytes, places in memory.",
)
@click.option(
    "--roofline",
    "machine",
    metavar=METAVAR,
    help="Show the minimum time of each node: with the limits in a file that this option printed"
    " with --json, or those of this machine, which takes 1 s.",
)
@click.option(
    "--fusion-policy",
    "policies",
    multiple=True,
    metavar="[PATTERN=]POLICY",
    help="Fuse or keep a pattern, or all; for every part. May be repeated.",
)
@wide_option
@json_option
def command(
    model: Path,
    *,
    memory: bool,
    fusion: bool,
    with_bindings: bool,
    machine: str | None,
    policies: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what MODEL needs on this machine, and what is fused there, without running it.

    Any of the parts can be asked for together; without one, --memory and --fusion are shown.
    """
    from rlx.passes.fusion import FusionOptions
    from rlx.runtime import CompileOptions

    options = CompileOptions(fusion=FusionOptions.parse(policies))
    limits = None if machine is None else machine_limits(machine)
    module = load_bound(model)
    parts: dict[str, _Part] = {}
    if not (memory or fusion or with_bindings or limits):
        memory = fusion = True
    if memory:
        parts["memory"] = _memory(module, options)
    if fusion:
        parts["fusion"] = _fusion(module, options)
    if with_bindings:
        parts["bindings"] = _bindings(bindings.manifest(module, options))
    if limits:
        from rlx.api import roofline

        parts["roofline"] = _roofline(roofline(module, limits, options=options))
    _print(parts, as_json=as_json)


def _print(parts: dict[str, _Part], *, as_json: bool) -> None:
    """Print the parts by name as a JSON object, or as text with an empty line between them."""
    if as_json:
        print_json({name: part.data for name, part in parts.items()})
        return
    for number, part in enumerate(parts.values()):
        if number:
            print()
        part.show()


def _memory(module: GraphModule, options: CompileOptions) -> _Part:
    from rlx.api import memory_estimate

    estimate = memory_estimate(module, options=options)
    return _Part(estimate.as_json(), lambda: show_figures(estimate.figures()))


def _fusion(module: GraphModule, options: CompileOptions) -> _Part:
    from rlx.runtime.fusing import fusion_report

    report = fusion_report(module.graph, options.fusion)
    return _Part(report.to_dict(), lambda: _show_fusion(report))


def _bindings(manifest: BindingManifest) -> _Part:
    return _Part(manifest.to_dict(), lambda: show(manifest.tables()))


def _roofline(bounds: Roofline) -> _Part:
    return _Part(bounds.as_json(), lambda: _show_roofline(bounds))


def _show_fusion(report: FusionReport) -> None:
    prose(report.summary())
    for table in report.tables():
        if table.rows:
            print()
            show_table(table)


def _show_roofline(bounds: Roofline) -> None:
    show_table(bounds.table())
    prose(
        f"at least {float_text(1e6 * bounds.seconds)} us on a backend that calls each layer, as"
        " numpy does; native code, one call for all, can be faster than layers bound by overhead"
    )
