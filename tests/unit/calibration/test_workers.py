"""Quantization on several workers: the same bytes of the network and of its report."""

import json

import numpy as np
import pytest

import rlx
from rlx.calibration.observers import Observer
from rlx.cli import main
from rlx.ir.file import save, to_file_bytes
from rlx.metrics.histogram import Histogram
from support.networks.quantized_net import float_network, samples

CALIB = samples(300, 1)
"""Three parts: the last one is not full."""


@pytest.mark.parametrize("scales", [(1, 1), (1e-6, 1e6), (1e6, 1e-6), (0, 1), (1, 0)])
def test_merged_histograms_are_one(scales):
    rng = np.random.default_rng(2)
    parts = [scale * rng.standard_normal(100) for scale in scales]
    whole, merged = Histogram(), Histogram()
    for part in parts:
        whole.add(part)
        other = Histogram()
        other.add(part)
        merged.merge(other)
    merged.merge(Histogram())
    assert merged.counts.tolist() == whole.counts.tolist()
    for field in ("zeros", "minimum", "maximum", "exponent", "first", "total"):
        assert getattr(merged, field) == getattr(whole, field)


def test_merged_observers_are_one():
    x = np.random.default_rng(4).standard_normal((50, 3)).astype(np.float32)
    whole, merged = Observer(), Observer()
    whole.add(x)
    for part in (x[:20], x[20:]):
        other = Observer()
        other.add(part)
        merged.merge(other)
    assert merged.average == whole.average != None  # noqa: E711
    assert Observer().average is None


@pytest.mark.slow
@pytest.mark.parametrize("observer", ["mse", "moving-average"])
def test_the_number_of_workers_changes_no_byte(observer):
    results = []
    for executor in (None, 1, 2, 3):
        found = rlx.quantize(
            float_network(), CALIB, weights="auto", bits=5, observer=observer, executor=executor,
            min_sqnr=-np.inf, min_agreement=0.0,
        )  # fmt: skip
        results.append((to_file_bytes(found.module), json.dumps(found.report.as_json())))
    assert all(result == results[0] for result in results)


@pytest.mark.slow
def test_the_command_line_writes_the_same(tmp_path, capsys):
    save(float_network(), tmp_path / "net.rlx")
    np.save(tmp_path / "calib.npy", CALIB)
    written = []
    for options in ([], ["--executor", "2"]):
        out = tmp_path / f"{len(options)}.rlx"
        arguments = ["quantize", tmp_path / "net.rlx", "--calib", tmp_path / "calib.npy", "-o", out]
        assert main([*map(str, arguments), *options]) == 0
        written.append(out.read_bytes())
    assert written[0] == written[1]


@pytest.mark.slow
def test_the_first_bad_sample_is_named_whoever_meets_it(tmp_path, capsys):
    bad = CALIB.copy()
    bad[200:, 0] = np.nan
    np.save(tmp_path / "calib.npy", bad)
    save(float_network(), tmp_path / "net.rlx")
    printed = []
    for options in ([], ["--executor", "2"]):
        arguments = [
            "quantize", tmp_path / "net.rlx", "--calib", tmp_path / "calib.npy",
            "-o", tmp_path / "q.rlx", "--progress", "none",
        ]  # fmt: skip
        assert main([*map(str, arguments), *options]) == 2
        printed.append(capsys.readouterr().err)
    assert printed[0] == printed[1]
    assert "sample 200 holds NaN" in printed[0]
