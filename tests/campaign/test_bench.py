"""The disturbed 4-state bench: no violations, and the bench sees what is wrong."""

from __future__ import annotations

import pytest

from campaign import bench
from rlx_fpga.architectures.dataflow.lower import shape
from rlx_fpga.cells.concat import Concat

SHORT_CYCLES = 1_000


@pytest.mark.sim
@pytest.mark.parametrize("case", [c for c in bench.cases(1) if "/random" not in f"/{c}"])
def test_disturbed_designs_break_nothing(case: str) -> None:
    result = bench.run(case, SHORT_CYCLES)
    assert result.findings == []
    assert result.violations == 0
    assert not result.cycles or result.frames > 0


@pytest.mark.sim
def test_the_bench_sees_wrong_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    words = bench._words
    monkeypatch.setattr(
        bench, "_words", lambda a, p: words(~a if p["name"].startswith("m") else a, p)
    )
    result = bench.run("one_tap/dataflow/0", SHORT_CYCLES)
    assert result.violations > 0
    assert "wrong tdata" in result.findings[0]


@pytest.mark.sim
def test_the_bench_sees_a_frame_that_begins_before_its_input(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(shape, "Concat", lambda lanes, runs, *, leading: Concat(lanes, runs))
    # A queue holds the constants back until the source pauses for longer.
    result = bench.run("constants/dataflow/0", 20 * SHORT_CYCLES)
    assert "m_axis: a frame before its input" in result.findings[0]


def test_cases_are_the_same_every_time() -> None:
    names = list(bench.cases())
    assert names == list(bench.cases())
    assert len(set(names)) == len(names)
