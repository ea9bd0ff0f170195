"""``rlx inspect``: a model's graph, layer by layer."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, Final

import click

from rlx.cli.common import json_option, print_json
from rlx.cli.model_command import load_model, model_command
from rlx.cli.samples import say
from rlx.cli.table import is_wide, prose, show_table, wide_option
from rlx.support.errors import UsageError
from rlx.support.text.tables import Column, Table, printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rlx.ir.inspect import GraphInspection, NodeInspection

_OTHER_COMMANDS: Final = {
    "--bindings": "host MODEL --bindings",
    "--diff": "diff MODEL {}",
    "--dump-dir": "passes MODEL --dump-dir {}",
    "--fusion": "host MODEL --fusion",
    "--fusion-policy": "host MODEL --fusion --fusion-policy {}",
    "--html": "draw MODEL -o {}",
    "--machine": "host MODEL --roofline {}",
    "--manifest": "host MODEL --bindings",
    "--memory": "host MODEL --memory",
    "--passes": "passes MODEL --pipeline default",
    "--pipeline": "passes MODEL --pipeline {}",
    "--print-ir-after": "passes MODEL --print-ir-after {}",
    "--print-ir-before": "passes MODEL --print-ir-before {}",
    "--roofline": "host MODEL --roofline measured",
    "--svg": "draw MODEL -o {}",
    "--verify-each": "passes MODEL --verify-each",
}
"""Options that other commands have in place of this one, and these commands."""


def _refused_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of ``_OTHER_COMMANDS``, hidden, to a command."""
    for flag, advice in _OTHER_COMMANDS.items():
        option = click.option(
            flag,
            is_flag="{}" not in advice,
            hidden=True,
            expose_value=False,
            callback=_keep_refused,
        )
        function = option(function)
    return function


def _keep_refused(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        flag = param.opts[0]
        advice = _OTHER_COMMANDS[flag].format(shlex.quote(str(value)))
        ctx.meta.setdefault(__name__, {})[flag] = advice


def _refuse_options() -> None:
    """Refuse the options of other commands.

    Raises:
        UsageError: There is one.
    """
    for flag, advice in click.get_current_context().meta.get(__name__, {}).items():
        raise UsageError(f"rlx inspect has no option {flag}", hint=f"use rlx {advice}")


@model_command(
    "inspect",
    examples=("rlx inspect digits.tflite", "rlx inspect digits.tflite --text"),
)
@click.option("--text", is_flag=True, help="Print the graph in its text form.")
@_refused_options
@wide_option
@json_option
def command(model: Path, *, text: bool, as_json: bool) -> None:
    """Show MODEL layer by layer: ops, shapes, MACs, bytes.

    A batch that the file leaves open is 1, but in --text.
    """
    from rlx.frontends.open_shapes import DimensionSizes
    from rlx.frontends.registry import with_sizes
    from rlx.ir.inspect import inspect_graph

    _refuse_options()
    if as_json and text:
        raise UsageError("--text and --json exclude each other", hint="leave out --text or --json")
    module = load_model(model)
    if text:
        print(module.graph)
        return
    sizes = DimensionSizes()
    report = inspect_graph(with_sizes(module, sizes).graph)
    say(sizes.notes)
    if as_json:
        print_json(report.to_dict())
        return
    prose(report.stats())
    print()
    show_table(_table(report))


def _table(report: GraphInspection) -> Table:
    """Return the nodes of a graph as a table."""
    columns = (
        Column(""),
        Column("op", priority=1),
        Column("name", shortest=12),
        Column("result", priority=2, shortest=20),
        Column("MACs", right=True, total=report.macs),
        Column("constants", "B", priority=1, right=True, total=report.constant_bytes),
        Column("quantization", priority=3, meaning="scale and zero point"),
        Column("origin", priority=4, shortest=20),
    )
    rows = tuple(_row(node) for node in report.nodes)
    macs = [node.macs or 0 for node in report.nodes]
    heaviest = macs.index(max(macs)) if any(macs) else None
    return Table("", columns, rows, heaviest, total="all")


def _row(node: NodeInspection) -> tuple[object, ...]:
    types = [text.partition("] ") for text in node.types]
    shapes = ", ".join(shape + end.rstrip() for shape, end, _ in types)
    quantization = ", ".join(rest for _, _, rest in types if rest)
    macs = "" if node.op.startswith("core.") else "?" if node.macs is None else node.macs
    constants = node.constant_bytes or ""
    name = node.name if is_wide() else printable(node.name)
    return (f"%{node.index}", node.op, name, shapes, macs, constants, quantization, node.origin)
