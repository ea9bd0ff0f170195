"""A cell between free inputs, with properties that a solver proves by induction.

A proof by induction needs two things: the properties hold in the first cycles after the start, and
if they hold for some consecutive cycles, beginning in **any** state, they hold in the next one. The
second is false for many states that never occur, so invariants rule them out: relations between the
registers of the cell (``Part.internals``) and those of the bench. They are proved like the
properties.

A reset may come in any cycle, in the middle of a frame or while a beat waits. It resets the bench
with the cell: from the next cycle on all properties are those of a cell after power-up.
State that a cell keeps over a reset, a beat or its place in a frame, breaks one of them. In the
cycle of the reset itself inputs are arbitrary, and properties need not hold.

Tests: tests/targets/fpga/formal/test_refuted.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amaranth import Assert, ClockDomain, Const, Module, Mux, Signal, Value, signed
from amaranth.hdl import Assume

from rlx_fpga.cells.streams import raw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from amaranth.hdl import ShapeLike
    from amaranth.lib import stream
    from amaranth.lib.memory import Memory

    from rlx_fpga.cells.streams import Part

    Segment = tuple[Callable[[Value], Value], Value]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Elements that enter or leave a cell in a cycle.

    Attributes:
        offered: A transfer is possible now.
        accepted: A transfer happens now.
        codes: Elements, the first one in the lowest bits.
    """

    offered: Value
    accepted: Value
    codes: Value


