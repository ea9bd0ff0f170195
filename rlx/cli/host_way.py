"""Views of ``rlx inspect`` on compilation for the host: its steps, and fusion."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rlx.cli.common import print_json
from rlx.cli.stages import dump_dir, observer
from rlx.cli.table import prose, show_table
from rlx.support.files.outputs import read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import GraphModule


def show_fusion(module: GraphModule, policies: Sequence[str], *, as_json: bool) -> None:
    """Print the fusions of a model on the host, and those that are missed, with reasons.

    Args:
        module: The model.
        policies: ``POLICY`` or ``PATTERN=POLICY``, as ``FusionOptions.parse`` takes them.
        as_json: Whether to print a JSON object.
    """
    from rlx.passes.fusion import FusionOptions
    from rlx.runtime.fusing import fusion_report

    report = fusion_report(module.graph, FusionOptions.parse(policies))
    if as_json:
        print_json(report.to_dict())
        return
    prose(report.summary())
    for table in report.tables():
        if table.rows:
            print()
            show_table(table)


def show_stages(module: GraphModule, *, as_json: bool) -> list[Path]:
    """Write or print a model's graph at the steps of compilation for the host that change it.

    Args:
        module: The model.
        as_json: Whether standard output is for a JSON object; graphs go to standard error then.

    Returns:
        The files, in the order of the steps.

    Raises:
        UsageError: A size is a symbol, or no step has the name of an option.
        OutputError: The folder cannot be written.
    """
    from rlx.runtime.lowering import STEPS
    from rlx.runtime.needs import lowered

    stream = sys.stderr if as_json else sys.stdout
    with observer(STEPS, stream=stream, force=True) as observe:
        lowered(module, observe=observe)
    folder = dump_dir()
    return [] if folder is None else [folder / name for name in read_manifest(folder).files]
