"""Inputs and outputs of the entry point, and where values are stored.

Tests: tests/targets/cortexm/test_port_names.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType, Region, State
from rlx.ir.port_names import port_word
from rlx.support.errors import EmitError
from rlx.support.text.names import IDENTIFIER_LENGTH, comment_text, mangle

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx.ir import Graph, MemoryPlan, Placement, Value

C_TYPES: Final = {
    DType.I8: "int8_t",
    DType.U8: "uint8_t",
    DType.I16: "int16_t",
    DType.I32: "int32_t",
    DType.F32: "float",
}
"""C types of the elements that code of these targets reads and writes."""

_MAX_AFFIX_CHARS: Final = len("_dequantize_") + len("_999")
"""Characters around a port's name in the longest identifier with it, a number included."""


@dataclass(frozen=True, slots=True)
class PortQuant:
    """Scale (as a C constant) and zero point of a port."""

    scale: str
    zero_point: int


@dataclass(frozen=True, slots=True)
class EntryPort:
    """One pointer of the entry point.

    Attributes:
        parameter: Its name in C.
        macro: Its part of macro names.
        type: C type of an element.
        shape: Dimensions.
        bytes: Size.
        element_bytes: Size of an element.
        name: The model's name of it.
        initial: Every element before the first run, of a state.
        quant: Scale and zero point of quantized values, if not by channel.
        text: Type in the notation of the IR, for comments.
        offset: Bytes from the start of the arena, or None if it is an array of the caller.
    """

    parameter: str
    macro: str
    type: str
    shape: tuple[int, ...]
    bytes: int
    quant: PortQuant | None
    text: str
    offset: int | None = None
    element_bytes: int = 1
    name: str = ""
    initial: int = 0

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.bytes // self.element_bytes

    @property
    def comment(self) -> str:
        """The model's name for a comment; empty if the C name contains it, or it is meaningless."""
        says_nothing = not port_word(self.name, max_chars=1) or self.name in self.parameter
        return "" if says_nothing else comment_text(self.name)

    @property
    def is_float(self) -> bool:
        """Whether its elements are floats."""
        return self.type == "float"

    @property
    def ends(self) -> tuple[int, int] | None:
        """Minimum and maximum of quantized values of 8 bits; None for other types."""
        return {"int8_t": (-128, 127), "uint8_t": (0, 255)}.get(self.type)

    @property
    def pointer(self) -> str:
        """The parameter's declaration where it is written to."""
        return f"{self.type} *{self.parameter}"

    @property
    def constant_pointer(self) -> str:
        """The parameter's declaration where it is read."""
        return f"const {self.pointer}"


def ports(
    kind: str,
    values: Sequence[Value],
    names: Sequence[str],
    prefix: str = "",
    types: Mapping[DType, str] = C_TYPES,
) -> tuple[EntryPort, ...]:
    """Return the ports of the graph's inputs or outputs.

    A single one is named after its kind, several ``<kind>_<name>``, or ``<kind><index>`` where
    the model's name is meaningless.

    Args:
        kind: ``input`` or ``output``.
        values: The inputs or outputs.
        names: The model's name of each.
        prefix: First part of the network's C names: long ones leave less for names of ports.
        types: C type of each element type that a port may have.

    Raises:
        EmitError: One has an element type that C code of this target does not support.
    """
    parameters = [kind] if len(values) == 1 else _parameters(kind, names, prefix)
    return tuple(
        replace(_port(kind, index, parameter, value, types), name=name)
        for index, (parameter, value, name) in enumerate(
            zip(parameters, values, names, strict=True)
        )
    )


def members(states: Sequence[Value], types: Mapping[DType, str] = C_TYPES) -> tuple[EntryPort, ...]:
    """Return the members of the struct that holds states; arguments as ``ports``.

    Raises:
        EmitError: One has an element type that C code of this target does not support.
    """
    names: list[str] = []
    state_ports = []
    for index, state in enumerate(states):
        assert isinstance(state.node.op, State)
        word = port_word(state.name, max_chars=IDENTIFIER_LENGTH - _MAX_AFFIX_CHARS)
        names.append(mangle(word, reserved=names) if word else f"state{index}")
        port = _port("state", index, names[-1], state, types)
        state_ports.append(replace(port, name=state.name, initial=state.node.op.initial))
    return tuple(state_ports)


def _parameters(kind: str, names: Sequence[str], prefix: str) -> list[str]:
    """Return a C name for each of several ports; all differ in capitals too."""
    max_chars = IDENTIFIER_LENGTH - len(prefix) - _MAX_AFFIX_CHARS
    parameters: list[str] = []
    for index, name in enumerate(names):
        word = port_word(name, max_chars=max_chars - len(kind) - 1)
        parameters.append(
            mangle(word, reserved=parameters, prefix=kind) if word else f"{kind}{index}"
        )
    return parameters


