"""Every number of the options with a range, at values just outside and far outside of it."""

from __future__ import annotations

from functools import partial

from malformed.case import Case, Refused
from malformed.tflite_models import CONV_OP, POOL_OP, set_options
from rlx.support.errors import FrontendError

_COUNT = {0: "expected at least 1", -1: "expected at least 1", -(2**31): "expected at least 1"}
_PADDING = {-1: "expected at least 0", 2: "expected at most 1", 127: "expected at most 1"}
_ACTIVATION = {-1: "expected at least 0", 6: "expected at most 5", -128: "expected at least 0"}

# Operator, field as the schema spells it, field as messages spell it, what each value wants.
_FIELDS = (
    (CONV_OP, "strideW", "stride_w", _COUNT),
    (CONV_OP, "strideH", "stride_h", _COUNT),
    (CONV_OP, "dilationWFactor", "dilation_w", _COUNT),
    (CONV_OP, "dilationHFactor", "dilation_h", _COUNT),
    (CONV_OP, "padding", "padding", _PADDING),
    (CONV_OP, "fusedActivationFunction", "activation", _ACTIVATION),
    (POOL_OP, "strideW", "stride_w", _COUNT),
    (POOL_OP, "strideH", "stride_h", _COUNT),
    (POOL_OP, "filterWidth", "filter_w", _COUNT),
    (POOL_OP, "filterHeight", "filter_h", _COUNT),
    (POOL_OP, "padding", "padding", _PADDING),
    (POOL_OP, "fusedActivationFunction", "activation", _ACTIVATION),
)

CASES: dict[str, Case] = {
    f"operator {operator} {shown} {value}": Refused(
        partial(set_options, operator, **{field: value}),
        FrontendError,
        f"subgraph 0, operator {operator}, options",
        f"{shown} is {value}, {wanted}",
    )
    for operator, field, shown, values in _FIELDS
    for value, wanted in values.items()
}
