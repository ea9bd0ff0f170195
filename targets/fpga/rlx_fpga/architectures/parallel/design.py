"""Netlists of all layers between stream ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amaranth import Cat, Module, Signal
from amaranth import Value as Wire
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from rlx_fpga.architectures.interface import port_names
from rlx_fpga.architectures.parallel.pipeline import NetlistPipeline
from rlx_fpga.cells.credit import ResultQueue, queue_depth
from rlx_fpga.cells.pipe import follow
from rlx_fpga.cells.streams import raw, stream_of
from rlx_fpga.cost.costs import PORTS, resources_of
from rlx_fpga.cost.logic import Logic, total

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, Value
    from rlx_fpga.architectures.parallel.lower import ParallelLayer
    from rlx_fpga.cost.costs import Resources


class ParallelDesign(Component):
    """A frame in every cycle: all inputs are accepted together, all outputs are sent together.

    The pipeline never stalls. A frame is accepted when the output queues have space for
    all frames in flight: no frame is ever lost.

    Members:
        i (or i0, i1, ...): In: the graph's inputs, int8, a whole tensor a beat.
        o (or o0, o1, ...): Out: its outputs, likewise; int32 for an argmax.

    Attributes:
        graph: Graph that is built.
        layers: Its ops.
        pipelines: For each layer, its hardware.
        arrivals: Cycles from the inputs to each value.
        latency: Cycles to the last output, before the queues.
    """

    _MustUse__silence = True

    def __init__(self, graph: Graph, layers: Sequence[ParallelLayer]) -> None:
        self.graph, self.layers = graph, tuple(layers)
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
        self.input_names = port_names("i", len(graph.inputs))
        self.output_names = port_names("o", len(graph.outputs))
        members = {
            **{n: In(stream_of(v.type.size))
               for n, v in zip(self.input_names, graph.inputs, strict=True)},
            **{n: Out(stream_of(v.type.size, v.type.dtype.bits))
               for n, v in zip(self.output_names, graph.outputs, strict=True)},
        }  # fmt: skip
        super().__init__(members)

    @property
    def depth(self) -> int:
        """Beats that an output queue holds."""
        return queue_depth(self.latency)

    @property
    def memory_bits(self) -> int:
        """Bits of the output queues."""
        outputs = self.graph.outputs
        return sum(v.type.dtype.bits * v.type.size * self.depth for v in outputs)

    def costs(self, family: str) -> dict[str, Resources]:
        """Return the predicted cells of each layer, and under ``PORTS`` the others."""
        queues = total(queue.logic for queue in self._queues())
        held = Logic(register=self._delayed_bits() + self.latency)
        found = {
            layer.name: pipeline.cost(family)
            for layer, pipeline in zip(self.layers, self.pipelines, strict=True)
        }
        return found | {PORTS: resources_of(queues + held, family)}

    def _queues(self) -> list[ResultQueue]:
        """Return the queue of each output."""
        types = (value.type for value in self.graph.outputs)
        return [ResultQueue(one.size, one.dtype.bits, self.depth) for one in types]

    def _delayed_bits(self) -> int:
        """Return the bits of the registers in which values wait for their consumers."""
        last = dict(self.arrivals)
        for layer, start in zip(self.layers, self.starts, strict=True):
            last |= {value: max(last[value], start) for value in layer.operands}
        last |= dict.fromkeys(self.graph.outputs, self.latency)
        return sum(
            (last[value] - arrival) * value.type.size * value.type.dtype.bits
            for value, arrival in self.arrivals.items()
        )

    def elaborate(self, platform: object) -> Module:
        """Connect layers, delays and queues."""
        m = Module()
        queues = self._queues()
        inputs = [getattr(self, name) for name in self.input_names]
        take = Signal(name="take")
        there = [port.valid for port in inputs] + [queue.open for queue in queues]
        m.d.comb += take.eq(Cat(*there).all())
        m.d.comb += [port.ready.eq(take) for port in inputs]
        values = self._values(m)
        arriving = follow(m, take, "valid", self.latency, reset=True)
        outputs = zip(self.output_names, self.graph.outputs, queues, strict=True)
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
        for index, (name, value) in enumerate(zip(self.input_names, self.graph.inputs,
                                                  strict=True)):  # fmt: skip
            values.put(value, raw(getattr(self, name)), 0, f"input{index}")
        for layer, pipeline, start in zip(self.layers, self.pipelines, self.starts, strict=True):
            m.submodules[layer.name] = pipeline
            operands = [values.at(value, start) for value in layer.operands]
            m.d.comb += pipeline.i.eq(Cat(*operands))
            end = start + pipeline.latency
            values.put(layer.node.result, pipeline.o.as_value(), end, layer.name)
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
        for register_cycle in range(first + 1, cycle + 1):
            if (value, register_cycle) not in self.late:
                late = Signal(len(wire), name=f"{name}_r{register_cycle}", reset_less=True)
                self.m.d.sync += late.eq(wire)
                self.late[value, register_cycle] = late
            wire = self.late[value, register_cycle]
        return wire
