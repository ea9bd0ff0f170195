"""NumPy's functions on traced tensors: ``np.exp(x)``, ``np.where(c, x, y)``, ``array + x``.

Each appends the ops of the method or operator that does the same. What has none is refused with
the names of those that there are.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from rlx.ops import real
from rlx.ops.expression import Expression
from rlx.support.text.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np

    from rlx.ops.reductions import AxisLike
    from rlx.tracing.tensor import Tensor

_METHODS: Final = {
    "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "sqrt": "sqrt",
    "tanh": "tanh", "sin": "sin", "cos": "cos", "tan": "tan", "arctan": "atan", "floor": "floor",
    "ceil": "ceil", "rint": "round", "sign": "sign", "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
"""Methods of tensors by the name of the ufunc that does the same."""

_UFUNCS: Final[dict[str, Callable[..., Any]]] = {
    "matmul": operator.matmul, "invert": operator.invert,
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "negative": operator.neg,
    "positive": lambda x: x, "absolute": operator.abs, "square": lambda x: x * x,
    "reciprocal": lambda x: 1 / x, "isnan": lambda x: x != x,
    "arcsin": lambda x: x.apply(real.RealAsin()), "arccos": lambda x: x.apply(real.RealAcos()),
    "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "equal": operator.eq, "not_equal": operator.ne,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "logical_and": operator.and_, "logical_or": operator.or_, "logical_xor": operator.xor,
    "logical_not": operator.invert, "left_shift": operator.lshift, "right_shift": operator.rshift,
}  # fmt: skip
"""Functions of tensors by the name of the ufunc that does the same."""


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401 - as NumPy declares it
    """Return the tensor for a call of a ufunc.

    Raises:
        TypeError: No op does the same, or the call has arguments of an array that exists.
    """
    name = ufunc.__name__
    if method != "__call__":
        raise TypeError(f"np.{name}.{method} takes no tensor of rlx; methods do, such as x.sum(0)")
    if kwargs:
        raise TypeError(f"np.{name} of a tensor of rlx takes no argument {next(iter(kwargs))!r}")
    tensor = _first_tensor(inputs)
    first = tensor.lift(inputs[0])
    if name in _METHODS:
        return getattr(first, _METHODS[name])(*inputs[1:])
    if name in _UFUNCS:
        return _UFUNCS[name](first, *inputs[1:])
    raise _unknown(name, [*_METHODS, *_UFUNCS])


def call_function(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401 - as NumPy declares it
    """Return the tensor for a call of one of NumPy's other functions.

    Raises:
        TypeError: No op does the same.
    """
    name = function.__name__
    if name not in _FUNCTIONS:
        # Such as linalg.norm, of numpy.linalg.
        module = function.__module__.removeprefix("numpy").removeprefix(".")
        raise _unknown(f"{module}.{name}" if module else name, _FUNCTIONS)
    return _FUNCTIONS[name](*args, **kwargs)


def _unknown(name: str, known: Iterable[str]) -> TypeError:
    hint = did_you_mean(name, sorted(known), what="functions that take one")
    return TypeError(f"np.{name} takes no tensor of rlx; {hint}")


def _first_tensor(operands: Iterable[Any]) -> Tensor:
    return next(operand for operand in operands if isinstance(operand, Expression))  # type: ignore[return-value]


def _where(condition: Any, x: Any, y: Any) -> Tensor:  # noqa: ANN401 - tensors, arrays, numbers
    like = _first_tensor((x, y, condition))
    return like.lift(x).where(condition, y)


def _joined(parts: Sequence[Any], axis: int = 0) -> Tensor:
    like = _first_tensor(parts)
    first, *rest = (like.lift(part) for part in parts)
    return first.concat(*rest, axis=axis)


def _stacked(parts: Sequence[Any], axis: int = 0) -> Tensor:
    like = _first_tensor(parts)
    return _joined([like.lift(part).expand_dims(axis) for part in parts], axis)


def _reduced(method: str) -> Callable[..., Tensor]:
    """Return a reduction with NumPy's arguments."""

    def reduce(x: Tensor, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
        result: Tensor = getattr(x, method)(axis=axis, keepdims=keepdims)
        return result

    return reduce


def _clipped(x: Tensor, low: Any = None, high: Any = None) -> Tensor:  # noqa: ANN401 - operands
    result = x if low is None else x.maximum(low)
    return result if high is None else result.minimum(high)


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "broadcast_to": lambda x, shape: x.broadcast_to(*shape),
    "clip": _clipped,
    "concatenate": _joined,
    "expand_dims": lambda a, axis: a.expand_dims(axis),
    "max": _reduced("max"), "amax": _reduced("max"), "mean": _reduced("mean"),
    "min": _reduced("min"), "amin": _reduced("min"), "ndim": lambda a: a.ndim,
    "prod": _reduced("prod"),
    "reshape": lambda a, shape: a.reshape(*([shape] if isinstance(shape, int) else shape)),
    "shape": lambda a: a.shape,
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "stack": _stacked,
    "sum": _reduced("sum"),
    "transpose": lambda a, axes=(): a.transpose(*(axes or ())),
    "where": _where,
}  # fmt: skip
"""Functions of tensors by the name of NumPy's function that does the same."""
