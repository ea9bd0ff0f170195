"""``rlx export``: an integer network in the format of another program."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rlx.cli.common import json_option, keep_inputs, print_json, progress
from rlx.cli.model_command import load_bound, model_command
from rlx.cli.progress import progress_option

if TYPE_CHECKING:
    from rlx.driver.exporters import Exported


@model_command(
    "export",
    examples=(
        "rlx export digits.q.rlx -o net.tflite",
        "rlx export digits.q.rlx -o net.onnx --opset 13",
    ),
)
@click.option(
    "-o",
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File to write, .tflite or .onnx.",
)
@click.option(
    "--opset",
    type=int,
    metavar="NUMBER",
    help="Version of the operators of .onnx, 13 to 25.  [default: 17]",
)
@json_option
@progress_option
def command(model: Path, out: Path, opset: int | None, as_json: bool) -> None:
    """Write the integer network MODEL as .tflite (int8) or .onnx (Q/DQ).

    TensorFlow Lite Micro computes the .tflite to the same bits as 'rlx run'; an op that its
    operators do not give exactly is refused. Programs that read the .onnx compute in float, so a
    value may differ by one at a rounding half: how many do is counted on random inputs.
    """
    from rlx.driver.exporters import export
    from rlx.support.files.outputs import write_file

    keep_inputs(out, model)
    with progress(enabled=not as_json) as show:
        show(f"reading {model.name}")
        module = load_bound(model)
        show(f"writing {out.name}")
        exported = export(module.graph, out, opset)
        write_file(out, exported.content)
    if as_json:
        print_json(_report(exported, out))
        return
    print(f"wrote {out}: {len(exported.content):,} bytes; {_equality(exported)}")


def _equality(exported: Exported) -> str:
    apart = exported.differences
    if apart is None:
        return "TensorFlow Lite Micro gives the bits of 'rlx run'"
    if not apart.differing:
        return f"{apart.values:,} outputs of random inputs equal those of 'rlx run'"
    return (
        f"{apart.differing:,} of {apart.values:,} outputs of random inputs differ from 'rlx run', "
        f"by at most {apart.largest:g} (rounding in float)"
    )


def _report(exported: Exported, out: Path) -> dict[str, Any]:
    apart = exported.differences
    return {
        "bytes": len(exported.content),
        "out": str(out),
        "outputs_compared": 0 if apart is None else apart.values,
        "outputs_differing": 0 if apart is None else apart.differing,
        "largest_difference": 0.0 if apart is None else apart.largest,
        "exact": apart is None or not apart.differing,
    }
