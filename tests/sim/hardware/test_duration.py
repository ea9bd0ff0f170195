"""Duration of verification, and what it says meanwhile."""

import pytest

from rlx.support.steps import length_text
from rlx_sim.hardware.cocotb_bench import bench_reader
from rlx_sim.hardware.duration import expected
from rlx_sim.hardware.verilator import compilation_reader

KEYWORDS = {"interval": 64_000, "latency": 81_995}
RUNNING = "     0.00ns INFO     cocotb.regression                  running test_kws.{} ({}/3)"


def test_the_length_follows_size_cycles_and_steps():
    short, advice = expected(KEYWORDS, 0.78, 16, cocotb=False)
    assert advice == "longer if the machine has other work"
    both, advice = expected(KEYWORDS, 0.78, 16, cocotb=True)
    assert 25 < short < 45
    assert 90 < both < 140
    assert advice.endswith(f"; --with verilator takes {length_text(short)}")
    assert short < expected(KEYWORDS, 0.78, 1000, cocotb=False)[0]
    assert short < expected(KEYWORDS, 0.78, 16, cocotb=True, bench_limit=2)[0] < both
    assert short < expected(KEYWORDS, 1.5, 16, cocotb=False)[0]
    assert short < expected(KEYWORDS, 0.78, 16, cocotb=False, testbenches=["verilator"])[0]


@pytest.mark.parametrize(
    ("interval", "latency", "megabytes", "frames", "seconds"),
    [(263, 1050, 0.340, 397, 62), (64_000, 81_995, 0.778, 16, 110), (736, 6984, 0.820, 16, 127)],
)
def test_the_length_is_near_what_was_measured(interval, latency, megabytes, frames, seconds):
    report = {"interval": interval, "latency": latency}
    found, _ = expected(report, megabytes, frames, cocotb=True)
    assert found == pytest.approx(seconds, rel=0.15)


@pytest.mark.parametrize("report", [{}, {"interval": None, "latency": 4}])
def test_nothing_is_said_about_what_was_not_measured(report):
    assert expected(report, 0.5, 16, cocotb=True) == (0.0, "")
    assert expected(KEYWORDS, 0.5, 16, cocotb=False, testbenches=["icarus"]) == (0.0, "")


def test_compiled_files_are_named_and_counted():
    shown = []
    read = compilation_reader(shown.append)
    for line in (
        "make: Entering directory '/b'",
        "c++  -I. -MMD -x c++-header Vtop__pch.h -o Vtop__pch.h.fast.gch",
        "ccache c++ -O1 -I. -c -o harness.o ../design/tb/harness.cpp",
        "c++   -I. -DVL_TIME_CONTEXT -include Vtop__pch.h.slow  -c Vtop___024root__Slow.cpp",
        "c++  verilated.o Vtop__ALL.a -o Vtop",
    ):
        read(line)
    assert shown == ["compiling harness.cpp, file 1", "compiling Vtop___024root__Slow.cpp, file 2"]


def test_running_tests_of_the_bench_are_named():
    shown = []
    read = bench_reader(shown.append)
    for line in (
        "c++ -Os -c -o verilated.o /include/verilated.cpp",
        RUNNING.format("back_to_back", 1),
        "       ** test_kws.back_to_back          PASS     2731295.00          15.13  **",
        RUNNING.format("back_pressure", 2),
    ):
        read(line)
    assert shown == [
        "compiling verilated.cpp, file 1",
        "test 1 of 3: back_to_back", "test 2 of 3: back_pressure",
    ]  # fmt: skip
