"""Functions of one value that are tables on int8: magnitudes, roots, exponentials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from rlx.frontends.refusal import UnsupportedError
from rlx.frontends.tflite.ops.importers import importer
from rlx.frontends.tflite.ops.table import SCALES_HINT, check_ratio, finish_table
from rlx.ops.numerics import functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rlx.frontends.tflite.ops.call import Call
    from rlx.ops.numerics.activations import Table

    Tabulate = Callable[[float, int, float, int], Table]


@importer("ABS")
def import_abs(call: Call) -> None:
    """``ABS``, which may change scale and zero point."""
    check_ratio(call.quant(0), call.result_quant)
    _tabulate(call, functions.abs_table)


@importer("ELU")
def import_elu(call: Call) -> None:
    """``ELU``."""
    _tabulate(call, _REAL["ELU"])


@importer("EXP", "LOG")
def import_exponential(call: Call) -> None:
    """``EXP`` and ``LOG``: the bits of LiteRT, as TensorFlow Lite Micro refuses int8."""
    _tabulate(call, _REAL[call.operator.name])


@importer("GELU")
def import_gelu(call: Call) -> None:
    """``GELU``, exact or by tanh: the bits of LiteRT, as TensorFlow Lite Micro has no such op."""
    name = "GELU by tanh" if call.options["approximate"] else "GELU"
    _tabulate(call, _REAL[name])


@importer("SQRT")
def import_sqrt(call: Call) -> None:
    """``SQRT``: the bits of LiteRT, which truncates; the root of a negative value is 0."""
    _tabulate(call, functions.sqrt_table)


@importer("RSQRT")
def import_rsqrt(call: Call) -> None:
    """``RSQRT``; negative values, which the interpreter refuses, have the result of 0."""
    factor = functions.rsqrt_factor(call.quant(0).real, call.result_quant.real)
    if not _ROOT_RANGE[0] <= factor < _ROOT_RANGE[1]:
        raise UnsupportedError(
            f"has the scales {call.quant(0).real!r} and {call.result_quant.real!r}, outside of "
            f"the fixed point",
            hint=SCALES_HINT,
        )
    _tabulate(call, functions.rsqrt_table)


@importer("NEG", "SQUARE")
def import_nearest(call: Call) -> None:
    """``NEG`` and ``SQUARE``: the nearest values; LiteRT ignores the zero point or refuses int8."""
    _tabulate(call, _REAL[call.operator.name])


_ROOT_RANGE: Final = (2.0**-11, 2.0**30)
"""Factors for which ``rsqrt_table`` shifts by less than 32 bits."""

_REAL: Final[Mapping[str, Tabulate]] = {
    name: partial(functions.real_table, function)
    for name, function in {
        "ELU": functions.elu,
        "EXP": functions.exp,
        "GELU": functions.gelu,
        "GELU by tanh": functions.gelu_by_tanh,
        "LOG": functions.log,
        "NEG": functions.neg,
        "SQUARE": functions.square,
    }.items()
}


def _tabulate(call: Call, tabulate: Tabulate) -> None:
    """Append a table."""
    call.arity(1)
    x, result = call.quant(0), call.result_quant
    table = tabulate(x.real, x.zero_point, result.real, result.zero_point)
    finish_table(call, table, call.operator.name.lower())
