"""``rlx inspect``: show a model's graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, keep_inputs, print_json
from rlx.cli.host_needs import show_needs
from rlx.cli.host_way import show_fusion, show_stages
from rlx.cli.model_command import load_model, model_command
from rlx.cli.stages import dump_dir, prints, stage_options
from rlx.cli.table import is_wide, prose, show, show_table, wide_option
from rlx.support.errors import UsageError
from rlx.support.files.outputs import write_file
from rlx.support.text.tables import Column, Table, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import GraphModule
    from rlx.ir.diff import GraphDiff
    from rlx.ir.inspect import GraphInspection, NodeInspection, PipelineInspection
    from rlx.ir.manifest import BindingManifest


@model_command("inspect")
@click.option("--text", is_flag=True, help="Print the graph in its text form.")
@click.option("--passes", is_flag=True, help="Show each pass that changes something.")
@click.option("--pipeline", default="default", show_default=True, help="Pipeline for --passes.")
@click.option(
    "--manifest",
    is_flag=True,
    help="Show what a run on this machine binds: names, types, bytes, places in memory.",
)
@click.option(
    "--diff",
    "other",
    type=click.Path(path_type=Path),
    help="Compare with another model; with --manifest, what both bind.",
)
@click.option(
    "--svg", type=click.Path(path_type=Path), help="Write a drawing of the graph to this file."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="Write a page with drawing, layers and weights to this file; it needs nothing else.",
)
@click.option("--memory", is_flag=True, help="Show the bytes that the host needs to run it.")
@click.option(
    "--roofline", is_flag=True, help="Show the minimum time of each layer on the host; takes 1 s."
)
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    help="Limits for --roofline, as its --json prints them [measured].",
)
@click.option("--fusion", is_flag=True, help="Show what is fused on the host, what not, and why.")
@click.option(
    "--fusion-policy",
    "policies",
    multiple=True,
    metavar="[PATTERN=]POLICY",
    help="For --fusion: fuse or keep a pattern, or all; may be repeated.",
)
@stage_options
@wide_option
@json_option
def command(
    model: Path,
    *,
    text: bool,
    passes: bool,
    pipeline: str,
    manifest: bool,
    other: Path | None,
    svg: Path | None,
    html: Path | None,
    memory: bool,
    roofline: bool,
    machine: Path | None,
    fusion: bool,
    policies: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show MODEL layer by layer: ops, shapes, MACs, bytes.

    --dump-dir and --print-ir-* show the graph between MODEL and a program for the host; 'rlx emit'
    has them for targets.
    """
    from rlx.ir.inspect import GraphInspection

    ways = {
        "--text": text, "--passes": passes, "--manifest": manifest,
        "--diff": other is not None and not manifest, "--svg and --html": bool(svg or html),
        "--memory": memory, "--roofline": roofline, "--fusion": fusion,
        "--dump-dir": dump_dir() is not None, "--print-ir": prints() and dump_dir() is None,
    }  # fmt: skip
    _check_ways([name for name, asked in ways.items() if asked], machine, policies, as_json)
    module = load_model(model)
    if svg or html or dump_dir() or prints():
        _wrote(_files(model, svg, html, module, as_json), as_json)
        return
    if text:
        print(module.graph)
        return
    if manifest:
        _show_manifest(module, None if other is None else load_model(other, other=True), as_json)
        return
    if memory or roofline:
        show_needs(module, machine, memory=memory, as_json=as_json)
        return
    if fusion:
        show_fusion(module, policies, as_json=as_json)
        return
    report = _report(module, other, passes, pipeline)
    if as_json:
        print_json(report.to_dict())
    elif isinstance(report, GraphInspection):
        prose(report.stats())
        print()
        show_table(_table(report))
    else:
        print(report)


def _report(
    module: GraphModule, other: Path | None, passes: bool, pipeline: str
) -> GraphInspection | PipelineInspection | GraphDiff:
    """Return the graph, what passes change, or how another model differs."""
    from rlx.ir.diff import inspect_graph_diff
    from rlx.ir.inspect import inspect_graph, inspect_pipeline
    from rlx.passes import pipeline as named

    if other is not None:
        return inspect_graph_diff(module.graph, load_model(other, other=True).graph)
    if not passes:
        return inspect_graph(module.graph)
    stages = [("import", module.graph)]
    named(pipeline).run(module, observe=lambda step, m: stages.append((str(step), m.graph)))
    return inspect_pipeline(stages)


def _show_manifest(module: GraphModule, other: GraphModule | None, as_json: bool) -> None:
    """Print the bindings of a model on this machine, or their differences from another model's."""
    from rlx.ir.manifest_diff import ManifestDiff

    found = _manifest(module)
    report = found if other is None else ManifestDiff.of(found, _manifest(other))
    if as_json:
        print_json(report.to_dict())
    elif report:
        show(report.tables())
    else:
        print(report)


def _manifest(module: GraphModule) -> BindingManifest:
    """Return the bindings of a model on this machine.

    Raises:
        UsageError: A dimension is a symbol.
    """
    from rlx.passes.transforms.bind import sizes_hint, symbols
    from rlx.runtime import Session

    graph = module.graph
    if unbound := symbols(graph):
        raise UsageError(
            f"has dimensions that are no numbers: {', '.join(map(printable, unbound))}",
            where=f"graph {printable(graph.name)!r}",
            hint=sizes_hint(unbound),
        )
    return Session().compile(graph).manifest()


def _check_ways(
    ways: Sequence[str], machine: Path | None, policies: Sequence[str], as_json: bool
) -> None:
    """Refuse several things to show at once, and options of what is not shown.

    Raises:
        UsageError: An option would have no effect.
    """
    if len(ways) > 1:
        raise UsageError(
            f"{ways[0]} and {ways[1]} cannot be shown at once", hint="give a command for each"
        )
    for option, given, of in [
        ("--machine", machine is not None, "--roofline"),
        ("--fusion-policy", bool(policies), "--fusion"),
    ]:
        if given and of not in ways:
            raise UsageError(f"{option} has no effect without {of}", hint=f"add {of}")
    if as_json and "--text" in ways:
        raise UsageError("the text form is no JSON", hint="leave out --text or --json")


def _wrote(paths: Sequence[Path], as_json: bool) -> None:
    """Print the names of the files that were written."""
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"wrote {path}")


def _files(
    model: Path, svg: Path | None, html: Path | None, module: GraphModule, as_json: bool
) -> list[Path]:
    """Write the files that were asked for, each at once, and return them."""
    for path in (svg, html):
        keep_inputs(path, model)
    if dump_dir() or prints():
        return show_stages(module, as_json=as_json)
    from rlx.reports.drawing import layout, to_svg
    from rlx.reports.drawing.page import graph_page

    if svg is not None:
        write_file(svg, to_svg(layout(module.graph)).encode())
    if html is not None:
        write_file(html, graph_page(module.graph).encode())
    return [path for path in (svg, html) if path is not None]


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
    place = f"%{node.index}"
    return (place, node.op, name, shapes, macs, constants, quantization, node.origin)
