"""Names, shapes and types that an ONNX file states, read one by one.

Tests: tests/unit/frontends/onnx/test_structure.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from rlx.frontends.onnx.elements import DTYPES, ELEMENTS
from rlx.frontends.onnx.texts import name_of, text_of
from rlx.frontends.refusal import (
    FileRefusedError,
    MalformedError,
    OverLimitError,
    UnsupportedError,
)
from rlx.support.limits import raise_hint
from rlx.support.text.names import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rlx.ir import DType
    from rlx.support.limits import Limits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Info:
    """Name and type of an input or output of the graph.

    Attributes:
        name: Its name.
        dtype: Element type; None where the file does not say it.
        shape: Numbers, names of symbols, or None for a dimension that is not named; None where
            the file does not say how many dimensions there are.
        refusal: Set if values of its kind cannot enter a graph.
    """

    name: str
    dtype: DType | None
    shape: tuple[int | str | None, ...] | None
    refusal: UnsupportedError | None = None

    @property
    def described(self) -> str:
        """Element type and shape for messages."""
        kind = self.dtype.value if self.dtype else "a value"
        if self.shape is None:
            return kind
        shape = ", ".join("?" if d is None else shorten(str(d), 24) for d in self.shape[:16])
        return f"{kind}[{shape}]"


def placed(where: str, read: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
    """Return ``read(*arguments)``; a refusal names the place."""
    try:
        return read(*arguments)
    except FileRefusedError as error:
        raise error.inside(where) from None


def check_shape(
    shape: Sequence[int | str | None], limits: Limits, *, elements: bool = True
) -> None:
    """Check the numbers of a shape that a file claims.

    Raises:
        MalformedError: There are too many dimensions, or one is negative or too large.
    """
    if len(shape) > limits.rank:
        raise OverLimitError(
            f"has {len(shape)} dimensions; the limit is {limits.rank}",
            hint=raise_hint("rank", len(shape)),
        )
    count = 1
    for size in shape:
        if not isinstance(size, int):
            continue
        if size < 0:
            raise MalformedError(f"has the shape {list(shape)}, expected dimensions of at least 0")
        if size > limits.dimension:
            raise OverLimitError(
                f"has the shape {list(shape)}; the limit is {limits.dimension} a dimension",
                hint=raise_hint("dimension", size),
            )
        count *= size
    if elements and count > limits.elements:
        raise OverLimitError(
            f"has the shape {list(shape)}, {count} elements; the limit is {limits.elements}",
            hint=raise_hint("elements", count),
        )


def read_infos(what: str, values: Iterable[Any]) -> tuple[Info, ...]:
    """Return a file's declarations of inputs or outputs; ``what`` is their name in messages."""
    return tuple(placed(f"{what} {place}", _info, value) for place, value in enumerate(values))


def _info(value: Any) -> Info:  # noqa: ANN401
    kind, name = value.type.WhichOneof("value"), name_of(value.name)
    if not name:
        raise MalformedError("has no name")
    if kind not in (None, "tensor_type"):
        other = UnsupportedError(
            f"'{shorten(text_of(name))}' is a {kind.removesuffix('_type')}, expected a tensor",
            hint="make inputs and outputs tensors: rlx has no other values",
        )
        return Info(name, None, None, other)
    tensor_type = value.type.tensor_type
    dtype: DType | None = None
    refusal: UnsupportedError | None = None
    if tensor_type.elem_type:
        dtype = DTYPES.get(tensor_type.elem_type)
        if dtype is None:
            known = ELEMENTS.get(
                tensor_type.elem_type, f"an unknown type ({tensor_type.elem_type})"
            )
            refusal = UnsupportedError(
                f"'{shorten(text_of(name))}' holds {known}, which rlx does not model",
                hint="use float, integer or boolean tensors",
            )
    shape = (
        tuple(_dimension(d) for d in tensor_type.shape.dim)
        if tensor_type.HasField("shape")
        else None
    )
    return Info(name, dtype, shape, refusal)


def _dimension(dim: Any) -> int | str | None:  # noqa: ANN401
    match dim.WhichOneof("value"):
        case "dim_value":
            return int(dim.dim_value)
        case "dim_param" if dim.dim_param:
            return text_of(dim.dim_param)
    return None
