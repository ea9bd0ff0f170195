"""Cells with something wrong, which the proofs refute."""

from amaranth import Module, Mux, Signal
from amaranth.lib.wiring import connect, flipped

from rlx_fpga.cells.streams import Cell, raw

# What benches read of a cell.
PARAMETERS = (
    "latency", "depth", "deep", "parts", "count", "runs", "leading", "burst", "beats", "times",
    "words", "ratio", "sizes", "before", "after", "total", "value", "beats_out", "kept", "lanes",
    "low", "high", "width", "offset", "out_bits", "table",
)  # fmt: skip


class Broken(Cell):
    """A cell with something wrong between it and its ports."""

    def __init__(self, cell, fault):
        """Put ``fault`` around ``cell``; one may put another cell in its place."""
        self.cell, self.fault = getattr(fault, "inner", lambda: cell)(), fault
        members = cell.signature.members
        super().__init__({name: members[name] for name in members})
        for name in PARAMETERS:
            if hasattr(cell, name):
                setattr(self, name, getattr(cell, name))

    def elaborate(self, platform):
        m = Module()
        m.submodules.cell = built = self.cell.elaborate(platform)
        assert built is not None
        self.internals = getattr(self.cell, "internals", {})
        for name in self.signature.members:
            if name not in ("i", "o", "i0", "o0"):
                self._pass(m, name)
        self.fault(m, self)
        return m

    def _pass(self, m, name):
        ours, its = getattr(self, name), getattr(self.cell, name)
        if self.signature.members[name].is_signature:
            pair = (flipped(ours), its) if name[0] == "i" else (its, flipped(ours))
            connect(m, *pair)
        elif name == "open":
            m.d.comb += ours.eq(its)
        else:
            m.d.comb += its.eq(ours)

    def outer(self, letter):
        """Return our port and the cell's of the first input or output."""
        name = letter if letter in self.signature.members else f"{letter}0"
        return getattr(self, name), getattr(self.cell, name)

    def straight(self, m, letter):
        """Connect the first input or output as it should be."""
        name = letter if letter in self.signature.members else f"{letter}0"
        if name in self.signature.members:
            self._pass(m, name)


def drops_what_does_not_fit(m, broken):
    """Take beats although there is no space."""
    ours, its = broken.outer("i")
    m.d.comb += [its.valid.eq(ours.valid), raw(its).eq(raw(ours)), ours.ready.eq(1)]
    broken.straight(m, "o")


def sends_twice(m, broken):
    """Send every beat a second time."""
    ours, its = broken.outer("o")
    again = Signal()
    m.d.comb += [ours.valid.eq(its.valid), raw(ours).eq(raw(its)), its.ready.eq(ours.ready & again)]
    m.d.sync += again.eq(again ^ (ours.valid & ours.ready))
    broken.straight(m, "i")


def withdraws_offers(m, broken):
    """Offer a beat every other cycle only."""
    ours, its = broken.outer("o")
    now = Signal()
    m.d.sync += now.eq(~now)
    offer = its.valid & now
    m.d.comb += [ours.valid.eq(offer), raw(ours).eq(raw(its)), its.ready.eq(ours.ready & now)]
    broken.straight(m, "i")


def sends_from_nothing(m, broken):
    """Offer a beat when there is none."""
    ours, its = broken.outer("o")
    m.d.comb += [ours.valid.eq(1), raw(ours).eq(raw(its)), its.ready.eq(ours.ready)]
    broken.straight(m, "i")


def changes_a_value(m, broken):
    """Flip a bit of every third beat."""
    ours, its = broken.outer("o")
    turn = Signal(2)
    with m.If(ours.valid & ours.ready):
        m.d.sync += turn.eq(turn + 1)
    m.d.comb += [
        ours.valid.eq(its.valid), raw(ours).eq(raw(its) ^ (turn == 2)), its.ready.eq(ours.ready),
    ]  # fmt: skip
    broken.straight(m, "i")


def stops(m, broken):
    """Stand still for ever after the first two beats."""
    ours, its = broken.outer("i")
    seen = Signal(2)
    open_ = seen != 2
    with m.If(ours.valid & ours.ready):
        m.d.sync += seen.eq(seen + 1)
    m.d.comb += [
        its.valid.eq(ours.valid & open_), raw(its).eq(raw(ours)), ours.ready.eq(its.ready & open_),
    ]  # fmt: skip
    broken.straight(m, "o")


