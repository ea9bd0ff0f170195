"""Numbers with units."""

import pytest

from rlx.cli import main
from rlx.support.text.units import parse_bytes, parse_clock, parse_count
from support.messages import raises


def test_clock_is_read_from_text():
    texts = ("100MHz", "33.5 MHz", "12000000", "1GHz", "8k", "50Hz", "1.5mhz".upper())
    hertz = [100e6, 33.5e6, 12e6, 1e9, 8e3, 50.0, 1.5e6]
    assert [parse_clock(text) for text in texts] == hertz
    for text in ("fast", "0MHz", "0", "-3", "1e8", ""):
        with raises(ValueError):
            parse_clock(text)


@pytest.mark.parametrize("text", ["50", "999999", "12.5"])
def test_small_clock_without_a_unit_is_refused(text):
    with raises(ValueError):
        parse_clock(text)


@pytest.mark.parametrize("command", ["emit", "estimate", "build"])
def test_every_command_reads_a_clock_in_the_same_way(tmp_path, capsys, digits_model, command):
    arguments = {
        "emit": [digits_model, "--target", "fpga", "-o", tmp_path / "out"],
        "estimate": [digits_model, "--target", "fpga"],
        "build": [tmp_path],
    }[command]
    assert main([command, *map(str, arguments), "--clock", "50"]) == 2
    error = capsys.readouterr().err.splitlines()[0]
    assert error == "error[RLX-E001]: --clock: '50' would be 50 Hz: did you mean 50MHz?"


def test_bytes_are_read_from_text():
    texts = ("0", "640", " 640 B ", "32K", "32k", "32 KiB", "32kb", "32KB", "1.5M", "2MiB", "1G")
    numbers = [0, 640, 640, 32768, 32768, 32768, 32768, 32768, 1572864, 2 << 20, 1 << 30]
    assert [parse_bytes(text) for text in texts] == numbers
    for text in ("lots", "-1", "1.5", "0.3K", "64 K B", "K", "1e3", ""):
        with raises(ValueError):
            parse_bytes(text)


def test_counts_are_read_from_text():
    texts = ("0", "12000", "12k", "2.8M", "1G")
    assert [parse_count(text) for text in texts] == [0, 12_000, 12_000, 2_800_000, 10**9]
    for text in ("few", "-1", "1.5", "2.8MHz", "0.0025K", ""):
        with raises(ValueError):
            parse_count(text)
