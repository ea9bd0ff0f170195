"""Inputs and outputs of the entry point, and where values lie."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.ir import DType, Region
from rlx.support.errors import EmitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.ir import Graph, MemoryPlan, Placement, Value

C_TYPES: Final = {
    DType.F32: "float",
    DType.I8: "int8_t",
    DType.I16: "int16_t",
    DType.I32: "int32_t",
    DType.U8: "uint8_t",
}
"""C types of the elements that code of these targets reads and writes."""


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
        quant: Meaning of quantized values, if there is one scale.
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

    @property
    def is_float(self) -> bool:
        """Whether it holds real numbers."""
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


def ports(kind: str, values: Sequence[Value]) -> tuple[EntryPort, ...]:
    """Return the ports of the graph's inputs or outputs; numbered if there are several.

    Raises:
        EmitError: One has an element type that C code of this target cannot take.
    """
    numbers = [""] if len(values) == 1 else [str(i) for i in range(len(values))]
    return tuple(_port(kind, number, value) for number, value in zip(numbers, values, strict=True))


def inside(
    ports: Sequence[EntryPort], values: Sequence[Value], plan: MemoryPlan
) -> tuple[EntryPort, ...]:
    """Return ports that lie in the arena.

    Raises:
        EmitError: One has no place there.
    """
    return tuple(
        replace(port, offset=_offset(port, value, plan))
        for port, value in zip(ports, values, strict=True)
    )


def _offset(port: EntryPort, value: Value, plan: MemoryPlan) -> int:
    if value.constant is not None:
        raise EmitError(
            "is a constant and has no place in the arena",
            where=port.parameter,
            hint="use --io caller",
        )
    return plan.of(value).offset


def _port(kind: str, number: str, value: Value) -> EntryPort:
    type_ = value.type
    if type_.dtype not in C_TYPES:
        raise EmitError(
            f"{kind} {number or 0} is {type_}, but inputs and outputs must be i8, u8, i16, i32 or"
            " f32",
            hint="quantize the model's inputs and outputs too",
        )
    if type_.dtype is DType.F32 and value.constant is not None:
        raise EmitError(
            f"{kind} {number or 0} is a constant of f32, but constants are stored as integers",
            hint="take it from the model's outputs: it is the same for every input",
        )
    quant = None
    if type_.quant is not None and type_.quant.axis is None:
        quant = PortQuant(float_text(type_.quant.scale[0]), type_.quant.zero_point[0])
    shape = type_.static_shape
    return EntryPort(
        parameter=f"{kind}{number}",
        macro=f"{kind.upper()}{number}",
        type=C_TYPES[type_.dtype],
        shape=shape,
        bytes=type_.nbytes,
        quant=quant,
        text=str(type_),
        element_bytes=type_.dtype.numpy.itemsize,
    )


def float32_text(value: float) -> str:
    """Return a C constant of type float for ``value`` rounded to float32.

    Raises:
        ValueError: It is no normal number above 0 there.
    """
    rounded = np.float32(value)
    if not np.finfo(np.float32).tiny <= rounded < np.inf:
        raise ValueError(f"{value!r} is no normal float32 number above 0")
    return float_text(float(rounded))


def float_text(value: float) -> str:
    """Return a C constant of type float; enough digits for the same double."""
    text = repr(float(value))
    return f"{text if any(c in text for c in '.en') else text + '.0'}f"


@dataclass(frozen=True, slots=True)
class ValueLocation:
    """Place of a value: a parameter of the entry point, or the arena (base ``memory``)."""

    base: str
    offset: int

    @property
    def expression(self) -> str:
        """The address in C, a pointer to bytes for the arena, else of the parameter's type."""
        return f"{self.base} + {self.offset}" if self.offset else self.base


class ValueLocations:
    """The places of all values of a planned graph that are no constants."""

    def __init__(self, graph: Graph, plan: MemoryPlan, inputs: Sequence[EntryPort],
                 outputs: Sequence[EntryPort]) -> None:  # fmt: skip
        self._by_value = {p.value: p for p in plan.placements}
        self._inputs = dict(zip(graph.inputs, (p.parameter for p in inputs), strict=True))
        self._outputs: dict[Value, str] = {}
        for value, port in zip(graph.outputs, outputs, strict=True):
            self._outputs.setdefault(value, port.parameter)

    def of(self, value: Value) -> ValueLocation:
        """Return the place of ``value``."""
        placement = self._by_value[value]
        if placement.region is Region.ARENA:
            return ValueLocation("memory", placement.offset)
        if placement.region is Region.INPUT:
            return ValueLocation(self._inputs[_root(placement)], placement.offset)
        return ValueLocation(self._output_of(placement), placement.offset)

    def _output_of(self, placement: Placement) -> str:
        """Return the output whose bytes a value shares: its own, or that of a value beside it."""
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
