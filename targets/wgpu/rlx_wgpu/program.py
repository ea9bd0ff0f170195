"""A graph compiled to compute pipelines, with what it keeps on its device."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import wgpu

from rlx.ir import State
from rlx.support.errors import DoesNotFitError
from rlx_wgpu.kernel import GROUP, Writer
from rlx_wgpu.layout import WORD, Layout, Slot, padded_bytes
from rlx_wgpu.lowerings import RULES
from rlx_wgpu.rules import held

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Array, GraphModule, Node, Value
    from rlx_wgpu.adapters import Gpu
    from rlx_wgpu.kernel import Dispatch

_ROW: Final = 1 << 15
"""Workgroups along the first axis of a dispatch; there may be 65,535."""

_MIN_BYTES: Final = 16
_KEPT: Final = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST
"""Usage of the buffers of kernels, which the host writes and reads too."""

_BINDINGS: Final = ("storage", "read-only-storage", "read-only-storage")
"""Kinds of the buffers ``memory``, ``params`` and ``constants`` of every kernel."""


class WgpuCode:
    """A graph at stage LIR, compiled. Programs that are made of it share it.

    Attributes:
        module: The graph.
        gpu: Device that it is compiled for.
        layout: Slots of its values.
        steps: Pipeline and workgroups of each kernel, in order.
        moves: The same of the kernels that move the next values of states to the states.
        constants: Buffer of the constants.
        bindings: Layout of the three buffers of a kernel.
    """

    def __init__(self, module: GraphModule, gpu: Gpu) -> None:
        assert module.plan is not None
        self.module = module
        self.gpu = gpu
        self.layout = Layout(module)
        writer = Writer(self.layout, wide=gpu.wide)
        for node in module.plan.schedule:
            RULES[type(node.op)](node, writer)
        moves = _moves(module, self.layout, writer)
        self._check_size()
        with gpu.turn() as device:
            self.bindings = device.create_bind_group_layout(
                entries=[
                    {"binding": i, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}}
                    for i, kind in enumerate(_BINDINGS)
                ]
            )
            self._layout = device.create_pipeline_layout(bind_group_layouts=[self.bindings])
            self._pipelines: dict[str, Any] = {}
            self.steps = [self._step(device, dispatch) for dispatch in writer.dispatches]
            self.moves = [self._step(device, dispatch) for dispatch in moves]
            self.constants = _buffer(device, self.layout.constants.words)
            if self.layout.constants.words:
                device.queue.write_buffer(self.constants, 0, self.layout.constants.content())

    def _check_size(self) -> None:
        """Raise DoesNotFitError if a buffer exceeds the largest one of the device."""
        layout, most = self.layout, self.gpu.max_bytes
        for what, words in (
            ("values", layout.memory_words),
            ("parameters", layout.params_words),
            ("constants", layout.constants.words),
        ):
            if WORD * words > most:
                raise DoesNotFitError(
                    f"{what} need {WORD * words:,} bytes, a buffer of {self.gpu.name} holds"
                    f" {most:,}",
                    where=f"graph {self.module.graph.name!r}",
                    hint="choose a smaller batch, or run it by another backend",
                )

    def _step(self, device: Any, dispatch: Dispatch) -> tuple[Any, tuple[int, int]]:  # noqa: ANN401
        """Return the pipeline of a kernel, and its workgroups along two axes."""
        if dispatch.text not in self._pipelines:
            shader = device.create_shader_module(code=dispatch.text)
            self._pipelines[dispatch.text] = device.create_compute_pipeline(
                layout=self._layout, compute={"module": shader, "entry_point": "main"}
            )
        groups = -(-dispatch.words // GROUP)
        return self._pipelines[dispatch.text], (min(groups, _ROW), -(-groups // _ROW))


def _moves(module: GraphModule, layout: Layout, writer: Writer) -> list[Dispatch]:
    """Return kernels that move next values to states, after all values were computed.

    States may be exchanged: next values that are states wait in other words first.
    """
    begin = len(writer.dispatches)
    pairs = [(layout.of(following), layout.of(state)) for state, following in module.graph.states]
    pairs = [(source, target) for source, target in pairs if source != target]
    waiting = layout.scratch(sum(source.words for source, _ in pairs))
    offset = waiting.offset
    last: list[tuple[Slot, Slot]] = []
    for source, target in pairs:
        slot = Slot("memory", offset, source.dtype, source.size)
        offset += source.words
        _write_copy(writer, source, slot)
        last.append((slot, target))
    for source, target in last:
        _write_copy(writer, source, target)
    dispatches = writer.dispatches[begin:]
    del writer.dispatches[begin:]
    return dispatches


def _write_copy(writer: Writer, source: Slot, target: Slot) -> None:
    kernel = writer.kernel()
    kernel.read("x", source)
    writer.write(kernel, target, "  return x(i);")


def _buffer(device: Any, words: int, usage: int = 0) -> Any:  # noqa: ANN401 - classes of wgpu
    """Return a new buffer of zeros."""
    return device.create_buffer(size=max(WORD * words, _MIN_BYTES), usage=usage or _KEPT)


class WgpuProgram:
    """Compiled code with parameters and states of its own. It runs one call at a time.

    Attributes:
        module: The graph.
    """

    def __init__(self, code: WgpuCode) -> None:
        self.module = code.module
        self._code = code
        graph, layout = code.module.graph, code.layout
        self._inputs = [v for v in graph.inputs if not isinstance(v.node.op, State)]
        self._states = {v.name: v for v in graph.inputs if isinstance(v.node.op, State)}
        self._outputs = [layout.of(v) for v in graph.outputs]
        with code.gpu.turn() as device:
            self._memory = _buffer(device, layout.memory_words)
            self._params = _buffer(device, layout.params_words)
            self._staging = _buffer(
                device,
                sum(slot.words for slot in self._outputs),
                wgpu.BufferUsage.MAP_READ | wgpu.BufferUsage.COPY_DST,
            )
            self._buffers = {
                "memory": self._memory, "params": self._params, "constants": code.constants,
            }  # fmt: skip
            entries = [
                {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
                for i, buffer in enumerate(self._buffers.values())
            ]
            self._group = device.create_bind_group(layout=code.bindings, entries=entries)

    @property
    def workspace_bytes(self) -> int:
        """Bytes that single steps need while they run: none, all memory is taken at once."""
        return 0

    def set_params(self, values: Mapping[str, Array]) -> None:
        """Set all parameters of the module; they are copied to the device."""
        with self._code.gpu.turn() as device:
            for value, slot in self._code.layout.params.items():
                self._write(device, slot, np.asarray(values[value.name]))

    def run(self, inputs: Sequence[Array]) -> Sequence[Array]:
        """Return the outputs in order, read-only.

        Raises:
            DeviceError: The device failed, or was lost.
        """
        code = self._code
        with code.gpu.turn() as device:
            for value, array in zip(self._inputs, inputs, strict=True):
                self._write(device, code.layout.of(value), array)
            encoder = device.create_command_encoder()
            self._encode(encoder, code.steps)
            end = 0
            for slot in self._outputs:
                self._copy(encoder, slot, self._staging, end)
                end += slot.words
            self._encode(encoder, code.moves)
            device.queue.submit([encoder.finish()])
            data = _mapped(self._staging)
        return self._split(data)

    def _encode(self, encoder: Any, steps: Sequence[tuple[Any, tuple[int, int]]]) -> None:  # noqa: ANN401
        """Add kernels to a command buffer."""
        if not steps:
            return
        compute = encoder.begin_compute_pass()
        compute.set_bind_group(0, self._group)
        for pipeline, groups in steps:
            compute.set_pipeline(pipeline)
            compute.dispatch_workgroups(*groups)
        compute.end()

    def _copy(self, encoder: Any, slot: Slot, target: Any, offset: int) -> None:  # noqa: ANN401
        """Add the copy of an array to word ``offset`` of another buffer."""
        if slot.words:
            encoder.copy_buffer_to_buffer(
                self._buffers[slot.buffer], WORD * slot.offset, target, WORD * offset,
                WORD * slot.words,
            )  # fmt: skip

    def _write(self, device: Any, slot: Slot, array: Array) -> None:  # noqa: ANN401
        """Copy an array to the device."""
        if slot.words:
            data = padded_bytes(held(array))
            device.queue.write_buffer(self._buffers[slot.buffer], WORD * slot.offset, data)

    def _split(self, data: bytes) -> list[Array]:
        """Return the outputs in the bytes that were read back."""
        arrays, begin = [], 0
        for value, slot in zip(self.module.graph.outputs, self._outputs, strict=True):
            arrays.append(_array(data[WORD * begin :], slot, value))
            begin += slot.words
        return arrays

    def read_state(self, name: str) -> Array:
        """Return a copy of the value of a state."""
        value = self._states[name]
        slot = self._code.layout.of(value)
        with self._code.gpu.turn() as device:
            offset, size = WORD * slot.offset, WORD * slot.words
            data = bytes(device.queue.read_buffer(self._memory, offset, size)) if size else b""
        return _array(data, slot, value).copy()

    def write_state(self, name: str, value: Array) -> None:
        """Set the value of a state, of its exact type."""
        with self._code.gpu.turn() as device:
            self._write(device, self._code.layout.of(self._states[name]), value)

    def profile(self, inputs: Sequence[Array]) -> list[tuple[Node, int, int]]:
        """Run once; return one time for all, on the node of the first output.

        The device runs a whole command buffer, without times of single nodes.
        """
        begin = time.perf_counter_ns()
        self.run(inputs)
        return [(self.module.graph.outputs[0].node, begin, time.perf_counter_ns())]


def _mapped(buffer: Any) -> bytes:  # noqa: ANN401 - a class of wgpu
    """Return the bytes of a buffer, once the device has written it."""
    buffer.map_sync(wgpu.MapMode.READ)
    try:
        return bytes(buffer.read_mapped(copy=False))
    finally:
        buffer.unmap()


def _array(data: bytes, slot: Slot, value: Value) -> Array:
    """Return the array at the start of ``data``, in the element type of ``value``."""
    array = np.frombuffer(data, slot.dtype, slot.size).reshape(value.type.static_shape)
    narrow: Array = array.astype(value.type.dtype.numpy, copy=False)
    narrow.flags.writeable = False
    return narrow
