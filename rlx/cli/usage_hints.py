"""Advice for a command line that lacks an option, or has one that the command does not know."""

from __future__ import annotations

import re
from typing import Final

import click

_DATA: Final = (
    "--data", "--input", "--calib", "--vectors", "--inputs", "--samples", "--calibration", "--test",
)  # fmt: skip
_OUT: Final = ("--out", "-o", "--output", "--html", "--svg")
_SYNONYMS: Final = (
    _DATA,
    _OUT,
    ("--device", "--part", "--board", "--mcu", "--chip"),
    ("--target", "--backend"),
    ("--frames", "--samples", "--count"),
    ("--weights", "--weight-bits", "--bits"),
    ("--with", "--tool", "--tools", "--simulator"),
)
"""Options that mean alike in different commands, each group in the order of preference."""

_SAMPLES: Final = re.compile(r"\((\S+\.(?:npy|npz|csv|png|wav))\)")


def usage_hint(exception: click.ClickException, command: str) -> str | None:
    """Return advice for an error of the parser; None if the help of the command has to do.

    Args:
        exception: The error.
        command: The command as it is typed, such as ``rlx emit``.
    """
    context = exception.ctx if isinstance(exception, click.UsageError) else None
    if context is None:
        return None
    advice = None
    if isinstance(exception, click.NoSuchOption):
        advice = _synonym(exception, context)
    elif isinstance(exception, click.MissingParameter):
        advice = _addition(exception.param, context)
    elif path := _SAMPLES.search(exception.message):
        advice = _data_option(path[1], context)
    return advice and f"{advice}; all options: {command} --help"


def _synonym(exception: click.NoSuchOption, context: click.Context) -> str | None:
    """Return advice with the option of the command that means the same as an unknown one."""
    for group in _SYNONYMS:
        if exception.option_name in group and (option := _known(group, context)):
            return f"use {_typed(option, context)}"
    return None


def _addition(param: click.Parameter | None, context: click.Context) -> str | None:
    """Return advice with a missing option and its values."""
    if not isinstance(param, click.Option):
        return None
    if param.name == "target":
        from rlx import targets

        *first_names, last = targets.names()
        listed = f"{', '.join(first_names)} or {last}" if first_names else last
        return f"add --target {listed}"
    return f"add {_typed(param, context)}"


def _data_option(path: str, context: click.Context) -> str | None:
    """Return advice with the option that takes samples, which were typed as an argument."""
    option = _known(_DATA, context)
    return f"use {option.opts[-1]} {path}" if option else None


def _known(names: tuple[str, ...], context: click.Context) -> click.Option | None:
    """Return the first of the options that the command has."""
    params = context.command.get_params(context)
    shown = [p for p in params if isinstance(p, click.Option) and not p.hidden]
    options = {flag: p for p in shown for flag in p.opts}
    return next((options[name] for name in names if name in options), None)


def _typed(option: click.Option, context: click.Context) -> str:
    """Return an option with the name of its value."""
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    return f"{option.opts[0]}{value}"
