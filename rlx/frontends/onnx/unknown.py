"""Reasons and hints for ONNX operators that rlx does not import.

Tests: tests/unit/frontends/onnx/test_frontend.py
"""

from __future__ import annotations

_BRANCH = (
    "export the model without it (trace it with fixed shapes), or cut the network before it: "
    "--outputs NAME"
)
_TENSORS = "use tensors: unpack the sequence or optional before export"
_TEXT = "do this step in your own code, before the model"

_KINDS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("is control flow, which rlx does not import", _BRANCH, ("If", "Loop", "Scan", "SequenceMap")),
    (
        "works on sequences, which rlx does not model",
        _TENSORS,
        ("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
         "SequenceLength", "SplitToSequence", "ConcatFromSequence"),
    ),
    (
        "works on optional values, which rlx does not model",
        _TENSORS,
        ("Optional", "OptionalGetElement", "OptionalHasElement"),
    ),
    (
        "works on strings, which rlx does not model",
        _TEXT,
        ("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "TfIdfVectorizer"),
    ),
    ("decodes images, which rlx does not model", _TEXT, ("ImageDecoder",)),
    (
        "draws random numbers: two runs differ",
        "take the operator out of the model, or make its result an input",
        ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial",
         "Bernoulli"),
    ),
    (
        "has a result whose shape depends on the values of its operands",
        "do this step in your own code, after the model",
        ("NonMaxSuppression", "NonZero", "Unique", "Compress"),
    ),
    (
        "is only there to train",
        "export the model for inference",
        ("Adagrad", "Adam", "Momentum", "Gradient"),
    ),
)  # fmt: skip


def unknown(domain: str, name: str) -> tuple[str, str]:
    """Return the reason for the refusal of an operator that has no importer, and a hint."""
    if domain in ("", "ai.onnx.preview.training"):
        for reason, hint, names in _KINDS:
            if name in names:
                return reason, hint
        return "unknown operator", "express it by other operators in the model"
    if domain == "ai.onnx.ml":
        return (
            "is an operator of classical machine learning (ai.onnx.ml), which rlx does not model",
            "run this step in your own code, and give rlx the neural network without it",
        )
    if domain.startswith("com.microsoft"):
        return _microsoft(name)
    if domain.startswith(("qonnx.", "finn.", "onnx.brevitas")):
        return (
            "is an operator of QONNX that rlx does not model",
            "export the model before it is lowered to such operators: with Quant, BipolarQuant, "
            "Trunc and standard layers",
        )
    return (
        f"is a custom operator of the domain '{domain}', which only the program that registered "
        "it can run",
        "express it by standard operators, or as a function stored in the model",
    )


def _microsoft(name: str) -> tuple[str, str]:
    """Return the reason for the refusal of an operator of ONNX Runtime, and a hint."""
    if name.startswith(("Q", "DynamicQuantize")):
        return (
            "is a quantized operator of ONNX Runtime that rlx does not model",
            "quantize the model with quant_format=QuantFormat.QDQ (quantize_static), which keeps "
            "the standard operators",
        )
    return (
        "is an operator of ONNX Runtime (com.microsoft) that rlx does not model",
        "give rlx the model as it was before ONNX Runtime optimized it, or export it with "
        "operators of the standard",
    )
