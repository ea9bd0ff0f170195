"""``rlx doctor``: which tools are installed, and how to install the others."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import click

from rlx import target as targets
from rlx.cli.common import json_option, print_json, progress
from rlx.cli.table import print_table, sentences, wide_option
from rlx.errors import TargetNotFoundError
from rlx.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterator


@click.command(name="doctor")
@wide_option
@json_option
def command(as_json: bool) -> None:
    """Show which tools are installed, and the exact command that installs each missing one."""
    with progress(enabled=not as_json) as show:
        show("looking for tools")
        tools = list(_tools())
    if as_json:
        print_json({"tools": tools})
        return
    rows = [[t["name"], t["version"] or "missing", t["purpose"], t["install"]] for t in tools]
    columns = [Column("tool"), "version", sentences("used for"), sentences("how to install it")]
    print_table("Tools", columns, rows)
    missing = sum(not t["version"] for t in tools)
    print(f"{len(tools) - missing} of {len(tools)} tools are installed")


def _tools() -> Iterator[dict[str, Any]]:
    """Yield the tools that every probe under the group ``rlx.tools`` reports, and targets."""
    for entry in sorted(entry_points(group="rlx.tools"), key=lambda e: e.name):
        for status in entry.load()():
            yield {
                "name": status.name,
                "version": status.tool.version if status.tool else None,
                "purpose": status.purpose,
                "install": "" if status.tool else status.install,
            }
    for name in targets.names():
        try:
            targets.load(name)
            version, install = "ok", ""
        except TargetNotFoundError as e:
            version, install = None, e.hint or ""
        yield {
            "name": f"target {name}", "version": version, "purpose": "emitting", "install": install,
        }  # fmt: skip
