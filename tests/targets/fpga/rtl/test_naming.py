"""Names of ports and signals."""

from __future__ import annotations

import pytest
from amaranth import Signal

from rlx_fpga.rtl.naming import Names, port_name


@pytest.mark.parametrize(
    ("path", "name"),
    [(("i", "payload"), "in_data"), (("o12", "ready"), "out12_ready"), (("i", 0), "in_0"),
     (("io", "oi"), "io_oi"), (("payload3",), "data3")],
)  # fmt: skip
def test_ports_are_called_in_out_and_data(path, name):
    assert port_name(path) == name


def test_a_signal_keeps_its_first_name_and_joined_ones_share_the_last():
    names, signals = Names(("clk",)), [Signal(name=f"s{k}") for k in range(4)]
    for signal in signals:
        names.give(signal, "clk")
    names.give(signals[0], "other")
    assert [names.of(one) for one in signals] == ["clk_2", "clk_3", "clk_4", "clk_5"]
    assert names.free("other") == "other", "it was not taken"
    names.join(signals[0], signals[1])
    names.join(signals[1], signals[2])
    assert [names.of(one) for one in signals] == ["clk_4", "clk_4", "clk_4", "clk_5"]
