"""Operators with state, control flow and custom operators: named, with what to do."""

from __future__ import annotations

from malformed.case import Case, Refused
from malformed.tflite_models import CONV, set_code, set_tensor
from malformed.tflite_oddities import no_outputs, variable, variable_output
from rlx.support.errors import FrontendError, UnsupportedOpError

CASES: dict[str, Case] = {
    "LSTM": Refused(
        lambda: set_code(16),
        UnsupportedOpError,
        "operator 4 LSTM",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 LSTM 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is a recurrent layer with its own state, which rlx does not support yet"
        ),
    ),
    "BIDIRECTIONAL_SEQUENCE_LSTM": Refused(
        lambda: set_code(52),
        UnsupportedOpError,
        "operator 4 BIDIRECTIONAL_SEQUENCE_LSTM",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 BIDIRECTIONAL_SEQUENCE_LSTM 'probability' (int8[1, 5] -> "
            "int8[1, 5])\n"
            "    why  is a recurrent layer with its own state, which rlx does not support yet"
        ),
    ),
    "UNIDIRECTIONAL_SEQUENCE_RNN": Refused(
        lambda: set_code(35),
        UnsupportedOpError,
        "operator 4 UNIDIRECTIONAL_SEQUENCE_RNN",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 UNIDIRECTIONAL_SEQUENCE_RNN 'probability' (int8[1, 5] -> "
            "int8[1, 5])\n"
            "    why  is a recurrent layer with its own state, which rlx does not support yet"
        ),
    ),
    "IF": Refused(
        lambda: set_code(118),
        UnsupportedOpError,
        "operator 4 IF",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 IF 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is control flow, which rlx does not import"
        ),
    ),
    "WHILE": Refused(
        lambda: set_code(119),
        UnsupportedOpError,
        "operator 4 WHILE",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 WHILE 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is control flow, which rlx does not import"
        ),
    ),
    "FAKE_QUANT": Refused(
        lambda: set_code(80),
        UnsupportedOpError,
        "operator 4 FAKE_QUANT",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 FAKE_QUANT 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is only there to train"
        ),
    ),
    "custom operator without a name": Refused(
        lambda: set_code(32),
        UnsupportedOpError,
        "operator 4 CUSTOM ''",
        (
            "1 of 5 operators cannot be imported\n"
            "  operator 4 CUSTOM '' 'probability' (int8[1, 5] -> int8[1, 5])\n"
            "    why  is a custom operator, which only the program that registered it "
            "can run"
        ),
    ),
    "variable that is never assigned": Refused(
        lambda: variable(assigned=False),
        UnsupportedOpError,
        "variable 'v'",
        "the variable is read, but never assigned",
    ),
    "variable that begins with different elements": Refused(
        lambda: variable(initial=(1, 2, 3)),
        UnsupportedOpError,
        "operator 0 CALL_ONCE",
        "operator 1 ASSIGN_VARIABLE of the subgraph assigns different elements or a fraction, "
        "expected one integer for the whole variable",
    ),
    "variable that begins with a computed value": Refused(
        lambda: variable(initial=None),
        UnsupportedOpError,
        "operator 0 CALL_ONCE",
        "operator 1 ASSIGN_VARIABLE of the subgraph assigns int8[3], expected a constant of int8, "
        "float32 or int32",
    ),
    "call of a subgraph that computes": Refused(
        lambda: variable(extra="RELU"),
        UnsupportedOpError,
        "operator 0 CALL_ONCE",
        "operator 0 RELU of the subgraph computes, expected ASSIGN_VARIABLE of constants",
    ),
    "call of a subgraph that is not there": Refused(
        lambda: variable(called=2),
        FrontendError,
        "operator 0 CALL_ONCE",
        "calls subgraph 2, but there are 2",
    ),
    "call after a variable was read": Refused(
        lambda: variable(late=True),
        UnsupportedOpError,
        "operator 4 CALL_ONCE",
        "comes after a variable was used, expected it before",
    ),
    "variable that is read in another shape": Refused(
        lambda: variable(shape=(1, 4)),
        FrontendError,
        "operator 4 ASSIGN_VARIABLE",
        "tensor 2 'y' is int8[1, 4], but the variable is int8[1, 3] (tensor 1 'kept')",
    ),
    "variable whose scale changes": Refused(
        lambda: variable(scale=0.75),
        UnsupportedOpError,
        "variable 'v'",
        "the variable is read as i8[1, 3] q(0.5, 3), but tensor 2 'y', which is assigned, is "
        "i8[1, 3] q(0.75, 3)",
    ),
    "variable of int16": Refused(
        lambda: variable(dtype="int16"),
        UnsupportedOpError,
        "operator 2 READ_VARIABLE",
        "reads int16[1, 3], expected int8, float32 or int32",
    ),
    "read of a value": Refused(
        lambda: variable(handle=False),
        FrontendError,
        "operator 2 READ_VARIABLE",
        "expected the output of a VAR_HANDLE as input 0",
    ),
    "variable as an output": Refused(
        lambda: variable_output(),
        UnsupportedOpError,
        "subgraph 0",
        "graph output 0 is tensor 1 'state', which is a variable (state that outlives a run), "
        "expected the state of one recurrent layer",
    ),
    "addition without outputs": Refused(
        lambda: no_outputs("ADD"), FrontendError, "operator 0 ADD", "has no outputs"
    ),
    "custom operator without outputs": Refused(
        lambda: no_outputs("CUSTOM"),
        UnsupportedOpError,
        "operator 0 CUSTOM 'Print'",
        (
            "1 of 2 operators cannot be imported\n"
            "  operator 0 CUSTOM 'Print' (int8[1, 3] -> )\n"
            "    why  is a custom operator, which only the program that registered it can run"
        ),
    ),
    "resource on the way": Refused(
        lambda: set_tensor(CONV, type=13),
        UnsupportedOpError,
        "operator 0 CONV_2D, operator 1 MAX_POOL_2D",
        (
            "2 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> resource[1, 4, 4, 3])\n"
            "    why  tensor 3 'conv' holds elements of type RESOURCE\n"
            "    try  convert to tensors of numbers\n"
            "  operator 1 MAX_POOL_2D 'pooled' (resource[1, 4, 4, 3] -> int8[1, 2, 2, "
            "3])\n"
            "    why  tensor 3 'conv' holds elements of type RESOURCE\n"
            "    try  convert to tensors of numbers"
        ),
    ),
    "string on the way": Refused(
        lambda: set_tensor(CONV, type=5, quantization=None),
        UnsupportedOpError,
        "operator 0 CONV_2D, operator 1 MAX_POOL_2D",
        (
            "2 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> string[1, 4, 4, 3])\n"
            "    why  tensor 3 'conv' holds elements of type STRING\n"
            "    try  convert to tensors of numbers\n"
            "  operator 1 MAX_POOL_2D 'pooled' (string[1, 4, 4, 3] -> int8[1, 2, 2, 3])\n"
            "    why  tensor 3 'conv' holds elements of type STRING\n"
            "    try  convert to tensors of numbers"
        ),
    ),
    "variable on the way": Refused(
        lambda: set_tensor(CONV, isVariable=True),
        UnsupportedOpError,
        "operator 0 CONV_2D, operator 1 MAX_POOL_2D",
        (
            "2 of 5 operators cannot be imported\n"
            "  operator 0 CONV_2D 'conv' (int8[1, 4, 4, 2], int8[3, 3, 3, 2], int32[3] "
            "-> int8[1, 4, 4, 3])\n"
            "    why  tensor 3 'conv' is a variable (state that outlives a run), expected "
            "the state of one recurrent layer\n"
            "    try  make the state an input and an output of the model\n"
            "  operator 1 MAX_POOL_2D 'pooled' (int8[1, 4, 4, 3] -> int8[1, 2, 2, 3])\n"
            "    why  tensor 3 'conv' is a variable (state that outlives a run), expected "
            "the state of one recurrent layer\n"
            "    try  make the state an input and an output of the model"
        ),
    ),
}
