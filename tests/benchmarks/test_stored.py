"""Stored results: growth is reported, other changes are accepted."""

import importlib
import json

import pytest

from benchmarks import __main__ as command
from benchmarks import stored

KEY = ("network", "cpu")
COSTS = ("instructions", "text_bytes", "const_bytes")
ROW = {
    "network": "a", "cpu": "m4", "instructions": 1000, "text_bytes": 100, "const_bytes": 0,
    "arena_bytes": 50, "stack_bytes": 10, "macs": 7,
}  # fmt: skip


@pytest.mark.parametrize("cost", COSTS)
def test_growth_of_more_than_a_percent_is_reported(cost):
    old = {**ROW, cost: 1000}
    assert stored.grown_costs([{**ROW, cost: 1010}], [old], KEY, COSTS) == []
    assert stored.grown_costs([{**ROW, cost: 900}], [old], KEY, COSTS) == []
    assert stored.grown_costs([{**ROW, cost: 1011}], [old], KEY, COSTS) == [
        f"a m4: {cost} 1,011, 1,000 stored (+1.1 %)"
    ]


def test_something_that_cost_nothing_grows():
    assert stored.grown_costs([{**ROW, "const_bytes": 1}], [ROW], KEY, COSTS) == [
        "a m4: const_bytes 1, 0 stored (+inf %)"
    ]


def test_what_is_no_cost_may_grow():
    assert stored.grown_costs([{**ROW, "macs": 70}], [ROW], KEY, COSTS) == []


def test_rows_that_were_not_stored_are_listed():
    other = {**ROW, "cpu": "m7", "instructions": 9999}
    assert stored.grown_costs([other], [ROW], KEY, COSTS) == []
    assert stored.unmatched([ROW, other], [ROW], KEY) == ["a m7"]


def test_another_machine_is_reported():
    old = {**ROW, "processor": "old"}
    new = {**ROW, "processor": "new", "blas": "Haswell"}
    assert stored.elsewhere([new, new], [old], KEY) == [
        "measured on new with kernels of Haswell, stored on old: not compared"
    ]
    assert stored.elsewhere([old], [old], KEY) == []
    assert stored.elsewhere([ROW], [ROW], KEY) == []
    assert stored.elsewhere([{**new, "cpu": "m7"}], [old], KEY) == []


def test_only_figures_of_one_machine_are_compared():
    old = {**ROW, "processor": "old"}
    more = {"instructions": 2 * ROW["instructions"]}
    assert stored.grown_costs([{**old, **more}], [old], KEY, COSTS)
    assert stored.grown_costs([{**old, **more, "processor": "new"}], [old], KEY, COSTS) == []


def test_lines_are_sorted_and_others_are_kept(tmp_path):
    path = tmp_path / "results" / "x.jsonl"
    assert stored.read(path) == []
    stored.write(path, [ROW], KEY)
    stored.write(path, [{**ROW, "network": "b"}, {**ROW, "network": "0"}], KEY)
    stored.write(path, [{**ROW, "macs": 8}], KEY)
    lines = path.read_text().splitlines()
    assert [(r["network"], r["macs"]) for r in map(json.loads, lines)] == [
        ("0", 7), ("a", 8), ("b", 7),
    ]  # fmt: skip
    assert all(line == json.dumps(json.loads(line), sort_keys=True) for line in lines)


class Benchmark:
    KEY = KEY
    COSTS = COSTS
    rows = ()

    def __init__(self, path):
        self.STORED = path

    def measure(self):
        yield from self.rows


def test_check_and_update(tmp_path, monkeypatch, capsys):
    benchmark = Benchmark(tmp_path / "x.jsonl")
    monkeypatch.setattr(command, "_modules", lambda wanted: [("x", benchmark)])
    monkeypatch.setattr(command, "_render", lambda: None)
    benchmark.rows = [ROW]
    assert command.main(["--check"]) == 0
    assert capsys.readouterr().err == "note: no stored result for a m4\n"
    assert command.main(["--update"]) == 0
    assert command.main(["--check"]) == 0
    benchmark.rows = [{**ROW, "instructions": 1020}]
    capsys.readouterr()
    assert command.main(["--check"]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["benchmark"] == "x"
    assert err == "grown: a m4: instructions 1,020, 1,000 stored (+2.0 %)\n"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_processes_measure_print_and_store(tmp_path, monkeypatch, capfd, processes):
    source = f"""
from pathlib import Path
STORED, KEY, COSTS = Path({str(tmp_path / "x.jsonl")!r}), {KEY!r}, {COSTS!r}
def measure():
    yield {ROW!r}
"""
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"benchmark_of_{processes}"
    (tmp_path / f"{name}.py").write_text(source)
    module = importlib.import_module(name)
    monkeypatch.setattr(command, "_modules", lambda names: [("x/y", module)])
    monkeypatch.setattr(command, "_render", lambda: None)
    assert command.main(["--update", "--executor", processes]) == 0
    assert json.loads(capfd.readouterr().out) == {"benchmark": "x/y", **ROW}
    assert stored.read(module.STORED) == [ROW]


def test_benchmarks_are_found():
    names = [name for name, _ in command._modules([])]
    assert names == [
        "accuracy/costs", "accuracy/losses", "cortexm/cores", "cortexm/cycles", "cortexm/networks",
        "fpga/adders", "fpga/cells", "fpga/clock", "fpga/cycles", "fpga/designs", "fpga/engine",
        "fpga/netlists", "fpga/predicted", "host/costs", "host/integer-models", "host/ratios",
    ]  # fmt: skip
    assert [name for name, _ in command._modules(["networks"])] == ["cortexm/networks"]


def test_costs_that_are_no_counts_have_slack():
    old, new = {**ROW, "errors": 5}, {**ROW, "errors": 7}
    assert stored.grown_costs([new], [old], KEY, {"errors": 2}) == []
    assert len(stored.grown_costs([{**ROW, "errors": 8}], [old], KEY, {"errors": 2})) == 1
