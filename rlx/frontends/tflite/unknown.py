"""Reasons and hints for operators that rlx does not import.

Tests: tests/unit/frontends/tflite/test_frontend.py
"""

from __future__ import annotations

_UNROLL = (
    "unroll it (in Keras: unroll=True; litert-torch always does), or make its state an input "
    "and an output of a model of one step, built of dense layers"
)
_CALLS = "convert a function without control flow; run the parts that a condition chooses apart"
_INT8 = (
    "convert with full int8 quantization (TFLITE_BUILTINS_INT8, inference_input_type and "
    "inference_output_type int8), without float32"
)

_ELSEWHERE = (
    "is imported on int8, but not on plain numbers",
    "express it by other operators on plain numbers in the model",
)
_FLOAT_ONLY = (
    "is imported on float32, but not on int8",
    "convert the model in float32, and quantize it here, where more operators become integers: "
    "rlx quantize MODEL --calib SAMPLES.npz -o MODEL.q.rlx",
)

RECURRENT = (
    "LSTM",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_LSTM",
    "RNN",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
    "BIDIRECTIONAL_SEQUENCE_RNN",
    "SVDF",
)
"""Operators with a state of their own. Some of their tensors hold no numbers that they read."""

_KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "is a recurrent layer with its own state, which rlx does not support yet",
        _UNROLL,
        RECURRENT,
    ),
    (
        "is control flow, which rlx does not import",
        _CALLS,
        ("IF", "WHILE", "CALL", "STABLEHLO_WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE"),
    ),
    ("is only there to train", _INT8, ("FAKE_QUANT",)),
)  # fmt: skip


def unknown(name: str, *, elsewhere: bool = False, real: bool = False) -> tuple[str, str]:
    """Return the reason for the refusal of an operator that has no importer, and a hint.

    Args:
        name: The operator.
        elsewhere: Whether it has an importer for other element types.
        real: Whether it computes with unquantized values here, and not with int8.
    """
    if elsewhere:
        return _ELSEWHERE if real else _FLOAT_ONLY
    for reason, hint, names in _KINDS:
        if name in names:
            return reason, hint
    if name.startswith("CUSTOM "):
        return (
            "is a custom operator, which only the program that registered it can run",
            "express it by builtin operators in the model (convert without allow_custom_ops), or "
            "cut the model before it and run it in your own code",
        )
    return "unknown operator", "express it by other operators in the model"
