"""The inputs of an ONNX graph, with the user's options for them, and its outputs.

Tests: tests/unit/frontends/onnx/test_branches.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rlx.frontends.onnx.infos import Info
from rlx.frontends.onnx.ops import Real, Scope
from rlx.frontends.onnx.options import shapes_by_name
from rlx.frontends.onnx.order import needed
from rlx.frontends.open_shapes import OpenInput, shape_hint
from rlx.frontends.refusal import FileRefusedError, MalformedError, UnsupportedError
from rlx.ir import Dim, DType, Origin, TensorType
from rlx.ops.real.cast import integer_range
from rlx.support.text.names import printable, shorten
from rlx.support.text.suggest import closest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlx.frontends.onnx.file import Model
    from rlx.frontends.onnx.options import OnnxOptions
    from rlx.frontends.open_shapes import DimensionSizes
    from rlx.ir import Shape


def cut(model: Model, options: OnnxOptions) -> Model:
    """Return a checked model with the outputs that the user named, and only the nodes for these.

    Raises:
        UnsupportedError: There is no such value.
    """
    if not options.outputs:
        return model
    known = {
        *(name for node in model.nodes for name in node.outputs if name),
        *(i.name for i in model.inputs), *model.tensors,
    }  # fmt: skip
    for name in options.outputs:
        if name not in known:
            near = closest(name, known)
            hint = f"did you mean {shorten(printable(near))!r}?" if near else _values(model)
            raise UnsupportedError(
                f"unknown value '{shorten(printable(name))}' as an output", hint=hint
            ).inside("graph")
    nodes = needed(model.nodes, options.outputs)
    read = frozenset(options.outputs).union(*(n.reads for n in nodes))
    stated = {info.name: info for info in model.outputs}
    return replace(
        model,
        nodes=nodes,
        inputs=tuple(i for i in model.inputs if i.name in read),
        outputs=tuple(stated.get(n, Info(n, None, None)) for n in options.outputs),
    )


def _values(model: Model) -> str:
    """Return the names of some values at the end of a model."""
    names = [n for node in model.nodes[-8:] for n in node.outputs if n]
    return f"the last values: {', '.join(shorten(printable(n)) for n in names)}"


def add_inputs(scope: Scope, options: OnnxOptions, sizes: DimensionSizes | None) -> None:
    """Put a model's inputs into its graph, or constants where the user specified a value."""
    values = dict(options.input_value)
    open_names = [i.name for i in scope.model.inputs if i.name not in values]
    shapes = shapes_by_name(options.input_shape, open_names)
    for name in (*values, *shapes):
        _require_input(scope.model, name)
    known = _bindings(scope.model, options, shapes, sizes)
    names = distinct(printable(i.name) for i in scope.model.inputs)
    for position, (info, name) in enumerate(zip(scope.model.inputs, names, strict=True)):
        try:
            type_ = _input_type(info, shapes, known)
            if info.name in values:
                scope.values[info.name] = _input_constant(info, type_, values[info.name])
                continue
        except FileRefusedError as error:
            raise error.inside(f"graph input {position}") from None
        origin = Origin(scope.model.source, f"input {position}")
        value = scope.graph.input(name, type_, origin=origin)
        scope.values[info.name] = Real(scope, value, None)


def open_inputs(model: Model, excluded: Iterable[str] = ()) -> list[OpenInput]:
    """Return the inputs whose shape the file states, but for those in ``excluded``."""
    return [
        OpenInput(info.name, tuple(_label(info, a, d) for a, d in enumerate(info.shape)))
        for info in model.inputs
        if info.shape is not None and info.name not in excluded
    ]


def _label(info: Info, axis: int, dim: int | str | None) -> int | str:
    """Return a dimension; one without a name gets that of the input, and its place."""
    return f"{printable(info.name)}_{axis}" if dim is None else dim


def _require_input(model: Model, name: str) -> None:
    if not any(i.name == name for i in model.inputs):
        known = ", ".join(shorten(printable(i.name)) for i in model.inputs)
        raise UnsupportedError(
            f"unknown input '{shorten(printable(name))}' in the input shapes or values",
            hint=f"inputs: {known or 'none'}",
        ).inside("graph")