def keeps_the_last(m, broken):
    """Give beats only while others are offered."""
    ours, its = broken.outer("o")
    offered = broken.outer("i")[0].valid
    m.d.comb += [
        ours.valid.eq(its.valid & offered), raw(ours).eq(raw(its)),
        its.ready.eq(ours.ready & offered),
    ]  # fmt: skip
    broken.straight(m, "i")


def straight(m, broken):
    """Connect everything as it should be."""
    broken.straight(m, "i")
    broken.straight(m, "o")


def keeps(name, register):
    """Return the fault that a register of the cell, of which it is a function, is not reset."""

    def fault(m, broken):
        straight(m, broken)
        signal = register(broken.cell)
        assert not signal.reset_less
        signal._reset_less = True

    fault.__name__ = f"keeps_{name}"
    return fault


def keeps_inside(name):
    """Return the fault that a register of ``Part.internals`` is not reset."""
    return keeps(name, lambda cell: cell.internals[name])


def index(axis):
    """Return the function of a cell that gives its counter of an axis."""
    return lambda cell: cell.internals["index"][axis]


keeps_valid = keeps("valid", lambda cell: cell.o.valid)


def instead(name, inner):
    """Return the fault that a cell of other parameters is there; ``inner`` returns it."""

    def fault(m, broken):
        straight(m, broken)

    fault.__name__, fault.inner = name, inner
    return fault


def changes_while_waiting(m, broken):
    """Offer something else when a beat was not taken."""
    ours, its = broken.outer("o")
    waited = Signal()
    m.d.sync += waited.eq(ours.valid & ~ours.ready)
    m.d.comb += [
        ours.valid.eq(its.valid), raw(ours).eq(raw(its) ^ waited), its.ready.eq(ours.ready),
    ]  # fmt: skip
    broken.straight(m, "i")


def swaps_lanes(m, broken):
    """Give the lanes of a beat the other way round."""
    ours, its = broken.outer("o")
    m.d.comb += [ours.valid.eq(its.valid), its.ready.eq(ours.ready)]
    m.d.comb += [ours.payload[n].eq(its.payload[broken.lanes - 1 - n]) for n in range(broken.lanes)]
    broken.straight(m, "i")


def loses_the_sign(m, broken):
    """Clear the highest bit of a beat, as a result of too few bits would."""
    ours, its = broken.outer("o")
    low = raw(its)[:-1]
    m.d.comb += [ours.valid.eq(its.valid), raw(ours).eq(low), its.ready.eq(ours.ready)]
    broken.straight(m, "i")


def pads_before_a_beat(m, broken):
    """Begin a frame although none comes: tell the cell of a beat whenever it takes none."""
    ours, its = broken.outer("i")
    m.d.comb += [
        its.valid.eq(ours.valid | ~its.ready), raw(its).eq(raw(ours)), ours.ready.eq(its.ready),
    ]  # fmt: skip
    broken.straight(m, "o")


def pads_with_the_next_beat_alone(m, broken):
    """Finish a frame only when the next one comes."""
    ours, its = broken.outer("o")
    offered = broken.outer("i")[0].valid
    at = Signal(range(64))
    ends = at == broken.beats_out - 1
    with m.If(ours.valid & ours.ready):
        m.d.sync += at.eq(Mux(ends, 0, at + 1))
    open_ = ~ends | offered
    m.d.comb += [
        ours.valid.eq(its.valid & open_), raw(ours).eq(raw(its)), its.ready.eq(ours.ready & open_),
    ]  # fmt: skip
    broken.straight(m, "i")


def drops_late(m, broken):
    """Take no beat, not even one to drop, while the consumer pauses."""
    ours, its = broken.outer("i")
    ready = broken.outer("o")[0].ready
    m.d.comb += [
        its.valid.eq(ours.valid & ready), raw(its).eq(raw(ours)),
        ours.ready.eq(its.ready & ready),
    ]  # fmt: skip
    broken.straight(m, "o")
