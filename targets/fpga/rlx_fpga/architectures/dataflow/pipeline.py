"""From the stages of a graph and a folding for each to a dataflow pipeline."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from amaranth import Module
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from rlx.ir import State
from rlx_fpga.architectures.dataflow.balance import OperandFlow, StageFlow, queue_depths
from rlx_fpga.architectures.dataflow.latency import (
    StageTiming,
    arrival_curves,
    fill,
    only_behind,
)
from rlx_fpga.architectures.dataflow.stage import Stage
from rlx_fpga.architectures.interface import port_names
from rlx_fpga.cells.fifo import Fifo, SkidBuffer
from rlx_fpga.cells.fork import Fork
from rlx_fpga.cells.state import StateMemory
from rlx_fpga.cells.streams import lanes_of, stream_of
from rlx_fpga.cells.width import WidthConverter
from rlx_fpga.cost.costs import PORTS
from rlx_fpga.rtl.naming import port_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rlx.ir import Value
    from rlx_fpga.architectures.dataflow.latency import ArrivalCurve
    from rlx_fpga.architectures.dataflow.lower import LayerHardware
    from rlx_fpga.architectures.dataflow.staged import PipelineStage, StagedGraph
    from rlx_fpga.cells.streams import Cell
    from rlx_fpga.explore.fold import Fold

# Beats that the register after every stream holds: a smaller queue is not needed.
REGISTER_BEATS = 2
# A stage with this part of the slowest stage's cycles cannot catch up much.
BUSY = Fraction(3, 4)


@dataclass(frozen=True, slots=True)
class Queue:
    """The FIFO and width converter between a stream and one of its consumers.

    Attributes:
        name: Prefix of the cells' names.
        depth: Beats of the FIFO, which are as wide as the wider side; 0 for no FIFO.
        lanes: Lanes of the stream.
        reader_lanes: Lanes of the consumer.
        elements: Elements of a frame.
        width: Bits of an element.
    """

    name: str
    depth: int
    lanes: int
    reader_lanes: int
    elements: int
    width: int

    @property
    def registers(self) -> Fraction:
        """Capacity of the registers between them, as part of a frame."""
        beats = REGISTER_BEATS * self.lanes + 2 * math.lcm(self.lanes, self.reader_lanes)
        return Fraction(beats, self.elements)

    def cells(self) -> dict[str, Cell]:
        """Return the cells that are needed, in order."""
        queue: dict[str, Cell] = {}
        if self.depth:
            queue[f"{self.name}_queue"] = Fifo(self.widest, self.depth, self.width)
        if self.lanes == self.reader_lanes:
            return queue
        converter = WidthConverter(self.lanes, self.reader_lanes, self.elements, self.width)
        width: dict[str, Cell] = {f"{self.name}_width": converter}
        return queue | width if self.lanes > self.reader_lanes else width | queue

    @property
    def widest(self) -> int:
        """Lanes of the FIFO, which is on the wider side for full throughput."""
        return max(self.lanes, self.reader_lanes)

    @property
    def memory_bits(self) -> int:
        """Bits of the FIFO."""
        return self.depth * self.widest * self.width


@dataclass(frozen=True)
class _Net:
    """A stream with the cells between its source and its consumers.

    Attributes:
        component: Source.
        port: Name of the source's port.
        register: Name and cell of the register after the source; None without consumers.
        fork: Name and cell of the fork, with several consumers.
        branches: For each consumer, its component, its port, and the cells before it.
    """

    component: Component
    port: str
    register: tuple[str, SkidBuffer] | None
    fork: tuple[str, Fork] | None
    branches: list[tuple[Component, str, dict[str, Cell]]]


class Pipeline(Component):
    """The hardware of a graph.

    Members:
        i (or i0, i1, ...): In: the graph's inputs, int8, in NHWC raster order.
        o (or o0, o1, ...): Out: its outputs, int8, or int32 for an index.

    Attributes:
        program: The stages.
        layers: For each stage, its hardware.
        queues: For each operand of each stage, the queue before it.
        memories: For each state, its memory.
    """

    _MustUse__silence = True

    def __init__(self, program: StagedGraph, folds: Mapping[str, Fold]) -> None:
        self.program = program
        self.layers = [stage.layer(folds[stage.name]) for stage in program.stages]
        graph = program.graph
        self._lanes = {value: self._lanes_read(value) for value in graph.inputs}
        for stage, layer in zip(program.stages, self.layers, strict=True):
            self._lanes[stage.node.result] = lanes_of(layer.cell, "o")
        self.memories = {state: self._memory(state) for state in program.states}
        self.queues = self._queues()
        self.input_names = port_names("i", len(graph.run_inputs))
        self.output_names = port_names("o", len(program.outputs))
        inputs = zip(self.input_names, graph.run_inputs, strict=True)
        members = {name: In(stream_of(self.lanes(value))) for name, value in inputs}
        for name, value in zip(self.output_names, program.outputs, strict=True):
            members[name] = Out(stream_of(self.lanes(value), value.type.dtype.bits))
        super().__init__(members)

    @property
    def interval(self) -> int:
        """Predicted initiation interval: cycles of the slowest stage or port.

        It is a lower bound. Queues are sized so that designs reach it; a few random graphs that
        pool and concatenate one stream with itself were measured slower.
        """
        ports = [
            value.type.size // self.lanes(value)
            for value in (*self.program.graph.inputs, *self.program.outputs)
        ]
        return max(*(layer.cycles for layer in self.layers), *ports, *self.loops.values())

    @cached_property
    def loops(self) -> dict[str, int]:
        """Predicted cycles from a frame's use of each state to that of the next frame."""
        indices = self._places()
        loops = {}
        for state, after in self.program.states.items():
            cycles = {indices[state]: state.type.size // self.lanes(state)}
            curves = arrival_curves(only_behind(self._timings(), indices[state]), cycles)
            # A next value that needs nothing of the state is never late.
            if indices[after] in curves:
                delay = curves[indices[after]].delay(curves[indices[state]])
                loops[state.name] = round(delay) + self.memories[state].latency + 1
        return loops

    @property
    def latency(self) -> int:
        """Predicted cycles from the first element of a frame to its last result, on its own."""
        curves, indices = self._curves(), self._places()
        return max(round(curves[indices[value]].end) for value in self.program.outputs)

    def _curves(self) -> dict[int, ArrivalCurve]:
        """Return the arrival curve of each stream, by its number."""
        ports = {
            -1 - index: value.type.size // self.lanes(value)
            for index, value in enumerate(self.program.graph.inputs)
        }
        return arrival_curves(self._timings(), ports)

    @property
    def fill(self) -> float:
        """Frames that line buffers and the like hold back before the last layer can begin."""
        place = self._places()
        return fill(self._timings(), [place[value] for value in self.program.outputs])

    def lanes(self, value: Value) -> int:
        """Return the lanes of the stream of ``value``."""
        return self._lanes[value]

    def parts(self) -> dict[str, Cell]:
        """Return all cells of the pipeline by name, without creating their ports."""
        cells_by_name: dict[str, Cell] = {
            stage.name: layer.cell
            for stage, layer in zip(self.program.stages, self.layers, strict=True)
        }
        cells_by_name |= {f"state{n}": one for n, one in enumerate(self.memories.values())}
        for net in self._nets():
            cells_by_name.update(named for named in (net.register, net.fork) if named is not None)
            for _, _, cells in net.branches:
                cells_by_name |= cells
        return cells_by_name

    def between(self) -> dict[str, list[Cell]]:
        """Return the cells around each layer, by its name, and those at the ``PORTS``, with states.

        Cells before the operands and after the result belong to a layer.
        """
        names = {
            layer.cell: stage.name
            for stage, layer in zip(self.program.stages, self.layers, strict=True)
        }
        cells_by_layer: dict[str, list[Cell]] = {name: [] for name in names.values()}
        cells_by_layer[PORTS] = list(self.memories.values())
        for net in self._nets():
            behind = [named[1] for named in (net.register, net.fork) if named is not None]
            cells_by_layer[names.get(net.component, PORTS)] += behind
            for reader, _, cells in net.branches:
                cells_by_layer[names.get(reader, PORTS)] += cells.values()
        return cells_by_layer

    def elaborate(self, platform: object) -> Module:
        """Connect every stream with its consumers."""
        m = Module()
        nets = list(self._nets())
        built = self._built(nets)
        # In the order of the network: inputs, then each layer and the fork after it.
        behind: dict[Component, list[tuple[str, Cell]]] = {}
        for net in nets:
            registers = [net.register] if net.component not in built else []
            behind.setdefault(net.component, []).extend(
                one for one in (*registers, net.fork) if one
            )
        for name, cell in behind.pop(self, []):
            m.submodules[name] = cell
        for index, memory in enumerate(self.memories.values()):
            m.submodules[f"state{index}"] = memory
            for name, cell in behind.get(memory, []):
                m.submodules[name] = cell
        for stage, layer in zip(self.program.stages, self.layers, strict=True):
            m.submodules[stage.name] = built[layer.cell]
            for name, cell in behind.get(layer.cell, []):
                m.submodules[name] = cell
        for net in nets:
            _connect(m, self, net, built)
        return m

    def _built(self, nets: Sequence[_Net]) -> dict[Component, Stage]:
        """Return each stage, a layer with its queues and registers, by the cell of the layer."""
        registers = {net.component: net.register for net in nets}
        before: dict[Component, dict[str, dict[str, Cell]]] = {}
        for net in nets:
            for reader, port, cells in net.branches:
                before.setdefault(reader, {})[port] = cells
        stages = {}
        for stage, layer in zip(self.program.stages, self.layers, strict=True):
            fronts = {
                port: {_plain(name, stage, port): cell for name, cell in cells.items()}
                for port, cells in before.get(layer.cell, {}).items()
            }
            register = registers[layer.cell]
            kind = stage.node.op.name.rpartition(".")[2]
            stages[layer.cell] = Stage(kind, layer.cell, fronts, register and register[1])
        return stages

    def _nets(self) -> Iterator[_Net]:
        """Yield the streams of inputs, then those of stages."""
        readers: dict[Value, list[tuple[Component, str, Queue]]] = {}
        for stage, layer, queues in zip(self.program.stages, self.layers, self.queues, strict=True):
            for source, port, queue in zip(stage.sources, layer.cell.ports, queues, strict=True):
                readers.setdefault(source, []).append((layer.cell, port, queue))
        for name, value in zip(self.output_names, self.program.outputs, strict=True):
            lanes, bits = self.lanes(value), value.type.dtype.bits
            queue = Queue(name, 0, lanes, lanes, value.type.size, bits)
            readers.setdefault(value, []).append((self, name, queue))
        for (state, memory), after in zip(
            self.memories.items(), self.program.states.values(), strict=True
        ):
            lanes = self.lanes(after)
            queue = Queue(state.name, 0, lanes, lanes, after.type.size, after.type.dtype.bits)
            readers.setdefault(after, []).append((memory, "i", queue))
        for name, value in zip(self.input_names, self.program.graph.run_inputs, strict=True):
            register = port_name((name,))
            yield _net(register, self, name, self.lanes(value), readers.get(value, []))
        for index, (state, memory) in enumerate(self.memories.items()):
            lanes = self.lanes(state)
            yield _net(f"state{index}", memory, "o", lanes, readers.get(state, []))
        for stage, layer in zip(self.program.stages, self.layers, strict=True):
            value = stage.node.result
            yield _net(stage.name, layer.cell, "o", self.lanes(value), readers.get(value, []))

    def _memory(self, state: Value) -> StateMemory:
        """Return the memory of a state, and give the state the lanes of its next value."""
        assert isinstance(state.node.op, State)
        after, passed = self.program.states[state], {state}
        while after in self.program.states and after not in passed:
            passed.add(after)
            after = self.program.states[after]
        lanes = self._lanes[state] = self.lanes(after)
        return StateMemory(lanes, state.type.size // lanes, state.node.op.initial)

    def _lanes_read(self, value: Value) -> int:
        """Return the lanes of an input: those of its widest consumer."""
        found = [1]
        for stage, layer in zip(self.program.stages, self.layers, strict=True):
            for source, port in zip(stage.sources, layer.cell.ports, strict=True):
                if source == value:
                    found.append(lanes_of(layer.cell, port))
        return max(found)

    def _places(self) -> dict[Value, int]:
        """Return the number of each stream: its stage's, or, for inputs, negative ones."""
        place = {stage.node.result: index for index, stage in enumerate(self.program.stages)}
        return place | {v: -1 - index for index, v in enumerate(self.program.graph.inputs)}

    def _timings(self) -> list[StageTiming]:
        """Return the timing of each stage."""
        indices = self._places()
        return [
            StageTiming(
                tuple(indices[source] for source in stage.sources),
                layer.demand,
                layer.burst or layer.cycles,
                # There is a register after each layer, but not in a fork.
                layer.cell.latency + layer.cell.drain + 1,
                tuple(sum(cell.latency for cell in queue.cells().values()) for queue in queues),
            )
            for stage, layer, queues in zip(
                self.program.stages, self.layers, self.queues, strict=True
            )
        ]

    def _queues(self) -> list[list[Queue]]:
        """Return the queue before each operand."""
        stages = self.program.stages
        indices = self._places()
        smooth = [
            [self._smoothing(indices[source], layer) for source in stage.sources]
            for stage, layer in zip(stages, self.layers, strict=True)
        ]
        timings, queues = [], []
        for stage, layer, parts in zip(stages, self.layers, smooth, strict=True):
            row = [
                self._queue(stage, source, layer.cell, port)
                for source, port in zip(stage.sources, layer.cell.ports, strict=True)
            ]
            skew = layer.skew or ((Fraction(0), Fraction(0)),) * len(row)
            operands = [
                OperandFlow(indices[source], queue.registers + part, *ahead_and_behind)
                for source, queue, part, ahead_and_behind in zip(
                    stage.sources, row, parts, skew, strict=True
                )
            ]
            timings.append(StageFlow(tuple(operands), layer.hold, layer.lead))
            queues.append(row)
        depths = queue_depths(timings)
        return [
            [_with_depth(q, deep + even) for q, deep, even in zip(row, parts, evens, strict=True)]
            for row, parts, evens in zip(queues, depths, smooth, strict=True)
        ]

    def _queue(self, stage: PipelineStage, source: Value, cell: Cell, port: str) -> Queue:
        return Queue(
            f"{stage.name}_{port}",
            0,
            self.lanes(source),
            lanes_of(cell, port),
            source.type.size,
            source.type.dtype.bits,
        )

    def _smoothing(self, source: int, layer: LayerHardware) -> Fraction:
        """Return the part of a frame to queue if jitter is to cost no cycles.

        Only next to the slowest stage: others have time to catch up. Inputs of the pipeline are
        assumed to be available at any time. A queue is not needed for results that never come
        faster than the consumer accepts them.
        """
        if source < 0:
            return Fraction(0)
        before = self.layers[source]
        slowest = max(one.cycles for one in self.layers)
        waiting = Fraction(layer.pause if self._busiest[source] >= BUSY * slowest else 0, slowest)
        if max(before.cycles, layer.cycles) < BUSY * slowest:
            return waiting
        bursts = (before.burst or before.cycles) <= layer.cycles
        arriving = before.jitter[1] if bursts else Fraction(0)
        return arriving + layer.jitter[0] + waiting

    @cached_property
    def _busiest(self) -> list[int]:
        """For each stage, the cycles of the slowest stage from the inputs up to it."""
        indices, found = self._places(), list[int]()
        for stage, layer in zip(self.program.stages, self.layers, strict=True):
            before = (found[indices[one]] for one in stage.sources if indices[one] >= 0)
            found.append(max(layer.cycles, *before, 0))
        return found


def _with_depth(queue: Queue, part: Fraction) -> Queue:
    """Return the queue with a FIFO for ``part`` of a frame, if the register does not hold it."""
    beats = math.ceil(part * queue.elements / queue.widest)
    needed = beats * queue.widest > REGISTER_BEATS * queue.lanes
    # No FIFO has a depth of 1.
    return replace(queue, depth=max(beats, 2) if needed else 0)


def _net(
    name: str,
    component: Component,
    port: str,
    lanes: int,
    readers: Sequence[tuple[Component, str, Queue]],
) -> _Net:
    """Return a stream with its register, and a fork for several consumers."""
    width = readers[0][2].width if readers else 0
    register = (f"{name}_register", SkidBuffer(lanes, width)) if readers else None
    fork = (f"{name}_fork", Fork(lanes, len(readers), width)) if len(readers) > 1 else None
    branches = [(reader, port_, queue.cells()) for reader, port_, queue in readers]
    return _Net(component, port, register, fork, branches)


def _connect(m: Module, pipeline: Component, net: _Net, built: Mapping[Component, Stage]) -> None:
    """Connect a stream to its consumers."""
    source = _port_of(pipeline, built.get(net.component, net.component), net.port)
    if net.register is None:
        m.d.comb += source.ready.eq(1)
        return
    if net.component not in built:
        _, register = net.register
        connect(m, source, register.i)
        source = register.o
    streams = [source]
    if net.fork:
        _, fork = net.fork
        connect(m, source, fork.i)
        streams = [getattr(fork, f"o{index}") for index in range(fork.count)]
    for stream, (reader, port, _) in zip(streams, net.branches, strict=True):
        connect(m, stream, _port_of(pipeline, built.get(reader, reader), port))


def _plain(name: str, stage: PipelineStage, port: str) -> str:
    """Return the name that a cell before a layer's port has within the stage."""
    return f"{port_name((port,))}{name.removeprefix(f'{stage.name}_{port}')}"


def _port_of(pipeline: Component, component: Component, port: str) -> Any:  # noqa: ANN401
    """Return a port as seen from inside the pipeline."""
    found = getattr(component, port)
    return flipped(found) if component is pipeline else found
