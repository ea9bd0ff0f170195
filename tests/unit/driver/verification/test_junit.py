"""JUnit XML as CI systems read it: suites, cases, failures, errors, outputs."""

from xml.etree import ElementTree as ET

from rlx.driver.verification.budget import BudgetRow, Quantity
from rlx.driver.verification.junit import error_xml, results_xml
from rlx.support.errors import ToolMissingError

REPORT = {
    "inputs": 16,
    "equal": 16,
    "mismatches": [],
    "tools": {"cc": "12.2.0", "qemu-system-arm": "7.2"},
    "runs": [
        {"simulator": "host", "equal": 16, "instructions": None},
        {"simulator": "qemu", "equal": 16, "instructions": 65_725},
    ],
}


def row(name, limit, value):
    margin = limit - value
    return BudgetRow(name, Quantity.BYTES, limit, value, margin, "measured by qemu", margin >= 0)


def read(xml):
    """Check the form that the readers of JUnit agree on, and return the suite."""
    root = ET.fromstring(xml)
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    cases = suite.findall("testcase")
    counts = {
        "tests": len(cases),
        "failures": len(suite.findall("testcase/failure")),
        "errors": len(suite.findall("testcase/error")),
    }
    for element in (root, suite):
        assert {name: int(element.get(name)) for name in counts} == counts
        assert float(element.get("time")) >= 0
    assert all(case.get("name") and case.get("classname") for case in cases)
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    known = {"properties", "testcase"}
    assert {child.tag for child in suite} <= known
    assert {child.tag for case in cases for child in case} <= {"failure", "error", "system-out"}
    return suite


def test_a_case_for_each_simulation_and_each_limit():
    rows = [row("flash", 8192, 7252), row("ram", 640, 700)]
    suite = read(results_xml("kws.cortexm", REPORT, rows, seconds=1.5))
    assert (suite.get("name"), suite.get("time")) == ("kws.cortexm", "1.500")
    assert [(case.get("classname"), case.get("name")) for case in suite.iter("testcase")] == [
        ("kws.cortexm.simulation", "host"),
        ("kws.cortexm.simulation", "qemu"),
        ("kws.cortexm.budget", "flash"),
        ("kws.cortexm.budget", "ram"),
    ]
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "ram: 700 B, limit 640 B; measured by qemu"
    outputs = [one.text for one in suite.iter("system-out")]
    assert outputs[1] == "simulator qemu, equal 16, instructions 65725"
    properties = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert properties == {"tool cc": "12.2.0", "tool qemu-system-arm": "7.2"}


def test_wrong_outputs_are_failures_of_their_simulation():
    wrong = {"simulator": "qemu", "frame": 3, "output": "y\x00<&\x1b[0m", "want": 1, "got": 2}
    runs = [REPORT["runs"][0], {**REPORT["runs"][1], "equal": 15}]
    report = {**REPORT, "equal": 15, "mismatches": [wrong], "runs": runs, "cached": "then"}
    suite = read(results_xml("kws.cortexm", report, seconds=0))
    host, qemu = suite.iter("testcase")
    assert host.find("failure") is None
    failure = qemu.find("failure")
    assert failure.get("message") == "15 of 16 frames give the reference's bits"
    assert "frame 3, output y\ufffd<&\ufffd[0m, want 1, got 2" in failure.text
    assert ("cached", "then") in [(p.get("name"), p.get("value")) for p in suite.iter("property")]


def test_a_mismatch_of_no_run_is_a_failure_too():
    report = {**REPORT, "mismatches": [{"simulator": "testbench", "verdict": "FAIL"}]}
    suite = read(results_xml("kws.fpga", report, seconds=0))
    assert len(list(suite.iter("failure"))) == 1
    alone = {"inputs": 2, "equal": 2, "mismatches": [], "tools": {}}
    assert not list(read(results_xml("kws.other", alone, seconds=0)).iter("failure"))


def test_what_could_not_run_is_an_error():
    error = ToolMissingError("cc is not installed", hint="install it")
    suite = read(error_xml("kws.cortexm", error, seconds=0.1))
    (told,) = suite.iter("error")
    assert (told.get("message"), told.get("type")) == ("cc is not installed", "RLX-E061")
    assert "install it" in told.text
