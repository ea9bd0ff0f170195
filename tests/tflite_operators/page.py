"""The page of the documentation: TFLite's operators, their limits, and who computes them."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final

from benchmarks.markdown import markdown_table
from rlx.driver.driver import fit_to_target
from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.ops import IMPORTERS, REAL_IMPORTERS
from rlx.frontends.tflite.ops.importers import ON_INT16
from rlx.passes.dispatch import Outcome
from rlx.targets import target
from support import ROOT
from tflite_operators.int16_samples import INT16_SAMPLES
from tflite_operators.samples import SAMPLES

if TYPE_CHECKING:
    from rlx.frontends.tflite.ops.importers import Importer
    from rlx.ir.module import GraphModule

PAGE: Final = ROOT / "docs" / "reference" / "tflite-operators.md"

COLUMNS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "Cortex-M": ("cortexm", {}),
    "FPGA `dataflow`": ("fpga", {"architecture": "dataflow"}),
    "FPGA `engine`": ("fpga", {"architecture": "engine"}),
    "FPGA `parallel`": ("fpga", {"architecture": "parallel"}),
}
"""Target and options of each column."""

_INTRODUCTION: Final = """\
# TFLite operators

This page is written by `PYTHONPATH=tests:. python -m tflite_operators`; do not edit it.

## On int8

Each operator below was imported as a small model and given to each target: *yes* means that it is
lowered, *as* names the operations that take its place there, *by the caller* that the conversion is
taken off an input or output (see [](tflite.md)). Fused activations (`RELU`, `RELU6`,
`RELU_N1_TO_1`) are part of their layer. [](tflite.md) says which arithmetic an operator has.

"""

_INT16: Final = """
## On int16

Activations of int16 with weights of int8 ([rounding](tflite.md)). The host computes all of these;
cores for FPGAs have int8 values only.

"""

_VARIABLES: Final = """
## Variables

`VAR_HANDLE`, `READ_VARIABLE`, `ASSIGN_VARIABLE` and `CALL_ONCE` become states of the graph: on the
host, in C for Cortex-M (a struct of the caller) and in the `dataflow` core (memories with a reset).
The architectures `engine` and `parallel` refuse them. Variables are int8, uint8, float32 or int32;
targets take int8, C int32 too. A variable begins with what the subgraph of `CALL_ONCE` assigns, one
integer for all its elements, or with its zero point.

The state of `SVDF` is a variable too, of int16 or int8, and begins with zeros. TensorFlow Lite
Micro applies no fused activation to an `SVDF` on int8, and neither does rlx. Without a bias, which
ends its process, results are those of LiteRT.

So are hidden and cell state of `UNIDIRECTIONAL_SEQUENCE_LSTM`: the hidden state begins with its
zero point, the cell state with zeros. Both are kept from run to run, as by TensorFlow Lite Micro.

"""

_FLOAT: Final = """
## On float32

These run on the host, and `rlx quantize` makes integers of those that a network for a target needs
([how](../how-to/quantize.md)).

"""


def page() -> str:
    """Return the page."""
    notes: dict[str, int] = {}
    rows = [_row(name, notes) for name in sorted(IMPORTERS)]
    head = ["operator", "limits", "becomes", *COLUMNS]
    text = _INTRODUCTION + markdown_table(head, rows, texts=len(head))
    if notes:
        text += "\n" + "".join(f"{number}. {reason}\n" for reason, number in notes.items())
    text += _INT16 + markdown_table(
        ["operator", "becomes", *COLUMNS], [_int16_row(name) for name in sorted(ON_INT16)], texts=2
    )
    floats = [[f"`{name}`", limits(REAL_IMPORTERS[name])] for name in sorted(REAL_IMPORTERS)]
    return text + _VARIABLES + _FLOAT + markdown_table(["operator", "limits"], floats, texts=2)


def limits(importer: Importer) -> str:
    """Return the first paragraph of an importer's docstring; nothing where that is only names."""
    text = inspect.cleandoc(importer.__doc__ or "").split("\n\n", 1)[0]
    if re.fullmatch(r"(``\w+``(, | and )?)+\.", text):
        return ""
    return " ".join(text.split()).rstrip(".").replace("``", "`").replace("|", "\\|")


def _row(name: str, notes: dict[str, int]) -> list[str]:
    module = tflite.load(SAMPLES[name]())
    becomes = ", ".join(f"`{op}`" for op in ops(module))
    found = [verdict(module, *COLUMNS[column]) for column in COLUMNS]
    cells = [_note(text, notes) for text in found]
    return [f"`{name}`", limits(IMPORTERS[name]), becomes or "a constant", *cells]


def _int16_row(name: str) -> list[str]:
    module = tflite.load(INT16_SAMPLES[name]())
    found = (verdict(module, *COLUMNS[column]).partition(":")[0] for column in COLUMNS)
    return [f"`{name}`", ", ".join(f"`{op}`" for op in ops(module)), *found]


def ops(module: GraphModule) -> list[str]:
    """Return the names of the ops in a graph, each once."""
    return list(dict.fromkeys(node.op.name for node in module.graph.op_nodes))


def verdict(module: GraphModule, name: str, options: dict[str, Any]) -> str:
    """Return ``yes``, the ops that it becomes, or why the target refuses it."""
    chosen = target.load(name)
    fitted = fit_to_target(module, chosen, options=chosen.options(**options))
    refused = (e for e in fitted.dispatch.entries if e.path is Outcome.REFUSED)
    reasons = dict.fromkeys(e.reason for e in refused)
    if reasons:
        return f"no: {'; '.join(reasons)}"
    other = ops(fitted.module)
    if not other:
        return "by the caller"
    return "yes" if other == ops(module) else f"as {', '.join(f'`{op}`' for op in other)}"


def _note(text: str, notes: dict[str, int]) -> str:
    """Return a cell: refusals are numbered, their reasons stand below the table."""
    if not text.startswith("no: "):
        return text
    reason = text.removeprefix("no: ").replace("|", "\\|")
    return f"no ({notes.setdefault(reason, len(notes) + 1)})"
