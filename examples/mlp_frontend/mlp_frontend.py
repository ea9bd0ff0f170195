"""A frontend for rlx: int8 multi-layer perceptrons that are written as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlx.frontends.quantization import activation_bounds, check_accumulator, linear_rescale
from rlx.frontends.reading import read_bytes
from rlx.frontends.refusal import DamagedError, FileRefusedError, MalformedError, UnsupportedError
from rlx.frontends.work import check_work
from rlx.ir import DType, Graph, GraphModule, Origin, QuantParams, TensorType
from rlx.ops.numerics.products import magnitudes
from rlx.ops.q import QDense

if TYPE_CHECKING:
    from pathlib import Path

    from rlx.ir import Array, Value
    from rlx.support.limits import Limits

Table: TypeAlias = "dict[str, Any]"

ACTIVATIONS = {"none": (None, None), "relu": (0.0, None), "relu6": (0.0, 6.0)}
"""The ends of each activation, as floats; None where there is none."""


def positive(text: str) -> int:
    """Return a number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number from 1")
    return int(text)


@dataclass(frozen=True, slots=True)
class MlpOptions:
    """Options of ``.mlp`` files."""

    batch: int = field(
        default=1,
        metadata={"help": "Rows that are computed at once [1].", "metavar": "N", "parse": positive},
    )


class Mlp:
    """The frontend: an object of the protocol ``rlx.frontends.Frontend``."""

    name = "mlp"
    suffixes = (".mlp",)
    options = MlpOptions

    def claims(self, start: bytes) -> bool:
        """Return whether a file begins as ours do."""
        return start.startswith(b'{"mlp": 1,')

    def load(self, path: Path, options: MlpOptions, limits: Limits) -> GraphModule:
        """Import a file; see ``rlx.frontends.load``."""
        data = read_bytes(path, limits)
        try:
            graph = build(parse(data), options, path.name)
            check_work(graph, limits)
        except FileRefusedError as error:
            raise error.public(path.name) from None
        return GraphModule.mir(graph)


FRONTEND = Mlp()


def parse(data: bytes) -> Table:
    """Return the file's document."""
    try:
        document: Table = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"expected JSON: {error}") from None
    return document


def build(document: Table, options: MlpOptions, source: str) -> Graph:
    """Return the graph of a document."""
    graph = Graph(source.removesuffix(".mlp"))
    size = get(document, "inputs", int)
    if size < 1:
        raise MalformedError(f"has {size} inputs, expected at least 1")
    quant = quantization(document)
    type_ = TensorType((options.batch, size), DType.I8, quant)
    x = graph.input("x", type_, origin=Origin(source, "inputs"))
    for place, layer in enumerate(get(document, "layers", list)):
        label = f"layer {place}"
        try:
            x, quant = dense(graph, x, quant, layer, Origin(source, label)), quantization(layer)
        except FileRefusedError as error:
            raise error.inside(label) from None
    graph.output(x, names=["y"])
    return graph


def dense(graph: Graph, x: Value, given: QuantParams, layer: Table, origin: Origin) -> Value:
    """Append one layer: ``activation(x @ w.T + bias)``, all in integers."""
    made = quantization(layer)
    w = integers(layer, "weights", np.int8)
    bias = integers(layer, "bias", np.int32)
    if w.ndim != 2 or bias.shape != w.shape[:1] or w.shape[1:] != x.type.shape[1:]:
        raise MalformedError(f"has weights {w.shape} and bias {bias.shape} behind {x.type.shape}")
    activation = get(layer, "activation", str)
    if activation not in ACTIVATIONS:
        raise UnsupportedError(
            f"has the activation {activation!r}", hint=f"use one of {', '.join(ACTIVATIONS)}"
        )
    (x_scale,), (x_zero,) = given.scale, given.zero_point
    (y_scale,), (y_zero,) = made.scale, made.zero_point
    check_accumulator(magnitudes(w), bias, x_zero)
    low, high = activation_bounds(*ACTIVATIONS[activation], y_scale, y_zero, DType.I8)
    op = QDense(
        x_zero_point=x_zero,
        rescale=linear_rescale(x_scale, [scale(layer, "weight_scale")], y_scale),
        zero_point=y_zero,
        low=low,
        high=high,
    )
    operands = (graph.constant(array, origin=origin) for array in (w, bias))
    return graph.apply(op, x, *operands, name=origin.location, quant=made, origin=origin)


def quantization(table: Table) -> QuantParams:
    """Return the scale and zero point of an input or a layer's result."""
    zero_point = get(table, "zero_point", int)
    if not -128 <= zero_point <= 127:
        raise MalformedError(f"'zero_point' is {zero_point}, expected -128 to 127")
    return QuantParams.per_tensor(scale(table, "scale"), zero_point)


def scale(table: Table, name: str) -> float:
    """Return a scale, rounded to float32 as TFLite stores it."""
    with np.errstate(over="ignore"):
        found = float(np.float32(get(table, name, float)))
    if not 0 < found < float("inf"):
        raise MalformedError(f"{name!r} is {found!r}, expected a finite number above 0")
    return found


def integers(table: Table, name: str, dtype: type[np.integer[Any]]) -> Array:
    """Return an array of integers that fit ``dtype``."""
    try:
        found = np.array(get(table, name, list))
    except ValueError:
        raise MalformedError(f"{name!r} has rows of different lengths") from None
    limits = np.iinfo(dtype)
    if found.dtype != np.int64 or found.min() < limits.min or found.max() > limits.max:
        raise MalformedError(f"{name!r} holds no integers from {limits.min} to {limits.max}")
    return found.astype(dtype)


def get(table: Table, name: str, kind: type[Any]) -> Any:  # noqa: ANN401 - of that type
    """Return an entry of a table that must be there and of a type."""
    if not isinstance(table, dict) or type(table.get(name)) is not kind:
        raise MalformedError(f"{name!r} is missing, or no {kind.__name__}")
    return table[name]
