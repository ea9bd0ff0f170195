"""Checks of a TFLite graph that go beyond the range of single fields.

Each check walks lists once: no recursion, no allocation that depends on a claimed size.

Tests: tests/unit/frontends/tflite/test_mutations.py
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.refusal import FileRefusedError, MalformedError, OverLimitError, UnsupportedError
from rlx.frontends.tflite.schema import ELEMENT_BITS, VALUE_RANGE, TensorType
from rlx.frontends.tflite.unknown import RECURRENT
from rlx.support.limits import raise_hint

if TYPE_CHECKING:
    from rlx.frontends.tflite.file import Model, Operator, Tensor
    from rlx.support.limits import Limits


def check(model: Model, limits: Limits) -> None:
    """Check a model whose indices are known to be in range.

    Raises:
        MalformedError: The graph contradicts itself or is over a limit.
        UnsupportedError: It uses a feature that rlx does not read.
    """
    for subgraph in (model, *model.called.values()):
        _check_tensors(subgraph, limits)
    _check_operands(model, limits)
    check_constants(model, limits)
    _check_computed(model, limits)
    try:
        _check_order(model)
    except FileRefusedError as error:
        raise error if error.path else error.inside("subgraph 0") from None


def _check_tensors(model: Model, limits: Limits) -> None:
    read = {i for o in model.operators if o.name not in RECURRENT for i in (*o.inputs, *o.outputs)}
    read.update(model.inputs, model.outputs)
    for tensor in _used(model):
        try:
            _check_shape(tensor, limits)
            _check_data(tensor)
            _check_quantization(tensor, is_read=tensor.index in read)
        except FileRefusedError as error:
            raise error.inside(tensor.label) from None


def _used(model: Model) -> list[Tensor]:
    """Return the tensors that the graph names; others are ignored."""
    named = {*model.inputs, *model.outputs}
    for operator in model.operators:
        named.update(operator.inputs, operator.outputs)
    return [tensor for tensor in model.tensors if tensor.index in named]


def _check_operands(model: Model, limits: Limits) -> None:
    for operator in model.operators:
        count = max(len(operator.inputs), len(operator.outputs))
        if count > limits.operands:
            raise OverLimitError(
                f"has {count} inputs or outputs; the limit is {limits.operands}",
                hint=raise_hint("operands", count),
            ).inside(operator.label)


def _check_shape(tensor: Tensor, limits: Limits) -> None:
    shape = list(tensor.shape)
    if len(shape) > limits.rank:
        raise OverLimitError(
            f"has {len(shape)} dimensions; the limit is {limits.rank}",
            hint=raise_hint("rank", len(shape)),
        )
    if -1 in shape:
        raise UnsupportedError(
            f"has the shape {shape}: -1 is only known at run time",
            hint="convert with fixed input shapes",
        )
    if any(d < (tensor.data is None or len(tensor.data) > 0) for d in shape):
        raise MalformedError(f"has the shape {shape}, expected dimensions of at least 1")
    if any(d > limits.dimension for d in shape):
        raise OverLimitError(
            f"has the shape {shape}; the limit is {limits.dimension} a dimension",
            hint=raise_hint("dimension", max(shape)),
        )
    # How large a constant may be is a matter of bytes: see check_constants.
    if tensor.data is None and math.prod(shape) > limits.elements:
        raise OverLimitError(
            f"has the shape {shape}, {math.prod(shape)} elements; the limit is {limits.elements}",
            hint=raise_hint("elements", math.prod(shape)),
        )


def _check_data(tensor: Tensor) -> None:
    if tensor.type not in ELEMENT_BITS or tensor.sparsity is not None:
        return
    byte_count = (math.prod(tensor.shape) * ELEMENT_BITS[tensor.type] + 7) // 8
    if tensor.data is not None and len(tensor.data) != byte_count:
        # A buffer that is too long may be read, but which bytes are meant is a guess.
        refused = UnsupportedError if len(tensor.data) > byte_count else MalformedError
        raise refused(
            f"is {tensor.described}, which takes {byte_count} bytes, "
            f"but buffer {tensor.buffer} has {len(tensor.data)}",
            hint="convert the model again: shape, element type and data must fit",
        )


def _check_quantization(tensor: Tensor, *, is_read: bool) -> None:
    """Check scales and zero points of activations; of other tensors nothing reads them.

    A channel of weights that are all 0 may have the scale 0, and a tensor that only recurrent
    layers name: their importers check those that they read (``quant_of``).
    """
    quantization = tensor.quantization
    if quantization is None or tensor.type not in _ACTIVATION_TYPES:
        return
    above = quantization.scale > 0 if tensor.data is None and is_read else quantization.scale >= 0
    bad = ~(np.isfinite(quantization.scale) & above)
    if bad.any():
        channel = int(bad.argmax())
        raise MalformedError(
            f"has the scale {float(quantization.scale[channel])!r} (number {channel}), "
            "expected a finite number above 0",
            hint="quantize the model again with samples in which this tensor is not constant",
        )
    low, high = VALUE_RANGE[tensor.type]
    bad = (quantization.zero_point < low) | (quantization.zero_point > high)
    if bad.any():
        point = int(quantization.zero_point[bad.argmax()])
        raise MalformedError(
            f"has the zero point {point}, expected {low} to {high}",
            hint="quantize the model again: the zero point must be in the range of its type",
        )


_ACTIVATION_TYPES = (
    TensorType.INT8,
    TensorType.UINT8,
    TensorType.INT16,
    TensorType.INT4,
    TensorType.INT2,
)


def check_constants(model: Model, limits: Limits) -> None:
    """Check the bytes of all constants that the graph names.

    Raises:
        OverLimitError: They are over the limit.
    """
    used = (t for subgraph in (model, *model.called.values()) for t in _used(subgraph))
    total = sum(len(t.data) for t in used if t.data is not None)
    if total > limits.constant_bytes:
        error = OverLimitError(
            f"the constants take {total} bytes together; the limit is {limits.constant_bytes}",
            hint=raise_hint("constant_bytes", total),
        )
        raise error.inside("buffers")


def _check_computed(model: Model, limits: Limits) -> None:
    """Check the elements of everything that operators compute."""
    total, label = 0, ""
    for operator in model.operators:
        total += sum(math.prod(model.tensors[i].shape) for i in operator.outputs)
        if total > limits.total_elements and not label:
            label = operator.label
    if label:
        error = OverLimitError(
            f"the computed tensors have {total} elements together; "
            f"the limit is {limits.total_elements}",
            hint=raise_hint("total_elements", total),
        )
        raise error.inside(label)


def _check_order(model: Model) -> None:
    """Check that every tensor is written once, before it is read (so there is no cycle)."""
    _check_inputs(model)
    writers = {output: o for o in model.operators for output in o.outputs}
    defined = {t.index for t in model.tensors if t.data is not None} | set(model.inputs)
    defined.update(t.index for t in model.tensors if t.is_variable and t.index not in writers)
    for operator in model.operators:
        try:
            _check_operator(model, operator, defined, writers)
        except FileRefusedError as error:
            raise error.inside(operator.label) from None
        defined.update(operator.outputs)
    if not model.outputs:
        raise MalformedError("the graph has no outputs")
    for position, output in enumerate(model.outputs):
        if output not in defined:
            raise MalformedError(
                f"graph output {position} is {model.tensors[output].label}, which nothing writes"
            )


def _check_inputs(model: Model) -> None:
    if not model.inputs:
        raise UnsupportedError(
            "the graph has no inputs", hint="a model without inputs computes a constant: store that"
        )
    if len(set(model.inputs)) != len(model.inputs):
        raise UnsupportedError(
            "a tensor is listed twice among the graph inputs",
            hint="list every input once and read it twice",
        )
    for position, index in enumerate(model.inputs):
        tensor = model.tensors[index]
        if tensor.data is not None:
            raise UnsupportedError(
                f"graph input {position} is {tensor.label}, which is a constant",
                hint="take the constant out of the list of inputs",
            )


# Their effect is on variables and tables.
_WITHOUT_OUTPUTS = ("ASSIGN_VARIABLE", "CALL_ONCE", "HASHTABLE_IMPORT")


def _check_operator(
    model: Model, operator: Operator, defined: set[int], writers: dict[int, Operator]
) -> None:
    for position, index in enumerate(operator.inputs):
        if index == -1 or index in defined:
            continue
        label, writer = model.tensors[index].label, writers.get(index)
        if writer is None:
            raise MalformedError(f"input {position} is {label}, which nothing writes")
        raise MalformedError(
            f"input {position} is {label}, which is written by {writer.label}: "
            "a cycle, or operators out of order"
        )
    name = operator.name
    if not operator.outputs and name not in _WITHOUT_OUTPUTS and not name.startswith("CUSTOM "):
        raise MalformedError("has no outputs")
    if len(set(operator.outputs)) != len(operator.outputs):
        raise MalformedError("writes a tensor twice")
    for position, index in enumerate(operator.outputs):
        if index in defined:
            raise MalformedError(
                f"output {position} is {model.tensors[index].label}, "
                "which is an input, a constant or written before"
            )
