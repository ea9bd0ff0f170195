"""Boards: pins of clock, reset and the like, from the package amaranth-boards.

The boards, and the device of each, are listed in ``devices.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from rlx.support.errors import ToolMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAMED_RESOURCES: Final = ("led", "rgb_led", "button", "switch", "uart")
"""Resources of a board whose pins constraints list as comments."""


@dataclass(frozen=True, slots=True)
class BoardPin:
    """A pin of a board.

    Attributes:
        name: Port of the core, or the board's name of the pin.
        site: Pin of the package.
        attributes: Attributes of its I/O buffer, as the vendor's tools name them.
    """

    name: str
    site: str
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class BoardPins:
    """Pins of a board.

    Attributes:
        clock_mhz: Frequency of the board's clock.
        located: Pins of ports of the core: ``clk_i``, and ``rst_ni`` if a button is active low.
        named: LEDs, buttons and serial ports, for ports of a wrapper.
    """

    clock_mhz: float
    located: tuple[BoardPin, ...]
    named: tuple[BoardPin, ...]


@cache
def board_pins(platform: str, reset: str) -> BoardPins:
    """Return the pins of a board.

    Args:
        platform: Module and class in ``amaranth_boards``, with a dot between.
        reset: Resource name of the reset button, the one at index 0; empty without one.

    Raises:
        ToolMissingError: The package amaranth-boards is not installed.
    """
    module, name = platform.split(".")
    try:
        board = getattr(import_module(f"amaranth_boards.{module}"), name)
    except ImportError:
        raise ToolMissingError(
            "amaranth-boards, which has the pins of boards, is not installed",
            hint="pip install 'rlx[boards]', or name the device instead of the board",
        ) from None
    resources = {(one.name, one.number): one for one in board.resources}
    clock = resources[board.default_clk, 0]
    located = [BoardPin("clk_i", clock.ios[0].names[0], _attributes(clock.attrs))]
    if reset:
        button = resources[reset, 0]
        assert button.ios[0].invert, f"expected an active-low reset, got {reset} of {platform}"
        located.append(BoardPin("rst_ni", button.ios[0].names[0], _attributes(button.attrs)))
    located_sites = {pin.site for pin in located}
    named = tuple(pin for pin in _named_pins(resources) if pin.site not in located_sites)
    return BoardPins(clock.clock.frequency / 1e6, tuple(located), named)


def _named_pins(resources: Mapping[tuple[str, int], Any]) -> Iterator[BoardPin]:
    """Yield the pins of :data:`NAMED_RESOURCES` that are not on a connector."""
    for (name, number), resource in resources.items():
        if name in NAMED_RESOURCES:
            for io in resource.ios:
                pins, part = (io.ios[0], f"_{io.name}") if hasattr(io, "ios") else (io, "")
                for site in pins.names:
                    if ":" not in site:
                        yield BoardPin(f"{name}_{number}{part}", site)


def _attributes(attributes: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the attributes that are strings: the only ones of constraints."""
    return tuple((key, value) for key, value in attributes.items() if isinstance(value, str))
