"""``rlx explain``: what an error code means, and what to do.

Tests: tests/cli/test_explanations.py
"""

from __future__ import annotations

import click

from rlx.cli import explanations
from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json


@subcommand(
    "explain",
    examples=("rlx explain E112", "rlx explain"),
)
@click.argument("code", required=False)
@json_option
def command(code: str | None, as_json: bool) -> None:
    """Show cause and cure of an error CODE, such as RLX-E112, E112 or 112.

    Without CODE, list all error codes.
    """
    if code is None:
        titles = {f"RLX-{one}": explanations.title(one) for one in explanations.error_codes()}
        if as_json:
            print_json({"errors": titles})
            return
        print("\n".join(f"{one}  {text}" for one, text in titles.items()))
        return
    text = explanations.page(code)
    if as_json:
        print_json({"code": text.split()[1].rstrip(":"), "text": text})
    else:
        print(text.replace("**", "").removeprefix("# "), end="")
