"""``rlx paths``: where the files are that build systems include, and the JSON Schemas.

Tests: tests/cli/test_schemas.py
"""

from __future__ import annotations

import click

from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json
from rlx.support.files.paths import cmake_folder, makefile, schema_folder


@subcommand(
    "paths",
    examples=("rlx paths", "rlx paths --cmake"),
)
@click.option("--cmake", "kind", flag_value="cmake", help="Only the folder of the CMake package.")
@click.option("--make", "kind", flag_value="make", help="Only the file that makefiles include.")
@click.option(
    "--schemas",
    "kind",
    flag_value="schemas",
    help="Only the folder of the JSON Schemas of what commands print with --json.",
)
@json_option
def command(kind: str | None, as_json: bool) -> None:
    """Show where the files are that build systems include, and JSON Schemas.

    Use them as in "cmake -Drlx_DIR=$(rlx paths --cmake)" and "include $(shell rlx paths --make)".
    """
    paths_by_kind = {
        "cmake": str(cmake_folder()),
        "make": str(makefile()),
        "schemas": str(schema_folder()),
    }
    if as_json:
        print_json(paths_by_kind if kind is None else {kind: paths_by_kind[kind]})
    elif kind is None:
        for name, path in paths_by_kind.items():
            print(f"{name}: {path}")
    else:
        print(paths_by_kind[kind])
