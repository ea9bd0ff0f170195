"""Networks under test: missing simulators, limits, wrong outputs."""

import pytest

import rlx_sim.toolchain
import rlx_sim.verify
from rlx.support.errors import DifferenceError, ToolMissingError, UsageError
from rlx.testing import Networks
from support import ROOT

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
