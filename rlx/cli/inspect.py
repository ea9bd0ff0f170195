"""``rlx inspect``: show a model's graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rlx.cli.common import json_option, print_json
from rlx.cli.model_command import load_model, model_command
from rlx.cli.table import is_wide, prose, show_table, wide_option
from rlx.outputs import write_file
from rlx.tables import Column, Table

if TYPE_CHECKING:
    from rlx.ir import Graph
    from rlx.ir.inspect import GraphInspection, NodeInspection


@model_command("inspect")
@click.option("--text", is_flag=True, help="Print the graph in its text form.")
@click.option("--passes", is_flag=True, help="Show what each pass of the pipeline changes.")
@click.option("--pipeline", default="default", show_default=True, help="Pipeline for --passes.")
@click.option(
    "--diff", "other", type=click.Path(path_type=Path), help="Compare with another model."
)
@click.option(
    "--svg", type=click.Path(path_type=Path), help="Write a drawing of the graph to this file."
)
@click.option(
    "--html",
    type=click.Path(path_type=Path),
    help="Write a page with drawing, layers and weights to this file; it needs nothing else.",
)
@wide_option
@json_option
def command(
    model: Path,
    *,
    text: bool,
    passes: bool,
    pipeline: str,
    other: Path | None,
    svg: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Show MODEL layer by layer: ops, shapes, MACs, bytes."""
    from rlx.ir import inspect as inspection
    from rlx.ir.diff import GraphDiff, inspect_graph_diff
    from rlx.passes import pipeline as named

    module = load_model(model)
    if svg is not None or html is not None:
        _write_pictures(module.graph, svg, html)
        return
    if text:
        print(module.graph)
        return
    report: inspection.GraphInspection | inspection.PipelineInspection | GraphDiff
    if other is not None:
        report = inspect_graph_diff(module.graph, load_model(other, other=True).graph)
    elif passes:
        stages = [("import", module.graph)]
        named(pipeline).run(module, observe=lambda name, graph: stages.append((name, graph)))
        report = inspection.inspect_pipeline(stages)
    else:
        report = inspection.inspect_graph(module.graph)
    if as_json:
        print_json(report.to_dict())
    elif isinstance(report, inspection.GraphInspection):
        prose(report.stats())
        print()
        show_table(_table(report))
    else:
        print(report)


def _write_pictures(graph: Graph, svg: Path | None, html: Path | None) -> None:
    """Write what was asked for, each file at once."""
    from rlx.drawing import layout, to_svg
    from rlx.drawing.page import graph_page

    if svg is not None:
        write_file(svg, to_svg(layout(graph)).encode())
    if html is not None:
        write_file(html, graph_page(graph).encode())
    for path in filter(None, (svg, html)):
        print(f"wrote {path}")


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
    from rlx.ir.inspect import printable

    types = [text.partition("] ") for text in node.types]
    shapes = ", ".join(shape + end.rstrip() for shape, end, _ in types)
    quantization = ", ".join(rest for _, _, rest in types if rest)
    macs = "" if node.op.startswith("core.") else "?" if node.macs is None else node.macs
    constants = node.constant_bytes or ""
    name = node.name if is_wide() else printable(node.name)
    place = f"%{node.index}"
    return (place, node.op, name, shapes, macs, constants, quantization, node.origin)
