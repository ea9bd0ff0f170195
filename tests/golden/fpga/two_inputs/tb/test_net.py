"""Bench of net_top: the golden vectors through its AXI4-Stream ports, bit by bit.

Run it with ``python tb/run.py``; it needs only cocotb 2 and Verilator. The environment may
set RLX_FRAMES (frames of the first test) and RLX_RESULT (file for the figures as JSON).
"""

import ast
import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

# Signal prefix, bytes of a beat, beats of a frame.
INPUTS = [
    ("s0_axis", 3, 24),
    ("s1_axis", 3, 24),
]
OUTPUTS = [
    ("m_axis", 3, 48),
]
FRAMES = int(os.environ.get("RLX_FRAMES", "16"))
IDLE_LIMIT = 100000  # cycles without a beat after which the core counts as stuck


def read_npy(path):
    """Return the bytes of each frame in a NumPy file of integers."""
    content = path.read_bytes()
    if content[:6] != b"\x93NUMPY":
        raise ValueError(f"{path.name} is not a .npy file")
    wide = 2 if content[6] == 1 else 4
    start = 8 + wide + int.from_bytes(content[8 : 8 + wide], "little")
    header = ast.literal_eval(content[8 + wide : start].decode("latin1"))
    frames = header["shape"][0]
    size = (len(content) - start) // frames
    return [content[start + n * size : start + (n + 1) * size] for n in range(frames)]


def beats_of(frames, beat_bytes):
    """Return frames as one list of beats, each an integer."""
    data = b"".join(frames)
    parts = range(0, len(data), beat_bytes)
    return [int.from_bytes(data[n : n + beat_bytes], "little") for n in parts]


class Source:
    """Sends beats; valid stays high until a beat is accepted."""

    def __init__(self, dut, port, beats, stall, rng):
        name, _, self.per_frame = port
        self.data = getattr(dut, f"{name}_tdata")
        self.valid = getattr(dut, f"{name}_tvalid")
        self.ready = getattr(dut, f"{name}_tready")
        self.last = getattr(dut, f"{name}_tlast")
        self.beats, self.stall, self.rng = beats, stall, rng
        self.next, self.offered, self.taken = 0, False, []
        self.valid.value = 0

    def drive(self):
        if self.offered or self.next == len(self.beats):
            return
        if not self.stall or self.rng.random() >= self.stall:
            self.offered = True
            self.data.value = self.beats[self.next]
            self.valid.value = 1
            self.last.value = (self.next + 1) % self.per_frame == 0

    @property
    def waits(self):
        """Whether the beat offered in this cycle was not accepted."""
        return self.offered

    def sample(self, cycle):
        if not self.offered or not self.ready.value:
            return False
        self.taken.append(cycle)
        self.next += 1
        self.offered = False
        return True

    def rest(self):
        """Withdraw valid when nothing is offered; to be called before ``drive``."""
        if not self.offered:
            self.valid.value = 0


class Sink:
    """Receives beats; checks tlast, and that a beat does not change before it is accepted."""

    def __init__(self, dut, port, count, stall, rng):
        self.name, _, self.per_frame = port
        self.data = getattr(dut, f"{self.name}_tdata")
        self.valid = getattr(dut, f"{self.name}_tvalid")
        self.ready = getattr(dut, f"{self.name}_tready")
        self.last = getattr(dut, f"{self.name}_tlast")
        self.count, self.stall, self.rng = count, stall, rng
        self.beats, self.given, self.held = [], [], None
        self.ready.value = 0
        self.is_ready = False

    def drive(self):
        self.is_ready = not self.stall or self.rng.random() >= self.stall
        self.ready.value = self.is_ready

    @property
    def waits(self):
        """Whether the beat in this cycle was not accepted."""
        return self.held is not None

    def sample(self, cycle):
        if not self.valid.value:
            assert self.held is None, f"{self.name} withdrew a beat in cycle {cycle}"
            return False
        beat = int(self.data.value)
        assert self.held in (None, beat), f"{self.name} changed a beat in cycle {cycle}"
        self.held = None if self.is_ready else beat
        if not self.is_ready:
            return False
        assert len(self.beats) < self.count, f"{self.name} sent an extra beat in cycle {cycle}"
        self.beats.append(beat)
        self.given.append(cycle)
        ends = len(self.beats) % self.per_frame == 0
        assert bool(self.last.value) == ends, f"{self.name} has tlast wrong in cycle {cycle}"
        return True


