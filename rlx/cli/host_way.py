"""What ``rlx inspect --fusion`` and ``--dump-dir`` show: the way of a graph on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.cli.common import print_json
from rlx.cli.table import prose, show_table
from rlx.outputs import read_manifest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rlx.ir import GraphModule


def show_fusion(module: GraphModule, policies: Sequence[str], *, as_json: bool) -> None:
    """Print what is fused of a model on the host, what is not, and why.

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


def dump_stages(module: GraphModule, folder: Path) -> list[Path]:
    """Write the text of a model's graph after every step of compilation for the host.

    Returns:
        The files, in the order of the steps.

    Raises:
        UsageError: A size is a symbol.
        OutputError: The folder cannot be written.
    """
    from rlx.runtime.dump import StageDump
    from rlx.runtime.needs import lowered

    with StageDump(folder, force=True) as dump:
        lowered(module, observe=dump)
    return [folder / name for name in read_manifest(folder).files]
