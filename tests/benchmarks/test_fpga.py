"""The stored figures of hardware are whole, and the page shows them."""

from statistics import median

import pytest

from benchmarks import stored
from benchmarks.fpga import adders, cells, clock, cycles, engine, folds, points, predicted, table
from rlx_fpga.devices import device


@pytest.mark.parametrize("path", table.files(), ids=lambda path: path.name)
def test_page_shows_what_is_stored(path):
    advice = "run python -m benchmarks fpga/predicted --update"
    assert path.read_text(encoding="utf-8") == table.files()[path], advice


def test_every_point_is_predicted():
    rows = {points.point_of(row): row for row in stored.read(predicted.STORED)}
    assert set(rows) == {
        (name, device, budget)
        for name in points.NETWORKS
        for device, budgets in points.BUDGETS.items()
        for budget in budgets
    }
    for (_, _, budget), row in rows.items():
        assert row["multipliers"] <= budget
        assert row["interval"] == max(layer["cycles"] for layer in row["layers"])
        assert row["interval"] >= points.bound(row)


def test_every_point_was_simulated_and_keeps_its_prediction():
    rows = {points.point_of(row): row for row in stored.read(cycles.STORED)}
    assert rows.keys() == {points.point_of(row) for row in stored.read(predicted.STORED)}
    assert all(row["interval"] == row["predicted"] for row in rows.values())


def test_latency_is_two_intervals_and_the_fill_of_line_buffers_and_as_predicted():
    predictions = {points.point_of(row): row for row in stored.read(predicted.STORED)}
    for found in stored.read(cycles.STORED):
        mine = predictions[points.point_of(found)]
        if not folds.is_current(found, mine):
            # Of an earlier design: the page says so.
            continue
        assert found["latency"] <= (2 + mine["fill"]) * found["interval"], found
        assert abs(mine["latency"] - found["latency"]) <= 0.004 * found["latency"], found


def test_every_point_was_synthesized():
    found = {points.point_of(row) for row in stored.read(cells.STORED)}
    assert found == {points.point_of(row) for row in stored.read(predicted.STORED)}


def test_clocks_are_medians_of_three_seeds_and_fast_enough():
    predictions = {points.point_of(row): row for row in stored.read(predicted.STORED)}
    found = {points.point_of(row): row for row in stored.read(clock.STORED)}
    assert found.keys() == {point for point in predictions if device(point[1]).pnr}
    for point, row in found.items():
        assert folds.is_current(row, predictions[point])
        assert len(row["seeds"]) == clock.SEEDS
        assert row["fmax_mhz"] == round(median(row["seeds"]), 1)
        assert row["fmax_mhz"] >= 75


def test_budgets_are_those_of_the_devices():
    for name, budgets in points.BUDGETS.items():
        assert sorted(set(budgets)) == [*budgets]
        assert budgets[-1] == device(name).dsp


def test_every_network_has_engines_for_small_devices():
    rows = {tuple(row[name] for name in engine.KEY): row for row in stored.read(engine.STORED)}
    assert set(rows) == {(n, *design) for n in points.NETWORKS for design in engine.DESIGNS}
    assert rows["TinyConv", "ice40-up5k", "mem"]["bram_percent"] <= 100
    for network in points.NETWORKS:
        row = rows[network, "ice40-up5k", "stream"]
        assert max(row["bram_percent"], row["spram_percent"]) <= 100


def test_adders_of_the_first_convolution_are_the_stored_ones():
    row = next(adders.measure())
    assert stored.grown_costs([row], stored.read(adders.STORED), adders.KEY, adders.COSTS) == []


def test_prediction_of_tinyconv_is_the_stored_one():
    row = predicted.row(points.Point("TinyConv", "ecp5-85k", 156))
    before = stored.read(predicted.STORED)
    assert stored.grown_costs([row], before, predicted.KEY, predicted.COSTS) == []
    assert row["interval"] <= 1_500
    assert row["busy"] >= 0.9


def test_busy_is_that_of_the_slowest_array():
    layers = [
        {"macs": 100, "pe": 2, "simd": 5, "cycles": 10},
        {"macs": 90, "pe": 1, "simd": 3, "cycles": 40},
        {"macs": 0, "pe": 1, "simd": 1, "cycles": 50},
    ]
    assert predicted.busy(layers, 50) == 0.6
