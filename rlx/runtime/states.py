"""The values that a compiled graph keeps from run to run.

Tests: tests/unit/runtime/test_state_sizes.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.ir import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rlx.ir import Array, Node, Value
    from rlx.runtime.backend import Program


class States:
    """The states of a compiled graph, which live in the program that ran last.

    Attributes:
        types: Type of each state by name, in order.
    """

    def __init__(self, values: Iterable[Value]) -> None:
        self._nodes = {value.name: value.node for value in values}
        self.types = {name: node.result.type for name, node in self._nodes.items()}
        self._bound: dict[str, Array] = {}
        self._waiting: dict[str, Array | None] = {}  # None: as it begins
        self._program: Program | None = None

    def bind(self, name: str, value: Array) -> None:
        """Set the value before the next run, and after a reset."""
        self._bound[name] = self._waiting[name] = value.copy()

    def value(self, name: str) -> Array | None:
        """Return a copy of the value that a state has now; None for one of unknown size."""
        if self._program is not None and name not in self._waiting:
            return self._program.read_state(name)
        waiting = self._waiting.get(name)
        if waiting is not None:
            return waiting.copy()
        node = self._nodes[name]
        return _start(node) if self.types[name].is_static else None

    def read(self, name: str) -> Array:
        """Return a copy of the value that a state has now.

        Raises:
            ValueError: Its size is not known before the next run.
        """
        value = self.value(name)
        if value is None:
            raise ValueError(f"state {name!r}: {self.types[name]} has no size before the next run")
        return value

    def reset(self, name: str) -> None:
        """Let a state have the value that was bound last, or its initial one."""
        self._waiting[name] = self._bound.get(name)

    def move_to(self, program: Program) -> None:
        """Give the states to the program that runs next.

        Raises:
            ValueError: A state has another size there.
        """
        if not self.types or (program is self._program and not self._waiting):
            return
        values = dict(self._waiting)
        if program is not self._program:
            values |= {name: self.value(name) for name in self.types}
        nodes = {state.name: state.node for state, _ in program.module.graph.states}
        for name, value in values.items():
            needed = nodes[name].result.type
            if value is not None and value.shape != needed.shape:
                raise ValueError(
                    f"state {name!r} is {value.dtype}{list(value.shape)}, but the inputs of this"
                    f" run need {needed}; set it with bind_state() or reset_state()"
                )
        self._program = program
        for name, value in values.items():
            program.write_state(name, _start(nodes[name]) if value is None else value)
        self._waiting.clear()


def _start(node: Node) -> Array:
    """Return the value that a state begins with."""
    assert isinstance(node.op, State)
    return node.op.start
