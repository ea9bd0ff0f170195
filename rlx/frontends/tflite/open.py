"""Files whose shapes are open: shapes of the inputs, from the file and from the user.

Converters mark dimensions that they do not know with -1 in a tensor's ``shape_signature``, and
store a placeholder, mostly 1, in its shape. An interpreter recomputes the shapes of values after
the inputs, and so do importers here (``Call.shaped``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rlx.frontends.onnx.options import shapes_by_name
from rlx.frontends.refusal import UnsupportedError
from rlx.support.text.names import shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx.frontends.tflite.file import Model, Tensor

Shape = tuple[int, ...]


def bound(model: Model, shapes: Sequence[tuple[str, Shape]]) -> Model:
    """Return a model whose inputs have the shapes from the user.

    An open first dimension is the batch: 1 unless it was given. Other placeholders are used
    unchanged where they are more than 1.

    Raises:
        UnsupportedError: A shape does not fit its input, or one is missing.
    """
    inputs = [model.tensors[i] for i in model.inputs]
    shape_by_input = shapes_by_name(tuple(shapes), [t.name for t in inputs])
    names = ", ".join(shorten(t.name) for t in inputs)
    for name in shape_by_input.keys() - {t.name for t in inputs}:
        raise UnsupportedError(
            f"unknown input '{shorten(name)}' in the input shapes", hint=f"inputs: {names}"
        ).inside("subgraph 0")
    tensors = list(model.tensors)
    for position, tensor in enumerate(inputs):
        try:
            shape = _shape(tensor, shape_by_input.get(tensor.name))
        except UnsupportedError as error:
            raise error.inside(f"graph input {position}") from None
        tensors[tensor.index] = replace(tensor, shape=shape)
    return replace(model, tensors=tuple(tensors))


def _shape(tensor: Tensor, shape: Shape | None) -> Shape:
    """Return the shape of an input."""
    signature = tensor.signature or tensor.shape
    if shape is None:
        unknown = [d == -1 and n == 1 for d, n in zip(signature, tensor.shape, strict=False)]
        if any(unknown[1:]) or len(signature) != len(tensor.shape):
            raise UnsupportedError(
                f"{tensor.label} has the shape {_dims_text(signature)}: the file leaves dimensions "
                "open",
                hint=f"give it: --input-shape {_example(tensor)}",
            )
        return tensor.shape
    pairs = zip(signature, shape, strict=False)
    if len(signature) != len(shape) or not all(d in (-1, n) and n > 0 for d, n in pairs):
        raise UnsupportedError(
            f"the shape {'x'.join(map(str, shape))} does not fit {tensor.label}, whose shape is "
            f"{_dims_text(signature)}",
            hint="give numbers for the dimensions with a question mark, and keep the others",
        )
    return shape


def _dims_text(signature: Shape) -> str:
    return f"[{', '.join('?' if d == -1 else str(d) for d in signature)}]"


def _example(tensor: Tensor) -> str:
    """Return a shape in the form of the option, 16 for unknown dimensions."""
    sizes = [16 if d == -1 else d for d in tensor.signature]
    if tensor.signature[0] == -1:
        sizes[0] = 1
    return f"{tensor.name}={'x'.join(map(str, sizes))}"
