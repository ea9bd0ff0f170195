"""Networks under test: missing simulators, limits, wrong outputs."""

import numpy as np
import pytest

import rlx
import rlx_sim.toolchain
import rlx_sim.verify
from rlx.support.errors import (
    DifferenceError,
    TargetNotFoundError,
    ToolMissingError,
    UsageError,
)
from rlx.testing import Networks
from support import ROOT
from support.messages import raises

MODEL = ROOT / "examples/digits/digits.tflite"
ARM = ("arm-none-eabi-gcc", "zig", "qemu-system-arm", "unicorn")


@pytest.fixture
def plain(monkeypatch):
    """A machine with nothing for ARM."""
    real = rlx_sim.toolchain._search
    monkeypatch.setattr(
        rlx_sim.toolchain, "_search", lambda name: None if name in ARM else real(name)
    )


def build(tmp_path, missing="fail", tools=None):
    """Return the network for a microcontroller."""
    network = Networks({}, tmp_path, missing=missing).load(MODEL)
    return network.on("cortexm", frames=2, tools=tools)


def test_a_test_does_not_pass_for_a_missing_simulator(tmp_path, plain):
    with pytest.raises(ToolMissingError, match="C on a cortex-m4: no compiler, no emulator"):
        _ = build(tmp_path).passed
    with pytest.raises(pytest.skip.Exception, match="C on a cortex-m4: no compiler"):
        _ = build(tmp_path / "skip", "skip").passed
    allowed = build(tmp_path / "allow", "allow")
    assert allowed.passed
    assert [one.name for one in allowed.verification.not_run] == ["qemu"]
    with pytest.raises(UsageError, match=r"no figure 'text_bytes'; not measured: .*qemu"):
        allowed.require(text_bytes=1)
    assert build(tmp_path / "host", tools=("host",)).passed
    with pytest.raises(ToolMissingError, match="zig is not installed"):
        _ = build(tmp_path / "named", "allow", tools=("unicorn",)).passed


def test_targets_and_options_are_checked_before_a_figure_is_read(tmp_path):
    network = Networks({}, tmp_path).load(MODEL)
    with raises(TargetNotFoundError):
        network.on("cortex")
    with raises(UsageError):
        network.on("cortexm", cpuu="cortex-m4")
    with raises(UsageError):
        network.on("cortexm", cpu="cortex-m99")
    network.on("cortexm", cpu="cortex-m4", policies="common")
    assert not list(tmp_path.iterdir())


def test_limits_are_kept_or_shown(tmp_path):
    net = build(tmp_path, tools=("host",))
    assert net.require(macs=25_600) is net
    with pytest.raises(DifferenceError) as caught:
        net.require(macs=20_000)
    assert caught.value.message == "macs: expected at most 20,000, got 25,600 (+5,600)"
    assert f"rlx report {net.folder} --html report.html" in caught.value.hint
    with pytest.raises(UsageError, match="no figure 'mac'\n  hint: figures: "):
        net.require(mac=1)


def test_wrong_outputs_are_listed_and_figures_refused(tmp_path, monkeypatch):
    wrong = {
        "simulator": "host", "frame": 1, "output": 0, "element": 3, "expected": 5, "actual": 7,
    }  # fmt: skip
    real = rlx_sim.verify._summary

    def summary(*arguments):
        from dataclasses import replace

        return replace(real(*arguments), mismatches=(wrong,), equal=1)

    monkeypatch.setattr(rlx_sim.verify, "_summary", summary)
    net = build(tmp_path, tools=("host",))
    assert not net.passed
    for use in (net.require, lambda: net.macs):
        with pytest.raises(DifferenceError) as caught:
            use()
        assert caught.value.message == (
            "1 of 2 vectors give the reference's bits\n"
            "host differs: 1 element in 1 frame; the first: frame 1, output 0, element 3,"
            " expected 5, got 7"
        )
        assert caught.value.hint == f'rlx.verify("{net.folder}")'


def test_run_takes_samples_as_rlx_run_does(tmp_path):
    network = Networks({}, tmp_path).load(MODEL)
    images = np.load(ROOT / "examples/digits/samples.npz")["image"][:5]
    expected = rlx.run(MODEL, images).codes
    image = network.module.graph.inputs[0]
    for data in (images, {image.name: images}, images.reshape(5, *image.type.static_shape)):
        (outputs,) = network.run(data)
        np.testing.assert_array_equal(outputs, expected)
    np.testing.assert_array_equal(network.run(images[0])[0], expected[:1])


def test_run_takes_an_argument_for_each_input_and_steps_of_a_state(tmp_path):
    graph = rlx.Graph("counter")
    x, y = graph.input("x", 2, "i32"), graph.input("y", 2, "i32")
    total = graph.state("total", 2, "i32")
    graph.set_state(total, total + x * y)
    graph.output(sum=total + x * y)
    rlx.save(graph.module, tmp_path / "counter.rlx")
    network = Networks({}, tmp_path / "work").load(tmp_path / "counter.rlx")
    numbers = np.arange(6, dtype=np.int32).reshape(3, 2)
    (outputs,) = network.run(numbers, numbers)
    np.testing.assert_array_equal(outputs, np.cumsum(numbers**2, axis=0))
    with raises(UsageError):
        network.run(numbers, numbers, numbers)
    with raises(UsageError):
        network.run({"x": numbers, "y": numbers, "total": numbers})
