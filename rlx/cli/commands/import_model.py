"""``rlx import``: read a model file and store its graph."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.common import json_option, keep_inputs, print_json, progress, typed
from rlx.cli.model_command import load_model, model_command
from rlx.cli.progress import progress_option
from rlx.support.errors import UsageError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from rlx.ir import Value
    from rlx.ir.module import GraphModule


@model_command(
    "import",
    examples=(
        "rlx import digits.onnx -o float.rlx",
        "rlx import digits.onnx --channels-last -o float.rlx",
    ),
)
@click.option(
    "-o", "--out", required=True, type=click.Path(path_type=Path), help="File to write, .rlx."
)
@click.option(
    "--weights",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File (.safetensors) with other weights, put into the graph by name. May be repeated.",
)
@click.option(
    "--rename",
    multiple=True,
    metavar="OLD=NEW",
    help="The graph's name of a tensor of --weights; without NEW it is left out. May be repeated.",
)
@json_option
@progress_option
def command(
    model: Path, out: Path, weights: tuple[Path, ...], rename: tuple[str, ...], as_json: bool
) -> None:
    """Read MODEL and store its graph as a .rlx file, which every other command reads.

    The options of a format are shown with a file of it, or by its name: 'rlx import --format onnx
    --help'. The same file gives the same bytes.
    """
    from rlx.ir.file import save
    from rlx.ir.file_errors import check_suffix

    keep_inputs(out, model, *weights)
    check_suffix(out, only=True)
    with progress(enabled=not as_json) as show:
        show(f"reading {model.name}")
        module = load_model(model)
        if weights or rename:
            show(f"reading {', '.join(path.name for path in weights)}")
            module = _with_weights(module, weights, rename)
        show(f"writing {out.name}")
        save(module, out)
    report = _report(module, out)
    if as_json:
        print_json(report)
        return
    ops = ", ".join(f"{name} {count}" for name, count in report["ops"].items())
    print(
        f"wrote {out}: {counted(report['op_count'], 'op')} ({ops}); next: rlx inspect {typed(out)}"
    )


def _with_weights(
    module: GraphModule, weights: tuple[Path, ...], rename: tuple[str, ...]
) -> GraphModule:
    """Return the module with the tensors of files, of which some have other names there."""
    from rlx.frontends.weights.loading import load_weights

    names: dict[str, str | None] = {}
    for setting in rename:
        old, separator, new = setting.partition("=")
        if not separator or old in names:
            raise UsageError(
                f"{setting!r} is not OLD=NEW, or OLD is there twice",
                where="--rename",
                hint="write --rename encoder.weight=w, or --rename step= to leave a tensor out",
            )
        names[old] = new or None
    return load_weights(module, *weights, rename=lambda name: names.get(name, name))


def _report(module: GraphModule, out: Path) -> dict[str, Any]:
    """Return the report of the import."""
    graph = module.graph
    counts = Counter(node.op.name for node in graph.op_nodes)
    names = graph.output_names
    return {
        "constant_bytes": sum(
            n.result.type.nbytes for n in graph.nodes if n.op.name == "core.constant"
        ),
        "inputs": [_value(v.name, v) for v in graph.inputs],
        "op_count": sum(counts.values()),
        "ops": dict(sorted(counts.items())),
        "out": str(out),
        "outputs": [_value(n, v) for n, v in zip(names, graph.outputs, strict=True)],
        "stage": module.stage.value,
    }


def _value(name: str, value: Value) -> dict[str, Any]:
    shape = [d if isinstance(d, int) else str(d) for d in value.type.shape]
    return {"dtype": value.type.dtype.value, "name": name, "shape": shape}
