"""``rlx new``: a project around a network, that builds.

Tests: tests/builds/test_new.py
"""

from __future__ import annotations

from pathlib import Path

import click

from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json, typed
from rlx.support.text.units import counted


@subcommand(
    "new",
    examples=("rlx new firmware product --model digits.tflite", "rlx new cmake app"),
)
@click.argument("kind", metavar="KIND")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Model file to copy into the project.  [default: the digits network of the examples]",
)
@json_option
def command(kind: str, folder: Path, model: Path | None, as_json: bool) -> None:
    """Write a project of a KIND into the new folder DIR; its README.md says how to build it.

    KIND is firmware (a Cortex-M4 without an operating system, under QEMU), cmake (a program here, a
    library for a Cortex-M), zephyr (an application) or litex (a SoC with the core).
    """
    from rlx.driver import projects

    files = projects.create(kind, folder, model)
    if as_json:
        print_json({"kind": kind, "out": str(folder), "files": files})
        return
    print(f"wrote {counted(len(files), 'file')} to {folder}; next:")
    for line in (f"cd {typed(folder)}", *projects.kind(kind).commands):
        print(f"  {line}")
