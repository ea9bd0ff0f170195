"""Layouts of waveforms: which signals a viewer shows, in the order of the network.

For GTKWave a save file, for Surfer a file of commands; a pair for each bench, because the names of
its outer scopes differ. They name no waveform, so viewers load them next to one.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from vcd.gtkw import GTKWSave

from rlx.support.text.names import comment_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlx_fpga.packaging.axi import Interface, PortSignal

_NOT_WORD: Final = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class SignalGroup:
    """Signals that are shown together.

    Attributes:
        name: Name of the group: one word, as Surfer's dividers are named.
        comment: More about them; may be empty.
        signals: Path in the waveform and bits of each.
    """

    name: str
    comment: str
    signals: tuple[tuple[str, int], ...]


def wave_layouts(interface: Interface, report: Mapping[str, Any]) -> dict[str, str]:
    """Return the layouts for waveforms of the harness, of cocotb and of the testbench, by path.

    Args:
        interface: Ports of the core, and the parts of it.
        report: With ``layers``, rows with ``name``, ``instance`` and ``op``.
    """
    benches = {
        interface.top: interface.top,
        f"{interface.prefix}_tb": f"{interface.prefix}_tb.dut",
    }
    return {
        f"tb/{name}.{extension}": write(list(_groups(interface, report, top)))
        for name, top in benches.items()
        for extension, write in (("gtkw", _gtkwave), ("sucl", _surfer))
    }


def _groups(interface: Interface, report: Mapping[str, Any], top: str) -> Iterator[SignalGroup]:
    """Yield the groups of signals of a design whose wrapper has the path ``top``."""
    yield SignalGroup("clock_and_reset", "", ((f"{top}.clk_i", 1), (f"{top}.rst_ni", 1)))
    streams = [SignalGroup(port.name, "", _signals(top, port.signals)) for port in interface.ports]
    inputs = len(streams) - len(interface.outputs)
    yield from streams[:inputs]
    layers = {str(row.get("instance", row["name"])): row for row in report["layers"]}
    for part in interface.parts:
        row = layers.get(part.name, {})
        name, comment = comment_text(row.get("name", part.name)), row.get("op", "")
        path = f"{top}.u_core.{part.instance}"
        yield SignalGroup(name, comment, _signals(path, part.signals))
    yield from streams[inputs:]
    other_signals = interface.control_signals + interface.error_signals
    if other_signals:
        yield SignalGroup("control", "", _signals(top, other_signals))


def _signals(scope: str, signals: Sequence[PortSignal]) -> tuple[tuple[str, int], ...]:
    return tuple((f"{scope}.{signal.name}", signal.bits) for signal in signals)


def _gtkwave(groups: Sequence[SignalGroup]) -> str:
    """Return the groups as a save file of GTKWave."""
    text = io.StringIO()
    save = GTKWSave(text)
    save.comment("Made by rlx. Use it as: gtkwave WAVEFORM THIS_FILE")
    for group in groups:
        title = f"{group.name}: {group.comment}" if group.comment else group.name
        with save.group(title):
            for path, bits in group.signals:
                suffix = f"[{bits - 1}:0]" if bits > 1 else ""
                save.trace(path + suffix, datafmt="hex" if bits > 1 else "bin")
    return text.getvalue()


def _surfer(groups: Sequence[SignalGroup]) -> str:
    """Return the groups as commands of Surfer, under dividers: it groups selected signals only."""
    lines = ["# Made by rlx. Use it as: surfer --command-file THIS_FILE WAVEFORM"]
    for group in groups:
        # The name of a divider is one word in Surfer 0.3 and later.
        divider = _NOT_WORD.sub("_", "_".join(filter(None, (group.name, group.comment))))
        lines += ["", f"# {group.name}: {group.comment}" if group.comment else f"# {group.name}"]
        lines += [f"divider_add {divider}"]
        lines += [f"variable_add {path}" for path, _ in group.signals]
    return "\n".join([*lines, "", "zoom_fit", ""])
