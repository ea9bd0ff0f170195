"""The arithmetic of ``rlx.ops.rescale``, refusing in the words of frontends.

Any frontend of integer files uses it. Functions, arguments and results are those of
``rlx.ops.rescale``, the only definition; a ``ScaleError`` of it becomes one of the errors of
``rlx.frontends.refusal``, which gather the place in the file.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from rlx.frontends.refusal import MalformedError, UnsupportedError
from rlx.ops import rescale
from rlx.ops.rescale import Bounds, RangeError, ScaleError, SoftmaxScaling, SumScaling

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Bounds",
    "SoftmaxScaling",
    "SumScaling",
    "activation_bounds",
    "check_accumulator",
    "check_wide_sums",
    "fitted_rescale",
    "linear_rescale",
    "quantized",
    "rescale_of",
    "rounded_rescale",
    "softmax_scaling",
    "square_scaling",
    "sum_scaling",
]

ArgumentsP = ParamSpec("ArgumentsP")
ResultT = TypeVar("ResultT")


def _of_a_file(function: Callable[ArgumentsP, ResultT]) -> Callable[ArgumentsP, ResultT]:
    """Return a function that refuses as readers of files do.

    An activation whose range is beyond all quantized values contradicts its file; other scales may
    be valid, but exceed the limits of rlx.
    """

    @wraps(function)
    def refusing(*args: ArgumentsP.args, **kwargs: ArgumentsP.kwargs) -> ResultT:
        try:
            return function(*args, **kwargs)
        except RangeError as e:
            raise MalformedError(e.message, hint=e.own_hint) from None
        except ScaleError as e:
            raise UnsupportedError(e.message, hint=e.own_hint) from None

    return refusing


rescale_of = _of_a_file(rescale.rescale_of)
linear_rescale = _of_a_file(rescale.linear_rescale)
rounded_rescale = _of_a_file(rescale.rounded_rescale)
sum_scaling = _of_a_file(rescale.sum_scaling)
square_scaling = _of_a_file(rescale.square_scaling)
fitted_rescale = _of_a_file(rescale.fitted_rescale)
softmax_scaling = _of_a_file(rescale.softmax_scaling)
quantized = _of_a_file(rescale.quantized)
activation_bounds = _of_a_file(rescale.activation_bounds)
check_accumulator = _of_a_file(rescale.check_accumulator)
check_wide_sums = _of_a_file(rescale.check_wide_sums)
