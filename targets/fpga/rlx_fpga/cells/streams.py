"""The base of all cells: the payload of a stream, and the cost of a cell.

Conventions:
- A stream carries a tensor in NHWC raster order. A pixel of ``channels`` values takes
  ``channels / lanes`` beats; lane 0 holds the channel with the lowest index. There are no frame
  markers: every cell counts beats itself, from the last reset on.
- A beat is transferred in a cycle in which ``valid`` and ``ready`` are both high. Once ``valid`` is
  high it stays high, with an unchanged payload, until the transfer. ``valid`` never depends on
  ``ready`` of the same cycle.
- ``ready`` may depend on the consumer's ``ready`` of the same cycle; a ``SkidBuffer`` breaks
  such a path.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from amaranth import Format, Value, signed
from amaranth.lib import data, stream, wiring

from rlx_fpga.cost.costs import resources_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx_fpga.cost.costs import Resources
    from rlx_fpga.cost.logic import Logic


class Lanes(data.ArrayLayout):
    """Payload of a stream: ``lanes`` signed integers of ``width`` bits.

    It is a ``data.ArrayLayout`` whose signals are printed as one vector, without wires named
    ``payload[0]``, on which Yosys 0.70 fails.
    """

    def __init__(self, lanes: int, width: int = 8) -> None:
        if lanes < 1 or width < 1:
            msg = f"a payload needs at least one lane of one bit, not {lanes} lanes of {width} bits"
            raise ValueError(msg)
        super().__init__(signed(width), lanes)

    def format(self, value: Value, format_spec: str) -> Format:
        """Print the payload as one unsigned integer."""
        if format_spec:
            msg = f"format specifier {format_spec!r} is not supported"
            raise ValueError(msg)
        return Format("{}", Value.cast(value))


@lru_cache(maxsize=4096)
def stream_of(lanes: int, width: int = 8) -> stream.Signature:
    """Return the signature of a stream of ``lanes`` signed integers of ``width`` bits."""
    return stream.Signature(Lanes(lanes, width))


def raw(interface: stream.Interface) -> Value:
    """Return the payload of a stream as one value, lane 0 in the lowest bits."""
    return Value.cast(interface.payload)


class Part(wiring.Component):
    """A component whose ports are created when they are first accessed.

    Many parts are created only to read their cost: queues and registers of each design that a
    search counts, parts of foldings that it compares. Ports would take most of the time.

    Attributes:
        internals: Registers and memories by name, of a part that has been elaborated, for the
            invariants of its proof (see ``rlx_fpga.formal``).
    """

    internals: Mapping[str, Any]

    # Parts that are never elaborated are normal here.
    _MustUse__silence = True

    def __init__(self, members: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> None:
        """Take the ports, or, for parts that are created often, a function that returns them."""
        self._members = members

    @cached_property
    def logic(self) -> Logic:
        """Logic of the part, including that of its parts."""
        raise NotImplementedError(f"expected a property 'logic' in {type(self).__name__}, got none")

    @cached_property
    def signature(self) -> wiring.Signature:
        """The ports."""
        return wiring.Signature(self._members() if callable(self._members) else self._members)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a port
        if "_members" not in self.__dict__ or name not in self.signature.members:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__.update(self.signature.members.create(path=()))
        return self.__dict__[name]


class Cell(Part):
    """Base of all cells: a component and its cost.

    Attributes:
        multipliers: DSP slices, each for a product of 18 by 18 bits, or for two packed ones.
        latency: Cycles from the transfer of the last beat that an output depends on to the first
            cycle in which that output is valid, without stalls.
        drain: Cycles from the first to the last of the outputs that the last beat of a pixel
            yields: more than 0 where results of several accumulators leave one after the other.
    """

    multipliers: int = 0
    latency: int = 1
    drain: int = 0

    @cached_property
    def memory_bits(self) -> int:
        """Bits of all memories, read-only ones included."""
        return 0

    def cost(self, family: str) -> Resources:
        """Return the predicted cells of the device family ``family``, parts included."""
        return resources_of(self.logic, family, self.multipliers)


def lanes_of(cell: Part, port: str) -> int:
    """Return the lanes of a stream port, without creating it."""
    payload = cell.signature.members[port].signature.members["payload"]
    lanes: int = payload.shape.length
    return lanes


def require_divisor(lanes: int, channels: int) -> None:
    """Check that ``lanes`` divides ``channels``.

    Raises:
        ValueError: If it does not.
    """
    if lanes < 1 or channels < 1 or channels % lanes:
        msg = f"lanes must divide the channels: {lanes} lanes, {channels} channels"
        raise ValueError(msg)