def _bindings(
    model: Model,
    options: OnnxOptions,
    shapes: Mapping[str, tuple[int, ...]],
    sizes: DimensionSizes | None,
) -> dict[str, int]:
    """Return the sizes of names that follow from the shapes from the user."""
    known: dict[str, int] = {}
    for info in model.inputs:
        if info.name in shapes:
            _bind(info, shapes[info.name], known)
    if sizes is not None:
        sizes.channels_last = options.channels_last
        fixed_inputs = {*shapes, *dict(options.input_value)}
        opened = [
            OpenInput(i.name, tuple(known.get(str(d), d) for d in i.dims))
            for i in open_inputs(model, fixed_inputs)
        ]
        known = {**sizes.fix(opened), **known}
    return known


def _bind(info: Info, shape: tuple[int, ...], known: dict[str, int]) -> None:
    """Bind the symbols of an input's shape to the given sizes."""
    if info.shape is None:
        return
    pairs = list(zip(info.shape, shape, strict=False))
    fits = len(info.shape) == len(shape) and all(
        d == n if isinstance(d, int) else d is None or known.setdefault(d, n) == n for d, n in pairs
    )
    if not fits:
        shape_text = "x".join(map(str, shape))
        raise UnsupportedError(
            f"the shape {shape_text} does not fit the input '{shorten(printable(info.name))}', "
            f"{info.described}",
            hint="give numbers for the dimensions that have names, and keep the others",
        ).inside("graph")


def _input_type(
    info: Info, shapes: dict[str, tuple[int, ...]], known: dict[str, int]
) -> TensorType:
    """Return the type of a graph input; a named dimension stays a symbol."""
    if info.refusal is not None:
        raise info.refusal
    if info.dtype is None:
        raise MalformedError(f"'{shorten(printable(info.name))}' has no element type")
    if info.name in shapes:
        return TensorType(shapes[info.name], info.dtype)
    if info.shape is None:
        example = OpenInput(info.name, (1, 3, 224, 224))
        raise UnsupportedError(
            f"'{shorten(printable(info.name))}' has no shape", hint=shape_hint([example])
        )
    named: Shape = tuple(
        d if isinstance(d, int) else _symbol(info, axis, d, known)
        for axis, d in enumerate(info.shape)
    )
    return TensorType(named, info.dtype)


def _symbol(info: Info, axis: int, dim: str | None, known: dict[str, int]) -> int | Dim:
    label = str(_label(info, axis, dim))
    return known[label] if label in known else Dim(label)


def _input_constant(
    info: Info, type_: TensorType, number: float
) -> np.ndarray[tuple[int, ...], np.dtype]:
    """Return the constant for an input, each element the number from the user."""
    input_name = shorten(printable(info.name))
    if not type_.is_static:
        raise UnsupportedError(
            f"the value of '{input_name}' has dimensions without a size",
            hint=shape_hint(open_inputs_of(info)),
        )
    dtype = type_.dtype
    low, high = (0, 1) if dtype is DType.BOOL else (
        integer_range(dtype) if dtype.is_integer else (-np.inf, np.inf)
    )  # fmt: skip
    whole = dtype.is_float or float(number).is_integer()
    if not (whole and low <= number <= high):
        raise UnsupportedError(
            f"'{input_name}' is {dtype.value}, which cannot hold {number:g}",
            hint="give --input-value a number of the input's element type",
        )
    exact = number if dtype.is_float else int(number)
    return np.full(type_.static_shape, exact, dtype.numpy)


def open_inputs_of(info: Info) -> list[OpenInput]:
    """Return one input, whose shape is known to be stated, as messages show it."""
    shape: Sequence[int | str | None] = info.shape or ()
    return [OpenInput(info.name, tuple(_label(info, a, d) for a, d in enumerate(shape)))]


def distinct(names: Iterable[str]) -> list[str]:
    """Return names with a number added to those that occurred before."""
    names_so_far: dict[str, None] = {}
    for name in names:
        candidate, count = name, 1
        while candidate in names_so_far:
            count += 1
            candidate = f"{name}_{count}"
        names_so_far[candidate] = None
    return list(names_so_far)
