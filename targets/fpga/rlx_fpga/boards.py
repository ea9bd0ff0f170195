"""Boards: where clock, reset and the like come in, from the data of the package amaranth-boards.

Which boards there are, and which device each one has, is in ``devices.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rlx.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOLD: Final = ("led", "rgb_led", "button", "switch", "uart")
"""Resources of a board that constraints name for a wrapper's ports."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin of a board.

    Attributes:
        name: Port of the core, or what the board calls it.
        site: Place in the package.
        attributes: What its buffer must be, as the maker's tools call it.
    """

    name: str
    site: str
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BoardPins:
    """Pins of a board.

    Attributes:
        clock_mhz: Of the clock that the board gives.
        located: Ports of the core that have their pin: ``clk_i``, and ``rst_ni`` where a button is
            low while it is pressed.
        others: Lights, buttons and serial ports, for ports of a wrapper.
    """

    clock_mhz: float
    located: tuple[Pin, ...]
    others: tuple[Pin, ...]


@cache
def board_pins(platform: str, reset: str) -> BoardPins:
    """Return the pins of a board.

    Args:
        platform: Module and class in ``amaranth_boards``, with a dot between.
        reset: Name of the button for the reset, the first of its kind; empty for none.

    Raises:
        ToolMissingError: The package amaranth-boards is not installed.
    """
    module, name = platform.split(".")
    try:
        found = getattr(import_module(f"amaranth_boards.{module}"), name)
    except ImportError:
        raise ToolMissingError(
            "amaranth-boards, which tells the pins of boards, is not installed",
            hint="pip install 'rlx[boards]', or name the device in place of the board",
        ) from None
    resources = {(one.name, one.number): one for one in found.resources}
    clock = resources[found.default_clk, 0]
    located = [Pin("clk_i", clock.ios[0].names[0], _attributes(clock.attrs))]
    if reset:
        button = resources[reset, 0]
        assert button.ios[0].invert, f"{reset} of {platform} is no reset that is active low"
        located.append(Pin("rst_ni", button.ios[0].names[0], _attributes(button.attrs)))
    taken = {pin.site for pin in located}
    others = tuple(pin for pin in _others(resources) if pin.site not in taken)
    return BoardPins(clock.clock.frequency / 1e6, tuple(located), others)


def _others(resources: Mapping[tuple[str, int], Any]) -> Iterator[Pin]:
    """Yield the pins of what is :data:`TOLD`; none that are reached through a connector."""
    for (name, number), resource in resources.items():
        if name in TOLD:
            for io in resource.ios:
                pins, part = (io.ios[0], f"_{io.name}") if hasattr(io, "ios") else (io, "")
                for site in pins.names:
                    if ":" not in site:
                        yield Pin(f"{name}_{number}{part}", site)


def _attributes(given: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return attributes that are text; the others are told to no tool by constraints."""
    return tuple((key, value) for key, value in given.items() if isinstance(value, str))
