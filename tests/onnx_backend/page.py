"""The page of the documentation about ONNX: operators, limits, cases that do not pass."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

from onnx import defs
from support import ROOT

from benchmarks.markdown import markdown_table
from onnx_backend.backend import CONSTANT_INPUTS, LEAST
from onnx_backend.cases import stored
from rlx.frontends.onnx_ops import IMPORTERS

if TYPE_CHECKING:
    from onnx_backend.cases import Summary

PAGE: Final = ROOT / "docs" / "reference" / "onnx.md"

_INTRODUCTION: Final = """\
# ONNX models

This page is written by `PYTHONPATH=tests:. python -m onnx_backend`; do not edit it.

`rlx import` and `rlx.load` read ONNX files of version {least} to {newest} of the standard's
operators. Images become channels-last inside; inputs and outputs keep the file's shapes and types.
Dimensions that a file names stay symbols where the operator allows it. Functions are replaced by
their nodes. What rlx does not model is refused, all of it in one message.

The package `onnx` comes with cases for every operator (`onnx.backend.test`). Of the
{total:,} node cases of version {onnx} that are not function expansions and have tensors of 8 bits
and more, rlx passes **{passing:,}**: imported, run by a session on the host, floats within the
case's own tolerance, integers equal. The others are refused{wrong}; none gives other numbers in
silence: each is below with its reason.

"""

_OPERATORS: Final = """\
## Operators

*Versions* are those of the standard in which the operator changed. *Constant inputs* must be
constants of the file, or follow from constants and shapes: they say what shape the result has, or
which codes stand for which numbers; the cases are run with constants there. Operators *by
definition* are replaced by the nodes with which the standard defines them.

"""


def page() -> str:
    """Return the page for what is stored."""
    found = stored()
    wrong = [r for r in found.reasons.values() if r in _NUMBERS]
    text = _INTRODUCTION.format(
        least=LEAST, newest=defs.onnx_opset_version(), total=found.total, onnx=found.onnx,
        passing=found.passing, wrong=f" but for {len(wrong)}" if wrong else "",
    )  # fmt: skip
    return text + _OPERATORS + _operators(found) + _reasons(found)


def _operators(found: Summary) -> str:
    """Return the table of operators."""
    head = ["operator", "versions", "how", "constant inputs", "cases"]
    rows = []
    for domain, name in sorted(set(IMPORTERS) | _defined(found), key=lambda key: (key[0], key[1])):
        versions = _versions(domain, name)
        passed, count = found.operators.get(f"{domain}.{name}".lstrip("."), (0, 0))
        if not versions or (not passed and (domain, name) not in IMPORTERS):
            continue
        rows.append([
            f"`{domain}.{name}`" if domain else f"`{name}`",
            ", ".join(map(str, versions)),
            _how(domain, name),
            _constants(domain, name),
            f"{passed} of {count}" if count else "",
        ])  # fmt: skip
    return markdown_table(head, rows, texts=5)
