"""Names of ports and signals: those of the component's members, or of Python's variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amaranth.hdl import Signal, Value
from amaranth.lib import wiring

from rlx.support.text.names import mangle

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from amaranth.hdl import Fragment

_PORTS: Final = {"i": "in", "o": "out", "payload": "data"}
"""Parts of a member's path that have another name in hardware."""


def port_name(path: Iterable[str | int]) -> str:
    """Return the name of the port for a member: ``in_data`` for ``i.payload``."""
    return "_".join(_part(str(part)) for part in path)


def _part(part: str) -> str:
    stem = part.rstrip("0123456789")
    return _PORTS.get(stem, stem) + part[len(stem) :]


def component_of(fragment: Fragment) -> wiring.Component | None:
    """Return the component that a fragment was elaborated from."""
    origins = fragment.origins or ()
    return next((o for o in origins if isinstance(o, wiring.Component)), None)


def members(component: wiring.Component) -> Iterator[tuple[str, Signal]]:
    """Yield the ports of a component in the order of their declaration."""
    for path, _, value in component.signature.flatten(component):
        signal = Value.cast(value)
        if isinstance(signal, Signal) and len(signal):
            yield port_name(path), signal


class Names:
    """Names within one module.

    Args:
        reserved: Names that are not free.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)
        self._of: dict[int, str] = {}
        self._joined: dict[int, int] = {}

    def __contains__(self, signal: Signal) -> bool:
        return id(signal) in self._of

    def give(self, signal: Signal, base: str) -> None:
        """Name a signal, unless it has a name."""
        if signal not in self:
            self._of[id(signal)] = self.free(base)

    def join(self, signal: Signal, other: Signal) -> None:
        """Give a signal the name of another."""
        self._joined[id(signal)] = id(other)

    def of(self, signal: Signal) -> str:
        """Return the name of a signal."""
        key = id(signal)
        while key in self._joined:
            key = self._joined[key]
        return self._of[key]

    def free(self, base: str) -> str:
        """Return an unused name that resembles ``base``, and reserve it."""
        name = mangle(base, reserved=self._taken)
        self._taken.add(name)
        return name
