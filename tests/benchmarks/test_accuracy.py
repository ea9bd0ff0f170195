"""Benchmarks of accuracy: the page is current, and what is stored keeps the limits."""

import numpy as np
import pytest

from benchmarks import stored
from benchmarks.accuracy import costs, data, losses, table

ROWS = {(row["network"], row["weights"]): row for row in stored.read(losses.STORED)}


def test_page_is_current():
    advice = "python -m benchmarks accuracy --update"
    assert table.PAGE.read_text(encoding="utf-8") == table.page(), advice


def test_every_network_is_stored():
    assert set(ROWS) == set(table.LIMITS)


@pytest.mark.parametrize(
    ("network", "weights", "points"),
    [
        ("VWW", "8", 0.3), ("VWW, ONNX", "8", 0.3), ("VWW", "auto", 1.0), ("KWS", "8", 0.3),
        ("KWS", "auto", 1.0),
        ("TinyConv", "8", 0.2), ("TinyConv", "4", 0.5), ("TinyConv", "2", 3.0),
    ],
)  # fmt: skip
def test_labelled_networks_lose_at_most(network, weights, points):
    row = ROWS[network, weights]
    assert 100 * (row["float"] - row["integer"]) <= points + 1e-9


def test_other_limits():
    assert ROWS["VWW", "8"]["integer"] >= 0.848
    assert all(ROWS[name, "auto"]["mean_bits"] <= 5 for name in ("VWW", "KWS", "IC"))
    for name in ("IC", "IC, ONNX"):
        assert ROWS[name, "8"]["agreement"] >= 0.976
    assert ROWS["AD", "8"]["reconstruction_ratio"] <= 1.03


def test_memory_does_not_grow_with_samples():
    rows = {row["task"]: row for row in stored.read(costs.STORED)}
    assert rows["quantize VWW, 1000 samples"]["memory_ratio"] <= 1.1


def test_no_sample_is_both_seen_and_tested():
    samples = np.arange(101)[:, np.newaxis].astype(np.float32)
    network = data.FloatNetwork("net", data.FLOAT_MODEL, lambda: (samples, samples[:, 0]), 20)
    tested = []
    for calib, test in network.folds():
        assert len(calib["x"]) == 20
        assert not set(calib["y"]) & set(test["y"])
        tested += test["y"].tolist()
    assert sorted(tested) == samples[:, 0].tolist()


@pytest.mark.models
def test_stored_figures_are_what_is_measured(shared):
    row = losses.row("TinyConv", "8")
    assert row["errors"] == pytest.approx(ROWS["TinyConv", "8"]["errors"], abs=2)