class ProofBench:
    """A module with a cell whose streams are free, with assumptions, checks and invariants.

    Attributes:
        m: The module.
        cell: The cell.
        ports: Ports of the module by name.
        depth: Cycles that the induction needs.
        paths: Names of outputs and of the ``ready`` that they must not depend on in the same cycle.
    """

    def __init__(self, cell: Part, *, invariants: bool = True) -> None:
        """Take a cell that has not been elaborated.

        Args:
            cell: The cell.
            invariants: Whether to check invariants, too: without them the properties are all that
                is stated, but induction fails.
        """
        self.m, self.cell = Module(), cell
        # Registers begin with their initial values, as after a reset.
        clock = ClockDomain("sync")
        self.m.domains += clock
        self.m.submodules.cell = self.built(cell)
        self.ports: dict[str, Signal] = {"clk": clock.clk, "rst": clock.rst}
        self.depth = 2
        self.paths: list[tuple[str, str]] = []
        self._invariants = invariants

    def built(self, part: Any) -> Module:  # noqa: ANN401 - of rlx or of Amaranth
        """Elaborate a part now, and have Amaranth use the result: a bench reads its internals."""
        module: Module = part.elaborate(None)
        part.elaborate = lambda _platform: module
        return module

    def free(self, shape: ShapeLike, name: str) -> Signal:
        """Return an input that may have any value in any cycle."""
        self.ports[name] = Signal(shape, name=name)
        return self.ports[name]

    def past(self, value: Value, name: str, init: int = 0) -> Value:
        """Return ``value`` of the cycle before."""
        before = Signal(len(value), name=name, init=init)
        self.m.d.sync += before.eq(value)
        return before

    def assume(self, condition: Value) -> None:
        """Leave out inputs for which ``condition`` is false, except in a reset."""
        self.m.d.comb += Assume(self.ports["rst"] | condition)

    def check(self, name: str, condition: Value) -> None:
        """Prove that ``condition`` holds in every cycle without a reset."""
        good = Signal(name=f"good_{name}")
        self.m.d.comb += [good.eq(self.ports["rst"] | condition), Assert(good)]

    def invariant(self, name: str, condition: Value) -> None:
        """Prove ``condition`` for the sake of the induction."""
        if self._invariants:
            self.check(name, condition)

    def never_for(self, cycles: int, condition: Value, name: str) -> None:
        """Prove that ``condition`` does not hold in ``cycles`` consecutive cycles."""
        streak = Signal(range(max(cycles, 2)), name=f"cycles_{name}")
        self.m.d.sync += streak.eq(Mux(condition, streak + 1, 0))
        self.check(name, ~(condition & (streak >= cycles - 1)))
        self.depth = max(self.depth, cycles + 1)

    def source(self, name: str) -> Transfer:
        """Feed an input stream: any beats at any time, each offered until it is accepted."""
        port = getattr(self.cell, name)
        self._expose(name, port)
        self.assume(self._stands(name, port))
        return Transfer(port.valid, port.valid & port.ready, raw(port))

    def sink(self, name: str, *readies: str) -> Transfer:
        """Read an output stream at any time; check that each beat is offered until it is accepted.

        Args:
            name: The stream.
            readies: Names of other outputs on whose ``ready`` it must not depend.
        """
        port = getattr(self.cell, name)
        self._expose(name, port)
        self.check(f"{name}_stands", self._stands(name, port))
        for ready in (name, *readies):
            self.paths += [(f"{name}_valid", f"{ready}_ready"), (f"{name}_data", f"{ready}_ready")]
        return Transfer(port.valid, port.valid & port.ready, raw(port))

    def first_offer(self, name: str, offer: Transfer) -> tuple[Transfer, Value]:
        """Return beats that arrive when they are first offered, and whether one still waits.

        Wires pass a beat on before it has been accepted.
        """
        waiting = self.past(offer.offered & ~offer.accepted, f"{name}_waiting")
        return Transfer(offer.offered, offer.offered & ~waiting, offer.codes), waiting

    def _expose(self, name: str, port: stream.Interface) -> None:
        self.ports |= {
            f"{name}_valid": port.valid,
            f"{name}_ready": port.ready,
            f"{name}_data": raw(port),
        }

    def _stands(self, name: str, port: stream.Interface) -> Value:
        refused = self.past(port.valid & ~port.ready, f"{name}_refused")
        before = self.past(raw(port), f"{name}_before")
        return ~refused | (port.valid & (raw(port) == before))

    def moves(self, inputs: Sequence[str], outputs: Sequence[str], cycles: int) -> None:
        """Prove progress within ``cycles`` cycles of beats offered and consumers ready.

        Elements inside are bounded: in the long run outputs match inputs.
        """
        ports = [getattr(self.cell, name) for name in (*inputs, *outputs)]
        willing = [port.valid for port in ports[: len(inputs)]]
        willing += [port.ready for port in ports[len(inputs) :]]
        moved = [port.valid & port.ready for port in ports]
        self.never_for(cycles, all_of(willing) & ~any_of(moved), "deadlock")

    def listed(self, index: Value, entries: Sequence[int], width: int, name: str) -> Value:
        """Return the entry at ``index``, a signed number of ``width`` bits; one case for each."""
        found = Signal(signed(width), name=name)
        with self.m.Switch(index.as_unsigned()):
            for place, entry in enumerate(entries):
                with self.m.Case(place):
                    self.m.d.comb += found.eq(entry)
        return found

    def word(self, memory: Memory, address: Value) -> Value:
        """Return the word of a memory of the cell."""
        port = memory.read_port(domain="comb")
        self.m.d.comb += port.addr.eq(address)
        found: Value = Value.cast(port.data)
        return found


