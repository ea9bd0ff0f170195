"""Time of the parts of a simulation, and how it is shown."""

import time

import pytest

from rlx_sim.hardware.cocotb_bench import _FirstTest
from rlx_sim.seconds import Seconds
from rlx_sim.verification import VerificationReport

CLOCK = "rlx_sim.seconds.time.monotonic"


def test_a_part_adds_the_time_of_its_block(monkeypatch):
    times = iter([10.0, 12.5, 20.0, 20.25])
    monkeypatch.setattr(CLOCK, lambda: next(times))
    seconds = Seconds("host")
    with seconds.part("compile"):
        pass
    with pytest.raises(KeyError), seconds.part("compile"):
        raise KeyError
    assert seconds.as_json() == {"simulation": "host", "compile": 2.75}


def test_the_view_has_a_column_for_each_part_that_was_measured():
    rows = [
        {"simulation": "host", "compile": 2.04, "compare": 0.0},
        {"simulation": "qemu", "compile": 1.0, "simulate": 30.06},
    ]
    figures = {"runs": [], "seconds": rows}
    table = VerificationReport("cortexm", 1, 1, (), figures).view()[-1]
    assert table.title == "Where the time went"
    assert [column.heading for column in table.columns] == [
        "time of", "compile", "simulate", "compare",
    ]  # fmt: skip
    assert table.rows == (("this machine", "2.0", "-", "0.0"), ("QEMU", "1.0", "30.1", "-"))
    assert len(VerificationReport("cortexm", 1, 1, (), {"runs": []}).view()) == 1


def test_tests_of_the_bench_begin_at_the_first_one(monkeypatch):
    lines = []
    first = _FirstTest(lines.append)
    first("make: nothing")
    assert first.at is None
    before = time.monotonic()
    first("0.00ns INFO cocotb.regression running bench.frames (1/3)")
    at = first.at
    assert at >= before
    first("9.00ns INFO cocotb.regression running bench.reset (2/3)")
    assert first.at == at
    assert len(lines) == 3
