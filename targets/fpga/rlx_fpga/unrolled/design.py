"""Netlists of all layers between stream ports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from amaranth import Cat, Module, Signal
from amaranth import Value as Wire
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from rlx_fpga.cells.credit import ResultQueue, queue_depth
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.streams import raw, stream_of
from rlx_fpga.structure import structure_of
from rlx_fpga.unrolled.pipeline import NetlistPipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Value
    from rlx_fpga.structure import Structure
    from rlx_fpga.unrolled.lower import UnrolledLayer


@dataclass(frozen=True, slots=True)
class WholeFrames:
    """Streams of an unrolled design.

    Attributes:
        graph: The graph.
        outputs: Its outputs: every value has a stream of its own.
    """

    graph: Graph
    outputs: tuple[Value, ...]


class Unrolled(Component):
    """A frame in every cycle: all inputs are accepted at once, all outputs are sent at once.

    The pipeline never stalls. A frame is accepted when the queues behind it have space for
    everything in flight, so that no frame is ever lost.

    Members:
        i (or i0, i1, ...): In: the graph's inputs, int8, a whole tensor a beat.
        o (or o0, o1, ...): Out: its outputs, likewise; int32 for an argmax.

    Attributes:
        program: Its streams.
        layers: Its ops.
        pipelines: For each layer, its hardware.
        arrivals: Cycles from the inputs to each value.
        latency: Cycles to the last output, before the queues.
    """

    _MustUse__silence = True

    def __init__(self, graph: Graph, layers: Sequence[UnrolledLayer]) -> None:
        self.program, self.layers = WholeFrames(graph, graph.outputs), tuple(layers)
        self.pipelines = [
            NetlistPipeline(one.netlist, sum(v.type.size for v in one.operands), one.outputs,
                            one.node.types[0].dtype.bits)
            for one in layers
        ]  # fmt: skip
        self.arrivals: dict[Value, int] = dict.fromkeys(graph.inputs, 0)
        self.starts: list[int] = []
        for layer, pipeline in zip(self.layers, self.pipelines, strict=True):
            start = max((self.arrivals[v] for v in layer.operands), default=0)
            self.starts.append(start)
            self.arrivals[layer.node.result] = start + pipeline.latency
        self.latency = max(self.arrivals[v] for v in graph.outputs)
        self.input_names = _numbered("i", len(graph.inputs))
        self.output_names = _numbered("o", len(graph.outputs))
        members = {
            **{n: In(stream_of(v.type.size))
               for n, v in zip(self.input_names, graph.inputs, strict=True)},
            **{n: Out(stream_of(v.type.size, v.type.dtype.bits))
               for n, v in zip(self.output_names, graph.outputs, strict=True)},
        }  # fmt: skip
        super().__init__(members)

    def lanes(self, value: Value) -> int:
        """Return the elements of ``value``: they come at once."""
        return value.type.size

    @property
    def depth(self) -> int:
        """Beats that an output queue holds."""
        return queue_depth(self.latency)

    @property
    def memory_bits(self) -> int:
        """Bits of the output queues."""
        outputs = self.program.graph.outputs
        return sum(v.type.dtype.bits * v.type.size * self.depth for v in outputs)

    @cached_property
    def structures(self) -> dict[str, Structure]:
        """Counts of each layer's module, by name; they are the same on every device.

        A refusal asks for the cells on each device in turn; counting takes up to a minute.
        """
        return structure_of(self)

    def elaborate(self, platform: object) -> Module:
        """Connect layers, delays and queues."""
        m = Module()
        queues = [ResultQueue(v.type.size, v.type.dtype.bits, self.depth)
                  for v in self.program.graph.outputs]  # fmt: skip
        inputs = [getattr(self, name) for name in self.input_names]
        take = Signal(name="take")
        there = [port.valid for port in inputs] + [queue.open for queue in queues]
        m.d.comb += take.eq(Cat(*there).all())
        m.d.comb += [port.ready.eq(take) for port in inputs]
        values = self._values(m)
        arriving = follow(m, take, "valid", self.latency, reset=True)
        outputs = zip(self.output_names, self.program.graph.outputs, queues, strict=True)
        for name, value, queue in outputs:
            m.submodules[f"{name}_queue"] = queue
            m.d.comb += [
                queue.reserve.eq(take),
                queue.push.eq(arriving),
                Wire.cast(queue.payload).eq(values.at(value, self.latency)),
            ]
            connect(m, queue.o, flipped(getattr(self, name)))
        return m

    def _values(self, m: Module) -> _Delays:
        """Build all layers; return their results, which can be read at any later cycle."""
        values = _Delays(m)
        for index, (name, value) in enumerate(zip(self.input_names, self.program.graph.inputs,
                                                  strict=True)):  # fmt: skip
            values.put(value, raw(getattr(self, name)), 0, f"input{index}")
        for layer, pipeline, start in zip(self.layers, self.pipelines, self.starts, strict=True):
            m.submodules[layer.name] = pipeline
            operands = [values.at(value, start) for value in layer.operands]
            m.d.comb += pipeline.i.eq(Cat(*operands))
            done = start + pipeline.latency
            values.put(layer.node.result, pipeline.o.as_value(), done, layer.name)
        return values


class _Delays:
    """Values of the graph, and registers that delay them."""

    def __init__(self, m: Module) -> None:
        self.m = m
        self.found: dict[Value, tuple[Wire, int, str]] = {}
        self.late: dict[tuple[Value, int], Wire] = {}

    def put(self, value: Value, wire: Wire, cycle: int, name: str) -> None:
        """Set the wire of a value, and the cycle of a frame in which it is valid."""
        self.found[value] = wire, cycle, name

    def at(self, value: Value, cycle: int) -> Wire:
        """Return the value delayed to ``cycle``."""
        wire, first, name = self.found[value]
        for place in range(first + 1, cycle + 1):
            if (value, place) not in self.late:
                late = Signal(len(wire), name=f"{name}_r{place}", reset_less=True)
                self.m.d.sync += late.eq(wire)
                self.late[value, place] = late
            wire = self.late[value, place]
        return wire


def _numbered(letter: str, count: int) -> list[str]:
    return [letter] if count == 1 else [f"{letter}{index}" for index in range(count)]