class Watch:
    """Any one element on its way through a cell: it must leave in its place, with its value.

    A free input chooses the element when it arrives. From then on the bench counts the elements
    ahead of it. If this holds for any choice of the element, then none is lost, repeated, changed
    or out of order.

    Attributes:
        pending: Elements that have arrived and not left.
        total: The same and those that arrive in this cycle.
    """

    def __init__(
        self,
        bench: ProofBench,
        name: str,
        arrive: Transfer,
        leave: Transfer,
        capacity: int,
        width: int,
    ) -> None:
        """Watch elements of ``width`` bits in a cell that has space for ``capacity`` of them."""
        self._bench, self._name, self._width = bench, name, width
        self.lanes = len(arrive.codes) // width, len(leave.codes) // width
        self.pending = Signal(range(capacity + self.lanes[0] + 1), name=f"{name}_inside")
        self.total = self.pending + Mux(arrive.accepted, self.lanes[0], 0)
        bench.check(f"{name}_from_something", ~leave.offered | (self.total >= self.lanes[1]))
        bench.check(f"{name}_capacity", self.pending <= capacity)
        leaving = Mux(leave.accepted, self.lanes[1], 0)
        bench.m.d.sync += self.pending.eq(self.total - leaving)
        self._follow(arrive, leave, leaving)

    def _follow(self, arrive: Transfer, leave: Transfer, leaving: Value) -> None:
        bench, name, width, m = self._bench, self._name, self._width, self._bench.m
        lane = self._lane()
        choose = bench.free(1, f"{name}_choose")
        self._watched = Signal(name=f"{name}_watched")
        self._ahead = Signal.like(self.pending, name=f"{name}_ahead")
        self._code = Signal(width, name=f"{name}_code")
        now = Signal(name=f"{name}_watched_now")
        ahead = Signal.like(self.pending, name=f"{name}_ahead_now")
        code = Signal(width, name=f"{name}_code_now")
        due = now & (ahead < self.lanes[1])
        m.d.comb += [
            now.eq(self._watched | (arrive.accepted & choose)),
            ahead.eq(Mux(self._watched, self._ahead, self.pending + lane)),
            code.eq(Mux(self._watched, self._code, arrive.codes.word_select(lane, width))),
        ]
        m.d.sync += [
            self._watched.eq(now & ~(leave.accepted & due)),
            self._ahead.eq(ahead - leaving),
            self._code.eq(code),
        ]
        right = leave.codes.word_select(ahead, width) == code
        bench.check(f"{name}_in_place", ~(leave.offered & due) | right)

    def _lane(self) -> Value:
        """Return the index of the chosen element of an arriving beat."""
        lanes = self.lanes[0]
        if lanes == 1:
            return Const(0)
        lane = self._bench.free(range(lanes), f"{self._name}_lane")
        self._bench.assume(lane < lanes)
        return lane

    def flows(self, offered: Value, cycles: int, enough: int = 1) -> None:
        """Prove that ``enough`` elements inside are offered within ``cycles`` cycles."""
        waiting = (self.total >= enough) & ~offered
        self._bench.never_for(cycles, waiting, f"{self._name}_held_back")

    def held_in(self, *segments: Segment) -> None:
        """State where elements are: for each store the element at a place, and their number.

        The store whose elements leave first comes first.
        """
        bench, name = self._bench, self._name
        position: Value = self._ahead
        count: Value = Const(0)
        element_code: Value = Const(0, self._width)
        for element, size in segments:
            in_segment = (self._ahead >= count) & (self._ahead < count + size)
            position = (self._ahead - count)[: len(self._ahead)]
            element_code = Mux(in_segment, element(position), element_code)
            count = count + size
        bench.invariant(f"{name}_counted", self.pending == count)
        bench.invariant(f"{name}_ahead_inside", ~self._watched | (self._ahead < self.pending))
        bench.invariant(f"{name}_stored", ~self._watched | (element_code == self._code))


def register(value: Value) -> Callable[[Value], Value]:
    """Return the store for ``Watch.held_in`` that is a register of one element."""
    return lambda _: value


def all_of(conditions: Sequence[Value]) -> Value:
    """Return whether all conditions hold."""
    result: Value = Const(1)
    for condition in conditions:
        result = result & condition
    return result


def any_of(conditions: Sequence[Value]) -> Value:
    """Return whether one of the conditions holds."""
    return ~all_of([~condition for condition in conditions])


def wrap_around(index: Value, step: Value, size: int) -> Value:
    """Return ``(place + step) % size`` for ``place < size`` and ``step <= size``."""
    far = index + step
    return Mux(far >= size, far - size, far)
