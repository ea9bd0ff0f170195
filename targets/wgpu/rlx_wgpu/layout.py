"""Slots of values in the buffers on the device, in words of 32 bits.

An invocation of a kernel writes a whole word, so that every value begins with a word of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import State
from rlx.ops.q import QReshape
from rlx.ops.real import RealReshape
from rlx_wgpu.rules import held, held_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rlx.ir import Array, GraphModule, Value

WORD: Final = 4
"""Bytes of a word."""

_RESHAPES: Final = (QReshape, RealReshape)


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot of an array.

    Attributes:
        buffer: Name of the buffer: ``memory``, ``params`` or ``constants``.
        offset: Its first word there.
        dtype: Element type.
        size: Number of elements.
    """

    buffer: str
    offset: int
    dtype: np.dtype[np.generic]
    size: int

    @property
    def words(self) -> int:
        """Number of words, the last one maybe filled up."""
        return -(-self.size * self.dtype.itemsize // WORD)


@dataclass(slots=True)
class Arrays:
    """Arrays one after the other in a buffer that kernels only read.

    Attributes:
        buffer: Name of the buffer.
        words: Words taken so far.
    """

    buffer: str
    words: int = 0
    _parts: list[bytes] = field(default_factory=list)
    _known: dict[bytes, int] = field(default_factory=dict)

    def reserve(self, size: int, dtype: np.dtype[np.generic]) -> Slot:
        """Return a slot for an array that is written later."""
        slot = Slot(self.buffer, self.words, dtype, size)
        self.words += slot.words
        return slot

    def add(self, array: Array) -> Slot:
        """Return the slot of an array; equal bytes are stored once."""
        data = padded_bytes(array)
        if data not in self._known:
            self._known[data] = self.words
            self._parts.append(data)
            self.words += len(data) // WORD
        return Slot(self.buffer, self._known[data], array.dtype, array.size)

    def content(self) -> bytes:
        """Return the bytes of all arrays that were added."""
        return b"".join(self._parts)


def padded_bytes(array: Array) -> bytes:
    """Return the elements of an array in row-major order, filled up to whole words."""
    data = np.ascontiguousarray(array).tobytes()
    return data + bytes(-len(data) % WORD)


class Layout:
    """Slots of all values of a graph.

    Attributes:
        constants: Arrays that never change.
        params: Slot of each parameter of the graph.
        params_words: Words of all parameters.
        memory_words: Words of the buffer of everything else, scratch included.
    """

    def __init__(self, module: GraphModule) -> None:
        assert module.plan is not None
        graph = module.graph
        self.constants = Arrays("constants")
        params = Arrays("params")
        self.params = {v: params.reserve(_size(v), held_type(v.type.dtype)) for v in graph.params}
        self.params_words = params.words
        self._slots: dict[Value, Slot] = dict(self.params)
        self._values_end = self._allocate(module)
        self.memory_words = self._values_end

    def of(self, value: Value) -> Slot:
        """Return the slot of a value; a constant is stored when it is asked for."""
        root = root_of(value)
        if root not in self._slots:
            assert root.constant is not None
            self._slots[root] = self.constants.add(held(root.constant))
        return self._slots[root]

    def scratch(self, words: int) -> Slot:
        """Return memory for one node while it is computed; the next node has the same."""
        self.memory_words = max(self.memory_words, self._values_end + words)
        return Slot("memory", self._values_end, np.dtype(np.int32), words)

    def _allocate(self, module: GraphModule) -> int:
        """Give slots to inputs and computed values; return the number of words."""
        values = Lifetimes(module)
        live: list[tuple[Slot, int]] = []
        end = 0
        for value, (first, last) in values.spans.items():
            live = [(slot, until) for slot, until in live if until >= first]
            size, dtype = _size(value), held_type(value.type.dtype)
            words = Slot("memory", 0, dtype, size).words
            slot = Slot("memory", _gap([p for p, _ in live], words), dtype, size)
            self._slots[value] = slot
            live.append((slot, last))
            end = max(end, slot.offset + words)
        return end


class Lifetimes:
    """Steps between which values are needed.

    Attributes:
        spans: First and last step of each value that has words of its own, by its first step.
    """

    def __init__(self, module: GraphModule) -> None:
        assert module.plan is not None
        graph, schedule = module.graph, module.plan.schedule
        end = len(schedule)
        self.spans: dict[Value, tuple[int, int]] = {}
        for value in graph.inputs:
            self.spans[value] = (-1, end if isinstance(value.node.op, State) else -1)
        for step, node in enumerate(schedule):
            self._extend(node.operands, step)
            for value in node.results:
                if root_of(value) is value:
                    self.spans[value] = (step, step)
        self._extend([*graph.outputs, *(following for _, following in graph.states)], end)

    def _extend(self, values: Iterable[Value], step: int) -> None:
        """Let values live until ``step``."""
        for value in map(root_of, values):
            if value in self.spans:
                first, last = self.spans[value]
                self.spans[value] = (first, max(last, step))


def root_of(value: Value) -> Value:
    """Return the value whose words hold ``value``: reshaping moves nothing."""
    while isinstance(value.node.op, _RESHAPES):
        value = value.node.operands[0]
    return value


def _size(value: Value) -> int:
    return int(np.prod(value.type.static_shape, dtype=np.int64))


def _gap(slots: Sequence[Slot], words: int) -> int:
    """Return the first offset at which ``words`` are free."""
    offset = 0
    for slot in sorted(slots, key=lambda s: s.offset):
        if slot.offset - offset >= words:
            break
        offset = max(offset, slot.offset + slot.words)
    return offset
