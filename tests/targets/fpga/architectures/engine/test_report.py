"""The report of an engine: its figures follow from the layers, and add up."""

import pytest
from targets.fpga.architectures.engine.test_design import network
from targets.fpga.architectures.engine.test_lower import dense

from rlx.ir import Graph, i8
from rlx.ir.module import GraphModule, Stage
from rlx.ops.q import QConcat
from rlx_fpga import FpgaOptions
from rlx_fpga.architectures import architecture
from rlx_fpga.architectures.engine.lower import assemble


def report_of(graph, **given):
    options = FpgaOptions(architecture="engine", **given)
    return architecture("engine").build(GraphModule(graph, Stage.MIR), options).report


def test_layers_have_the_products_and_lanes_of_their_ops():
    report = report_of(network(), dsp=9)
    # A padded convolution of 16 pixels, a sum, a pool, and a dense layer; no layer for a reshape.
    assert [(row["op"], row["macs"], row["lanes"]) for row in report["layers"]] == [
        ("q.conv2d", 16 * 27 * 3, 3), ("q.add", 0, 1), ("q.max_pool2d", 0, 1),
        ("q.dense", 12 * 5, 4), ("q.softmax", 0, 0), ("q.argmax", 0, 0),
    ]  # fmt: skip
    # Both are computed while five results of the dense layer are sent.
    assert [row["cycles"] for row in report["layers"][-2:]] == [5 + 1, 5 + 1]
    assert report["slowest"] == "conv2d"
    assert set(report["sources"]) == {row["name"] for row in report["layers"]}


def test_a_layer_with_several_instructions_has_one_row():
    graph = Graph("joined")
    x, y = graph.input("x", i8(1, 4)), graph.input("y", i8(1, 3))
    graph.output(graph.apply(QConcat(axis=1), x, y))
    program = assemble(graph, 8)
    (row,) = report_of(graph, dsp=8)["layers"]
    assert (row["name"], len(program.instructions)) == ("concat", 2)
    assert row["cycles"] == sum(map(program.cycles, program.instructions))


def test_a_dense_layer_keeps_the_lanes_busy_and_takes_the_memory_of_its_numbers():
    report = report_of(dense(8), dsp=8)
    # 64 inputs, two blocks of four results, and what surrounds them.
    (row,) = report["layers"]
    assert row["cycles"] == 2 * 64 + 16 + 4 + 1
    assert report["interval"] == 64 + 1 + row["cycles"] + 9
    assert report["busy"] == round(64 * 8 / (4 * report["interval"]), 4)
    assert report["weight_bits"] == 8 * 64 * 8
    assert report["activation_bits"] == 8 * (64 + 8)
    assert report["table_bits"] == 0
    assert report["memory_bits"] == 8 * (64 * 8 + 64 + 8)
    assert report["fps"] == round(report["clock_mhz"] * 1e6 / report["interval"], 2)


def test_tables_have_256_numbers_of_32_bits():
    report = report_of(network(), dsp=9)
    assert report["table_bits"] == 2 * 256 * 32
    sizes = ("activation_bits", "weight_bits", "table_bits")
    assert report["memory_bits"] == sum(report[name] for name in sizes)


@pytest.mark.parametrize(
    ("given", "weights", "spram"),
    [
        ({}, None, None),
        ({"weights": "load"}, "load", None),
        ({"weights": "stream"}, "stream", None),
        ({"weights": "stream", "device": "ice40-up5k", "dsp": 8}, "stream", 2),
    ],
)
def test_ways_to_load_weights_and_spram_are_reported(given, weights, spram):
    """Weights of four bytes a word take two SPRAMs, which have words of two."""
    report = report_of(dense(8), **{"dsp": 9, **given})
    assert (report.get("weights"), report.get("spram")) == (weights, spram)


def test_columns_hold_the_figures_of_their_headings():
    report = report_of(network(), dsp=9)
    table = architecture("engine").layers("net", report)
    assert [column.title for column in table.columns] == [
        "layer", "op", "MACs", "lanes", "cycles", "%",
    ]  # fmt: skip
    for row, layer in zip(table.rows, report["layers"], strict=True):
        assert row[:5] == (
            layer["name"], layer["op"][2:], layer["macs"], layer["lanes"], layer["cycles"],
        )  # fmt: skip
        assert abs(int(row[5]) - 100 * layer["cycles"] / report["interval"]) <= 0.5
    macs, cycles = table.columns[2].total, table.columns[4].total
    assert (macs, cycles) == (16 * 27 * 3 + 12 * 5, report["interval"])
