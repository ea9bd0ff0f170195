"""Values that a shell completes: targets, values of their options, simulators, examples.

Tests: tests/cli/commands/test_completion.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from click.shell_completion import CompletionItem

from rlx import targets
from rlx.support import plugins
from rlx.support.files.shipped import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import click

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_SIMULATORS: Final = {
    "host": "C, on this machine",
    "sanitize": "C, on this machine with sanitizers",
    "qemu": "C, on an emulated core",
    "unicorn": "C, on an emulated core",
    "verilator": "FPGA",
    "cocotb": "FPGA, the emitted cocotb bench",
    "testbench": "FPGA, the emitted SystemVerilog testbench",
    "testbench:icarus": "FPGA, the same in Icarus Verilog",
    "netlist": "FPGA, the mapped design",
}
"""Names of ``rlx verify --with`` and their meaning."""


def target_names(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the installed targets whose name begins with ``start``."""
    del ctx, param
    return _matching(dict.fromkeys(targets.names(), ""), start)


def backend_names(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the installed backends whose name begins with ``start``."""
    del ctx, param
    return _matching(dict.fromkeys(plugins.names("rlx.backends"), ""), start)


def engine_names(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the engines to compare with whose name begins with ``start``."""
    del ctx, param
    names = ["onnxruntime", *plugins.names("rlx.backends")]
    return _matching(dict.fromkeys(names, ""), start)


def example_names(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the shipped examples whose name begins with ``start``."""
    del ctx, param
    return _matching({one.name: one.summary for one in examples().values()}, start)


def simulators(ctx: click.Context, param: click.Parameter, start: str) -> list[CompletionItem]:
    """Return continuations of a list of simulators with commas between."""
    del ctx, param
    typed, comma, last = start.rpartition(",")
    used = typed.split(",")
    left = {name: text for name, text in _SIMULATORS.items() if name not in used}
    return [
        CompletionItem(f"{typed}{comma}{item.value}", help=item.help)
        for item in _matching(left, last)
    ]


def completer_of(values: Mapping[str, str]) -> Completer:
    """Return a completer of the values of an option, given with their meanings."""
    return lambda _ctx, _param, start: _matching(values, start)


def _matching(meanings: Mapping[str, str], start: str) -> list[CompletionItem]:
    return [
        CompletionItem(name, help=meaning or None)
        for name, meaning in meanings.items()
        if name.lower().startswith(start.lower())
    ]
