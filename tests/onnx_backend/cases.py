"""The node cases of ``onnx.backend.test``: which ones count, and what came of each."""

from __future__ import annotations

import functools
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from onnx_backend.backend import RlxBackend
from rlx.support.errors import FrontendError, UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnx import GraphProto, TypeProto

STORED: Final = Path(__file__).parent / "cases.json"
"""Number of cases of each operator that pass, and the reason of each that does not."""

_FLOAT_NOISE = (
    "the case expects 1.9e-7, a rounding error of a float32 transform, where the result is 0"
)
_ONE_ROUNDING = "bfloat16 results differ by one rounding, which the tolerance of 0.1 % excludes"

EXPLAINED: Final = {
    "test_dft_inverse": _FLOAT_NOISE,
    "test_dft_inverse_opset19": _FLOAT_NOISE,
    **dict.fromkeys(
        ("test_attention_3d_causal_bf16", "test_attention_4d_causal_bf16",
         "test_attention_4d_causal_padded_kv_bf16", "test_attention_4d_padded_kv_bf16"),
        _ONE_ROUNDING,
    ),
}  # fmt: skip
"""Explanations of cases whose numbers differ."""

BELOW_8_BITS: Final = frozenset(
    {TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1, TensorProto.INT2,
     TensorProto.UINT2}
)  # fmt: skip


@functools.cache
def cases() -> tuple[Any, ...]:
    """Return the cases that count: neither expanded nor with elements of less than 8 bits."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = load_model_tests(kind="node")
    counted = [c for c in found if "_expanded" not in c.name and not _is_narrow(c.model.graph)]
    return tuple(sorted(counted, key=lambda c: c.name))


def _is_narrow(graph: GraphProto) -> bool:
    """Whether elements of less than 8 bits occur in a graph."""
    return not BELOW_8_BITS.isdisjoint(_element_types(graph))


def _element_types(graph: GraphProto) -> Iterator[int]:
    for info in (*graph.input, *graph.output, *graph.value_info):
        yield from _types_in(info.type)
    for tensor in graph.initializer:
        yield tensor.data_type
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t.data_type
            if attribute.HasField("g"):
                yield from _element_types(attribute.g)


def _types_in(type_: TypeProto) -> Iterator[int]:
    kind = type_.WhichOneof("value")
    if kind == "tensor_type":
        yield type_.tensor_type.elem_type
    elif kind in ("sequence_type", "optional_type"):
        yield from _types_in(getattr(type_, kind).elem_type)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a case.

    Attributes:
        reason: Reason why it does not pass, one line; empty if it does.
        refused: Whether rlx said no, in place of a result.
    """

    reason: str = ""
    refused: bool = False


def outcome(case: Any) -> Outcome:
    """Import and run a case, and compare what it gives with what it should."""
    try:
        for given, results in case.data_sets:
            inputs, wanted = ([array_of(v) for v in values] for values in (given, results))
            found = RlxBackend.prepare(case.model, inputs=inputs).run(inputs)
            difference = _difference(found, wanted, case.rtol, case.atol)
            if difference:
                return Outcome(difference)
    except UnsupportedOpError as error:
        return Outcome(_first_reason(error), refused=True)
    except FrontendError as error:
        return Outcome(f"malformed: {error.message.splitlines()[0]}", refused=True)
    return Outcome()


def array_of(value: Any) -> Any:
    """Return a tensor of a case as an array; sequences stay as they are."""
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _first_reason(error: UnsupportedOpError) -> str:
    """Return the first reason of a refusal, which may list several nodes."""
    lines = error.message.splitlines()
    reasons = [line.strip().removeprefix("why").strip() for line in lines if "    why  " in line]
    return reasons[0] if reasons else lines[0]


def _difference(found: tuple[Any, ...], wanted: list[Any], rtol: float, atol: float) -> str:
    """Return the difference of results from those wanted; integers must be equal."""
    if len(found) != len(wanted):
        return f"gives {len(found)} results, not {len(wanted)}"
    for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
        theirs = np.asarray(theirs)
        if mine.dtype != theirs.dtype:
            return f"result {place} is {mine.dtype}, not {theirs.dtype}"
        if mine.shape != theirs.shape:
            return f"result {place} is of shape {mine.shape}, not {theirs.shape}"
        exact = theirs.dtype.kind in "iub"
        try:
            np.testing.assert_allclose(
                mine.astype(np.float64) if not exact else mine,
                theirs.astype(np.float64) if not exact else theirs,
                rtol=0 if exact else rtol, atol=0 if exact else atol,
            )  # fmt: skip
        except AssertionError:
            return f"result {place} has other numbers"
    return ""


@dataclass(frozen=True, slots=True)
class Summary:
    """Outcomes of all cases.

    Attributes:
        onnx: Version of the package that the cases come from.
        operators: For each operator that a case is about, how many pass and how many there are.
        reasons: For each case that does not pass, the reason.
    """

    onnx: str
    operators: dict[str, tuple[int, int]]
    reasons: dict[str, str]

    @property
    def passing(self) -> int:
        """Number of cases that pass."""
        return sum(passed for passed, _ in self.operators.values())

    @property
    def total(self) -> int:
        """Number of cases."""
        return sum(count for _, count in self.operators.values())


def operator_of(case: Any) -> str:
    """Return the operator that a case is about: the one of its first node."""
    nodes = case.model.graph.node
    if not nodes:
        return "(none)"
    return f"{nodes[0].domain}.{nodes[0].op_type}".lstrip(".")


def summary() -> Summary:
    """Run all cases."""
    operators: dict[str, tuple[int, int]] = {}
    reasons: dict[str, str] = {}
    for case in cases():
        found = outcome(case)
        passed, count = operators.get(operator_of(case), (0, 0))
        operators[operator_of(case)] = (passed + (not found.reason), count + 1)
        if found.reason:
            reasons[case.name] = EXPLAINED.get(case.name, found.reason)
    return Summary(onnx.__version__, dict(sorted(operators.items())), reasons)


def stored() -> Summary:
    """Return the stored summary."""
    found = json.loads(STORED.read_text(encoding="utf-8"))
    operators = {name: (passed, count) for name, (passed, count) in found["operators"].items()}
    return Summary(found["onnx"], operators, found["not_passing"])


def store(found: Summary) -> None:
    """Write what came of all cases."""
    document = {
        "onnx": found.onnx,
        "operators": found.operators,
        "not_passing": dict(sorted(found.reasons.items())),
    }
    text = json.dumps(document, indent=1).replace("[\n   ", "[").replace(",\n   ", ", ")
    STORED.write_text(text.replace("\n  ]", "]") + "\n", encoding="utf-8")
