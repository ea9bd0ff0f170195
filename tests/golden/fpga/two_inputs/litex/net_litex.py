"""net_top as a LiteX module: streams as endpoints, sources added to the platform.

    net = Net(platform)
    self.submodules.net = net
    self.comb += [dma.source.connect(net.sink0), net.source.connect(other.sink)]
"""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import ClockSignal, Instance, ResetSignal

ROOT = Path(__file__).resolve().parent.parent
SOURCES = [
    "rtl/net_core.sv",
    "rtl/net_top.sv",
]


class Net(LiteXModule):
    """The core in clock domain ``sys``; a frame's last beat out has ``last`` set."""

    def __init__(self, platform):
        self.sink0 = stream.Endpoint([("data", 24)])
        self.sink1 = stream.Endpoint([("data", 24)])
        self.source = stream.Endpoint([("data", 24)])
        self.specials += Instance(
            "net_top",
            i_clk_i=ClockSignal("sys"),
            i_rst_ni=~ResetSignal("sys"),
            i_s0_axis_tdata=self.sink0.data,
            i_s0_axis_tvalid=self.sink0.valid,
            o_s0_axis_tready=self.sink0.ready,
            i_s0_axis_tlast=self.sink0.last,
            i_s1_axis_tdata=self.sink1.data,
            i_s1_axis_tvalid=self.sink1.valid,
            o_s1_axis_tready=self.sink1.ready,
            i_s1_axis_tlast=self.sink1.last,
            o_m_axis_tdata=self.source.data,
            o_m_axis_tvalid=self.source.valid,
            i_m_axis_tready=self.source.ready,
            o_m_axis_tlast=self.source.last,
        )
        for source in SOURCES:
            platform.add_source(str(ROOT / source))
