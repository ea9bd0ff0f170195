"""Results of a verification as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from rlx.driver.verification.budget import value_text
from rlx.driver.verification.mismatches import mismatch_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rlx.driver.verification.budget import BudgetRow
    from rlx.support.errors import RlxError

_FORBIDDEN: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Case:
    """A test case.

    Attributes:
        kind: Group in the suite, such as ``budget``.
        name: Name of the case.
        failure: One line, or None if it passed.
        detail: More about a failure, or the measured values.
        skipped: Reason that it did not run, or None if it did.
    """

    kind: str
    name: str
    failure: str | None
    detail: str
    skipped: str | None = None


def results_xml(
    suite: str, report: Mapping[str, Any], rows: Sequence[BudgetRow] = (), *, seconds: float
) -> bytes:
    """Return a test suite with a case for each simulation and for each limit of a budget.

    A simulation whose tools are missing is a skipped case.

    Args:
        suite: Name of the suite, such as ``kws.cortexm``.
        report: ``as_json()`` of a verification.
        rows: Limits and measured values.
        seconds: Wall-clock time of all.
    """
    cases = [*_simulations(report), *map(_not_run, report.get("not_run", ())), *map(_limit, rows)]
    root, tests = _suite(suite, seconds, cases)
    about = ET.SubElement(tests, "properties")
    for name, version in sorted(report["tools"].items()):
        ET.SubElement(about, "property", name=f"tool {_text(name)}", value=_text(str(version)))
    if "cached" in report:
        ET.SubElement(about, "property", name="cached", value=_text(report["cached"]))
    for case in cases:
        _add(tests, suite, case)
    return _bytes(root)


def error_xml(suite: str, error: RlxError, *, seconds: float) -> bytes:
    """Return a test suite whose only case could not be run.

    Args:
        suite: Name of the suite.
        error: Reason that it could not be run.
        seconds: Wall-clock time until then.
    """
    case = _Case("simulation", "verify", None, "")
    root, tests = _suite(suite, seconds, [case], errors=1)
    element = _add(tests, suite, case)
    cause = ET.SubElement(element, "error", message=_text(error.message), type=error.code)
    cause.text = _text(str(error))
    return _bytes(root)


def _simulations(report: Mapping[str, Any]) -> Iterator[_Case]:
    """Yield a case for each run, and one for failures outside of the runs."""
    counted = 0
    for run in report.get("runs", ()):
        name = str(run.get("simulator") or run.get("simulation"))
        frames = run.get("inputs") or report["inputs"]
        equal = run["equal"]
        figures = ", ".join(f"{k} {v}" for k, v in run.items() if v is not None)
        wrong = [one for one in report["mismatches"] if one.get("simulator") == name]
        counted += len(wrong)
        if equal == frames and not wrong:
            yield _Case("simulation", name, None, figures)
        else:
            failure = f"{equal} of {frames} frames give the reference's bits"
            yield _Case("simulation", name, failure, _differences(wrong) or figures)
    if len(report["mismatches"]) > counted or not report.get("runs"):
        passed = not report["mismatches"] and report["equal"] == report["inputs"] > 0
        failure = f"{report['equal']} of {report['inputs']} frames give the reference's bits"
        detail = _differences(report["mismatches"])
        yield _Case("simulation", "all", None if passed else failure, detail)


def _not_run(absent: Mapping[str, str]) -> _Case:
    """Return the case of a simulation that did not run."""
    reason = f"{absent['platform']}: {absent['reason']}; {absent['install']}"
    return _Case("simulation", absent["name"], None, "", skipped=reason)


def _differences(mismatches: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(mismatch_lines(mismatches))


def _limit(row: BudgetRow) -> _Case:
    value = "unknown" if row.value is None else value_text(row.quantity, row.value)
    detail = f"{row.name}: {value}, limit {value_text(row.quantity, row.limit)}; {row.source}"
    return _Case("budget", row.name, None if row.kept else detail, detail)


def _suite(
    name: str, seconds: float, cases: Sequence[_Case], *, errors: int = 0
) -> tuple[ET.Element, ET.Element]:
    """Return the root and its only suite, without the cases."""
    failures = sum(case.failure is not None for case in cases)
    skipped = sum(case.skipped is not None for case in cases)
    counts = {
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", {"name": "rlx verify", **counts})
    attributes = {"name": _text(name), **counts, "skipped": str(skipped)}
    return root, ET.SubElement(root, "testsuite", attributes)


def _add(tests: ET.Element, suite: str, case: _Case) -> ET.Element:
    element = ET.SubElement(
        tests, "testcase", classname=_text(f"{suite}.{case.kind}"), name=_text(case.name)
    )
    if case.skipped is not None:
        ET.SubElement(element, "skipped", message=_text(case.skipped))
    elif case.failure is not None:
        failure = ET.SubElement(
            element, "failure", message=_text(case.failure), type=f"{case.kind} failed"
        )
        failure.text = _text(case.detail)
    elif case.detail:
        ET.SubElement(element, "system-out").text = _text(case.detail)
    return element


def _text(text: str) -> str:
    """Return text without characters that XML cannot hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def _bytes(root: ET.Element) -> bytes:
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"
