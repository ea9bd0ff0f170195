"""The real numbers that the arrays of samples stand for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlx.calibration import compare

if TYPE_CHECKING:
    import numpy.typing as npt

    from rlx.ir import TensorType


def reals(array: npt.NDArray[Any], type_: TensorType) -> npt.NDArray[Any]:
    """Return the numbers that ``[samples, *shape]`` stand for, as float64; others as they are.

    A leading dimension of 1 that the type has is that of the samples.
    """
    quant = type_.quant
    if quant is not None and quant.axis is not None and type_.shape[:1] != (1,):
        quant = replace(quant, axis=quant.axis + 1)
    return compare.reals(array, quant)
