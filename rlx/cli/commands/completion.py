"""``rlx completion``: the script that completes rlx's commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from rlx.cli.command import subcommand

SHELLS = ("bash", "zsh", "fish")


@subcommand(
    "completion",
    examples=(
        "rlx completion bash > ~/.local/share/bash-completion/completions/rlx",
        'rlx completion zsh > "${fpath[1]}/_rlx"',
        "rlx completion fish > ~/.config/fish/completions/rlx.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print the script that completes commands and options of rlx in SHELL."""
    root = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    # Its own method would start bash to look at the version.
    print(ShellComplete.source(kind(root, {}, "rlx", "_RLX_COMPLETE")))