class Bench:
    """The core between sources and sinks, with one loop for all ports."""

    def __init__(self, dut, frames, stall_in=0.0, stall_out=0.0):
        rng = random.Random(cocotb.RANDOM_SEED)
        self.dut, self.frames = dut, frames
        self.stalled_in = self.stalled_out = 0  # cycles in which a beat had to wait
        self.sources, self.sinks, self.wanted = [], [], []
        for n, port in enumerate(INPUTS):
            stored = read_npy(GOLDEN / f"input_{n}.npy")
            chosen = [stored[k % len(stored)] for k in range(frames)]
            self.sources.append(Source(dut, port, beats_of(chosen, port[1]), stall_in, rng))
        for n, port in enumerate(OUTPUTS):
            stored = read_npy(GOLDEN / f"output_{n}.npy")
            chosen = [stored[k % len(stored)] for k in range(frames)]
            self.wanted.append(beats_of(chosen, port[1]))
            self.sinks.append(Sink(dut, port, frames * port[2], stall_out, rng))

    @property
    def done(self):
        return all(len(sink.beats) == sink.count for sink in self.sinks) and all(
            source.next == len(source.beats) for source in self.sources
        )

    async def reset(self):
        self.dut.rst_ni.value = 0
        for _ in range(3):
            await FallingEdge(self.dut.clk_i)
        self.dut.rst_ni.value = 1

    async def run(self, limit=None):
        """Run until all frames are out, or for ``limit`` cycles."""
        cycle = moved = 0
        ports = (*self.sources, *self.sinks)
        while not self.done and cycle != limit:
            for source in self.sources:
                source.rest()
            for port in ports:
                port.drive()
            await ReadOnly()
            if any([port.sample(cycle) for port in ports]):
                moved = cycle
            self.stalled_in += any(source.waits for source in self.sources)
            self.stalled_out += any(sink.waits for sink in self.sinks)
            assert cycle - moved < IDLE_LIMIT, f"nothing moved since cycle {moved}"
            await FallingEdge(self.dut.clk_i)
            cycle += 1

    async def settle(self, cycles=64):
        """Check that nothing comes after the last frame."""
        for source in self.sources:
            source.rest()
        for cycle in range(cycles):
            for sink in self.sinks:
                sink.drive()
            await ReadOnly()
            for sink in self.sinks:
                sink.sample(f"{cycle} after the end")
            await FallingEdge(self.dut.clk_i)

    def check(self):
        """Compare with the golden vectors; return how many frames are equal."""
        equal = 0
        for frame in range(self.frames):
            good = True
            for sink, wanted in zip(self.sinks, self.wanted):
                part = slice(frame * sink.per_frame, (frame + 1) * sink.per_frame)
                good = good and sink.beats[part] == wanted[part]
            equal += good
        return equal

    def ends(self):
        """Return the cycle in which each frame was complete."""
        return [
            max(sink.given[(n + 1) * sink.per_frame - 1] for sink in self.sinks)
            for n in range(self.frames)
        ]


async def start(dut, *args, **options):
    Clock(dut.clk_i, 10, unit="ns").start()
    bench = Bench(dut, *args, **options)
    await bench.reset()
    return bench


def note(dut, text, **figures):
    """Log a text, and add figures to the result file if there is one."""
    dut._log.info(text)
    path = os.environ.get("RLX_RESULT")
    if path:
        known = json.loads(Path(path).read_text()) if Path(path).exists() else {}
        Path(path).write_text(json.dumps(known | figures, indent=2) + "\n")


@cocotb.test()
async def back_to_back(dut):
    """All frames without pauses: equal outputs, latency and initiation interval."""
    bench = await start(dut, FRAMES)
    await bench.run()
    await bench.settle()
    equal, ends = bench.check(), bench.ends()
    begin = min(source.taken[0] for source in bench.sources)
    interval = ends[-1] - ends[-2] if FRAMES > 1 else None
    latency = ends[0] - begin
    text = f"equal frames: {equal} of {FRAMES}; latency {latency} cycles"
    if interval is not None:
        text += f", one frame in {interval} cycles"
    note(dut, text, inputs=FRAMES, equal=equal, latency=latency, interval=interval)
    assert equal == FRAMES, f"{FRAMES - equal} of {FRAMES} frames differ from the golden vectors"


@cocotb.test()
async def back_pressure(dut):
    """Two frames with random pauses on both sides give the same."""
    bench = await start(dut, 2, stall_in=0.3, stall_out=0.4)
    await bench.run()
    await bench.settle()
    equal = bench.check()
    text = f"equal frames with pauses: {equal} of 2"
    note(dut, text, stalled_inputs=2, stalled_equal=equal)
    assert equal == 2, f"{2 - equal} of 2 frames differ under back-pressure"


@cocotb.test()
async def reset_in_the_middle(dut):
    """A reset in mid-frame drops everything; the next frame is right."""
    bench = await start(dut, 1)
    await bench.run(limit=sum(port[2] for port in INPUTS) // 2 + 7)
    bench = Bench(dut, 1)
    await bench.reset()
    await bench.run()
    equal = bench.check()
    text = f"equal frames after a reset: {equal} of 1"
    note(dut, text, reset_inputs=1, reset_equal=equal)
    assert equal == 1, "the frame after a reset differs"
