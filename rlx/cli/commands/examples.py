"""``rlx examples``: what ships with rlx, and a copy of it to work on.

Tests: tests/cli/commands/test_demo.py
"""

from __future__ import annotations

from pathlib import Path

import click

from rlx.cli.command import CommandGroup
from rlx.cli.common import json_option, print_json
from rlx.cli.completions import example_names
from rlx.support.files.shipped import copy, example, examples


@click.group(
    "examples",
    cls=CommandGroup,
    invoke_without_command=True,
    examples=("rlx examples", "rlx examples copy digits"),
)
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """List the examples that ship with rlx, or copy one.

    Without a command: the list, with what each needs beyond 'pip install rlx'.
    """
    if context.invoked_subcommand is not None:
        return
    shipped_examples = examples().values()
    if as_json:
        print_json(
            {
                "examples": [
                    {"name": e.name, "summary": e.summary, "needs": e.needs}
                    for e in shipped_examples
                ]
            }
        )
        return
    for shipped in shipped_examples:
        print(f"{shipped.name}\n    {shipped.summary}")
        if shipped.needs:
            print(f"    needs: {shipped.needs}")
    print("\nnext: rlx examples copy NAME")


@command.command(
    "copy",
    short_help="Copy an example into a folder.",
    examples=("rlx examples copy digits", "rlx examples copy onnx_to_firmware work"),
)
@click.argument("name", shell_complete=example_names)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
def copy_command(name: str, folder: Path) -> None:
    """Copy the example NAME into FOLDER, by default the current folder.

    The copy is the folder FOLDER/NAME. Examples that it refers to are copied next to it.
    """
    for made in copy(name, folder):
        print(f"wrote {made}")
    if needs := example(name).needs:
        print(f"it needs: {needs}")