def inside(
    ports: Sequence[EntryPort], values: Sequence[Value], plan: MemoryPlan
) -> tuple[EntryPort, ...]:
    """Return ports that are in the arena.

    Raises:
        EmitError: One is a constant.
    """
    return tuple(
        replace(port, offset=_offset(port, value, plan))
        for port, value in zip(ports, values, strict=True)
    )


def _offset(port: EntryPort, value: Value, plan: MemoryPlan) -> int:
    if value.constant is not None:
        raise EmitError(
            "expected a value in the arena, got a constant",
            where=port.parameter,
            hint="use --io caller",
        )
    return plan.of(value).offset


def _port(
    kind: str, index: int, parameter: str, value: Value, types: Mapping[DType, str]
) -> EntryPort:
    type_ = value.type
    if type_.dtype not in types:
        *known, last = (dtype.value for dtype in types)
        raise EmitError(
            f"expected {', '.join(known)} or {last} for {kind} {index}, got {type_}",
            hint="quantize the inputs and outputs of the model too",
        )
    if type_.dtype is DType.F32 and value.constant is not None:
        raise EmitError(
            f"expected an integer for {kind} {index}, a constant, got f32",
            hint="remove it from the outputs of the model: it is the same for every input",
        )
    quant = None
    if type_.quant is not None and type_.quant.axis is None:
        quant = PortQuant(float_text(type_.quant.scale[0]), type_.quant.zero_point[0])
    shape = type_.static_shape
    return EntryPort(
        parameter=parameter,
        macro=parameter.upper(),
        type=types[type_.dtype],
        shape=shape,
        bytes=type_.nbytes,
        quant=quant,
        text=str(type_),
        element_bytes=type_.dtype.numpy.itemsize,
    )


def float32_text(value: float) -> str:
    """Return a C constant of type float for ``value`` rounded to float32.

    Raises:
        ValueError: It is not positive and normal in float32.
    """
    rounded = np.float32(value)
    if not np.finfo(np.float32).tiny <= rounded < np.inf:
        raise ValueError(f"expected a normal float32 number above 0, got {value!r}")
    return float_text(float(rounded))


def float_text(value: float) -> str:
    """Return a C constant of type float; enough digits for the same double."""
    text = repr(float(value))
    return f"{text if any(c in text for c in '.en') else text + '.0'}f"


@dataclass(frozen=True, slots=True)
class ValueLocation:
    """Place of a value: a parameter of the entry point, a state, or the arena (base ``memory``)."""

    base: str
    offset: int

    @property
    def expression(self) -> str:
        """The address in C, a pointer to bytes for the arena, else of the parameter's type."""
        return f"{self.base} + {self.offset}" if self.offset else self.base


class ValueLocations:
    """The places of all values of a planned graph except constants."""

    def __init__(
        self,
        graph: Graph,
        plan: MemoryPlan,
        inputs: Sequence[EntryPort],
        outputs: Sequence[EntryPort],
        states: Sequence[EntryPort] = (),
    ) -> None:
        self._by_value = {p.value: p for p in plan.placements}
        self._inputs = dict(zip(graph.run_inputs, (p.parameter for p in inputs), strict=True))
        self._outputs: dict[Value, str] = {}
        for (_, value), port in zip(graph.run_outputs, outputs, strict=True):
            self._outputs.setdefault(value, port.parameter)
        pairs = zip(graph.states, states, strict=True)
        self._states = {state: f"state->{port.parameter}" for (state, _), port in pairs}

    def of(self, value: Value) -> ValueLocation:
        """Return the place of ``value``."""
        placement = self._by_value[value]
        if placement.region is Region.ARENA:
            return ValueLocation("memory", placement.offset)
        if placement.region is Region.STATE:
            return ValueLocation(self._states[_root(placement)], placement.offset)
        if placement.region is Region.INPUT:
            return ValueLocation(self._inputs[_root(placement)], placement.offset)
        return ValueLocation(self._output_of(placement), placement.offset)

    def _output_of(self, placement: Placement) -> str:
        """Return the output whose bytes a value shares: its own, or that of another value."""
        if placement.value in self._outputs:
            return self._outputs[placement.value]
        root = _root(placement)
        return next(
            parameter
            for value, parameter in self._outputs.items()
            if value in self._by_value and _root(self._by_value[value]) == root
        )


def _root(placement: Placement) -> Value:
    """Return the value that wrote a buffer first."""
    return placement.value if placement.alias_of is None else placement.alias_of
