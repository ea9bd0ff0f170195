"""The page of the documentation about ONNX: operators, limits, cases that do not pass."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Final

from onnx import defs

from benchmarks.markdown import markdown_table
from onnx_backend.backend import CONSTANT_INPUTS, OLDEST
from onnx_backend.cases import EXPLAINED, store, stored
from rlx.frontends.onnx import check as onnx_check
from rlx.frontends.onnx.branches import branch
from rlx.frontends.onnx.ops import IMPORTERS
from support import ROOT

if TYPE_CHECKING:
    from onnx_backend.cases import Summary

_NUMBERS: Final = frozenset(EXPLAINED.values())

PAGE: Final = ROOT / "docs" / "reference" / "onnx.md"

_INTRODUCTION: Final = """\
# ONNX models

This page is written by `PYTHONPATH=tests:. python -m onnx_backend`; do not edit it.

`rlx import` and `rlx.load` read ONNX files of version {oldest} to {newest} of the standard's
operators. Images become channels-last inside; inputs and outputs keep the file's shapes and types.
Dimensions that a file names stay symbols where the operator allows it. Functions are replaced by
their nodes. What rlx does not model is refused, all of it in one message.

The package `onnx` comes with cases for every operator (`onnx.backend.test`). Of the
{total:,} node cases of version {onnx} that are not function expansions and have tensors of 8 bits
and more, rlx passes **{passing:,}**: imported, run by a session on the host, floats within the
case's own tolerance, integers equal. The others are refused{wrong}; each is below with its reason.

"""

_OPERATORS: Final = """\
## Operators

*Versions* are those of the standard in which the operator changed. *Constant inputs* must be
constants of the file, or follow from constants and shapes: they say what shape the result has;
the cases are run with constants there. Operators *by
definition* are replaced by the nodes with which the standard defines them.

"""

_OTHERS: Final = """
## Operators of other domains

Quantized operators of ONNX Runtime (`com.microsoft`, the QOperator form of its quantizer) give its
integers; scales must be constants. Those of QONNX are read in the domains `qonnx.custom_op.general`
(versions 1 and 2), `onnx.brevitas`, `finn.custom_op.general` and `finn`.

"""


def page() -> str:
    """Return the page for what is stored."""
    found = stored()
    wrong = [r for r in found.reasons.values() if r in _NUMBERS]
    text = _INTRODUCTION.format(
        oldest=onnx_check.MIN_OPSET, newest=defs.onnx_opset_version(),
        total=found.total, onnx=found.onnx,
        passing=found.passing, wrong=f" but for {len(wrong)}" if wrong else "",
    )  # fmt: skip
    return text + _OPERATORS + _operators(found) + _OTHERS + _others() + _reasons(found)


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


def _others() -> str:
    """Return the table of operators that the standard does not define."""
    rows = [
        [f"`{domain}`", f"`{name}`", _how(domain, name)]
        for domain, name in sorted(IMPORTERS)
        if domain in ("com.microsoft", "qonnx.custom_op.channels_last", "qonnx.custom_op.general")
    ]
    return markdown_table(["domain", "operator", "how"], rows, texts=3)


def _defined(found: Summary) -> set[tuple[str, str]]:
    """Return operators without an importer of which cases pass by their definition."""
    names = (name.rpartition(".") for name, (passed, _) in found.operators.items() if passed)
    return {(domain, name) for domain, _, name in names} - set(IMPORTERS)


def _versions(domain: str, name: str) -> list[int]:
    """Return the versions that an operator has among those that rlx reads, oldest first."""
    since = sorted(
        s.since_version
        for s in defs.get_all_schemas_with_history()
        if (s.domain, s.name) == (domain, name) and not s.deprecated
    )
    if domain:
        return since
    old = [v for v in since if v <= OLDEST]
    return [*old[-1:], *(v for v in since if v > OLDEST)]


def _how(domain: str, name: str) -> str:
    """Return whether an operator has an importer, with what that says of itself."""
    importer = IMPORTERS.get((domain, name)) or {("", "If"): branch}.get((domain, name))
    if importer is None:
        return "by definition"
    text = inspect.cleandoc(importer.__doc__ or "").splitlines()[0].rstrip(".")
    return text.replace("``", "`")


def _constants(domain: str, name: str) -> str:
    """Return the names of the inputs that must be constants."""
    places = CONSTANT_INPUTS.get(name, ())
    inputs = defs.get_schema(name, defs.onnx_opset_version(), domain).inputs if not domain else []
    return ", ".join(f"`{inputs[p].name}`" for p in places if p < len(inputs))


def _reasons(found: Summary) -> str:
    """Return the tables of the cases that do not pass, by reason."""
    groups: dict[str, list[str]] = {}
    for name, reason in sorted(found.reasons.items()):
        groups.setdefault(reason, []).append(name.removeprefix("test_"))
    text = "\n## Cases that do not pass\n\n"
    rows = [
        [_escaped(reason), str(len(names)), ", ".join(f"`{n}`" for n in names)]
        for reason, names in sorted(groups.items(), key=lambda g: (-len(g[1]), g[0]))
    ]
    return text + markdown_table(["reason", "number", "cases"], rows, texts=3)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def update(found: Summary) -> None:
    """Store what came of the cases and write the page again."""
    store(found)
    PAGE.write_text(page(), encoding="utf-8")
