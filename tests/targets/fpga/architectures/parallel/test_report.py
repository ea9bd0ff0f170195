"""The report of a parallel design: totals are those of its layers and queues."""

import pytest
from targets.fpga.architectures.parallel.test_design import choice, core_of, network

from rlx_fpga import FpgaOptions
from rlx_fpga.architectures import architecture
from rlx_fpga.cells.credit import LATENCY as QUEUE_LATENCY


@pytest.mark.parametrize("make", [network, choice])
def test_totals_are_sums_of_layers(make):
    core = core_of(make())
    report, design = core.report, core.component
    rows = report["layers"]
    assert report["adders"] == sum(row["adders"] for row in rows) > 0
    assert report["adder_bits"] == sum(row["adder_bits"] for row in rows) > report["adders"]
    for name in ("lut", "ff"):
        ports = getattr(design.costs("xc7")["ports"], name)
        own = core.report_for(FpgaOptions(architecture="parallel", device="artix7-100t"))
        assert own[name] == sum(row[name] for row in own["layers"]) + ports
        assert ports > 0
    assert (report["interval"], report["multipliers"], report["dsp"]) == (1, 0, 0)
    assert report["fps"] == round(report["clock_mhz"] * 1e6, 2)


def test_the_latency_is_that_of_the_slowest_way_to_an_output():
    core = core_of(network())
    cycles = {row["op"]: row["latency"] for row in core.report["layers"]}
    # The sum waits for the dense layer, which has the same operand.
    way = ("q.max_pool2d", "q.reshape", "q.dense", "q.add")
    assert core.report["latency"] == sum(cycles[op] for op in way) + QUEUE_LATENCY


@pytest.mark.parametrize("make", [network, choice])
def test_queues_hold_a_frame_for_every_cycle_of_the_pipeline(make):
    core = core_of(make())
    bits = {value: value.type.size * value.type.dtype.bits for value in core.graph.outputs}
    frames, rest = divmod(core.report["memory_bits"], sum(bits.values()))
    assert rest == 0
    assert frames == core.component.depth > core.component.latency


def test_ports_carry_a_whole_tensor_in_a_beat():
    core = core_of(choice())
    ports = [(port.member, port.lanes) for port in (*core.inputs, *core.outputs)]
    assert ports == [("i", 48), ("o0", 3), ("o1", 1)]


def test_columns_hold_the_figures_of_their_headings():
    report = core_of(network()).report
    table = architecture("parallel").layers("net", report)
    keys = ("macs", "latency", "adders", "lut", "ff", "adder_bits")
    headings = ("MACs", "latency, cycles", "adders", "LUT", "FF", "adder bits")
    assert tuple(column.title for column in table.columns) == ("layer", "op", *headings)
    for row, layer in zip(table.rows, report["layers"], strict=True):
        assert row == (layer["name"], layer["op"][2:], *(layer[key] for key in keys))
    totals = [column.total for column in table.columns[3:]]
    assert totals == [report[key] for key in keys[1:]]
    # What matters most is what takes most of the device: the tables of the sum.
    assert table.rows[table.emphasis][1] == "add"
