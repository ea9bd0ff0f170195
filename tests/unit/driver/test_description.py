"""``report/network.json``: what lies beside an emitted network for its report."""

import json
from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.driver.description import BINS, NETWORK, network_text, weight_figures
from rlx.ir import DType, Graph, GraphModule, QuantParams, TensorType
from rlx.passes.boundaries import Ports
from rlx.reports.collect import collect
from rlx.support.files.golden import read_golden
from rlx.support.files.outputs import Producer, write_folder
from rlx.targets import Emission

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.rlx"


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emitted") / "c"
    emission = rlx.emit(DIGITS, "cortexm", folder, frames=1)
    return json.loads((folder / NETWORK).read_text()), emission.report


def test_layers_are_those_of_the_target(described):
    network, report = described
    assert [one["name"] for one in network["layers"]] == [row["name"] for row in report["layers"]]
    found = [one["figures"]["instructions"] for one in network["layers"]]
    assert found == [row["instructions"] for row in report["layers"]]
    assert network["totals"]["instructions"] == sum(found)


def test_a_chain_is_a_chain(described):
    network, _ = described
    assert [one["inputs"] for one in network["layers"]] == [[k - 1] for k in range(6)]
    assert network["inputs"][0]["shape"] == [1, 8, 8, 1]
    assert network["outputs"][0]["name"] == "probabilities"


def test_memory_lies_inside_the_arena(described):
    network, report = described
    memory = network["memory"]
    assert memory["bytes"] == report["arena_bytes"]
    assert max(box["offset"] + box["bytes"] for box in memory["boxes"]) == memory["bytes"]
    assert all(0 <= box["first"] <= box["last"] < 6 for box in memory["boxes"])
    assert any(box["scratch"] for box in memory["boxes"])


def test_the_same_network_gives_the_same_bytes(tmp_path):
    for name in "ab":
        rlx.emit(DIGITS, "cortexm", tmp_path / name, frames=1)
    first, second = ((tmp_path / name / NETWORK).read_bytes() for name in "ab")
    assert first == second


@pytest.mark.slow
@pytest.mark.complete
@pytest.mark.parametrize("architecture", ["dataflow", "engine"])
def test_hardware_layers_have_their_predictions(tmp_path, architecture):
    emission = rlx.emit(DIGITS, "fpga", tmp_path / "f", frames=1, architecture=architecture)
    network = json.loads((tmp_path / "f" / NETWORK).read_text())
    assert [one["figures"]["cycles"] for one in network["layers"]] == [
        row["cycles"] for row in emission.report["layers"]
    ]
    assert [one["inputs"] for one in network["layers"]][:2] == [[-1], [0]]
    assert network["memory"] is None


@pytest.mark.parametrize(
    ("target", "io"),
    [
        ("fpga", "int8"), ("fpga", "uint8"), ("cortexm", "int8"), ("cortexm", "uint8"),
        ("cortexm", "float"), ("host", "int8"), ("host", "uint8"), ("host", "float"),
    ],
)  # fmt: skip
def test_ports_are_those_of_the_program(tmp_path, target, io):
    rlx.emit(DIGITS, target, tmp_path / "x", frames=1, io=io)
    network = json.loads((tmp_path / "x" / NETWORK).read_text())
    golden = read_golden(tmp_path / "x")
    ports = network["inputs"] + network["outputs"]
    arrays = (*golden.inputs, *golden.outputs)
    assert [DType(port["dtype"]).numpy for port in ports] == [array.dtype for array in arrays]
    assert [port["shape"] for port in ports] == [list(array.shape[1:]) for array in arrays]
    zero_points = [port["quant"] and port["quant"][1] for port in ports]
    assert zero_points == [{"int8": -128, "uint8": 0, "float": None}[io]] * 2


def test_states_are_not_converted_at_the_ports():
    graph = Graph("net")
    code = TensorType((1, 4), DType.I8, QuantParams.per_tensor(0.5, 3))
    x = graph.input("x", code)
    kept = graph.state("kept", code)
    graph.output(x, kept, names=["y", "kept"])
    text = network_text(GraphModule.mir(graph), Emission(files={}), Ports(inverts=True))
    network = json.loads(text)
    assert [(p["name"], p["dtype"], p["quant"]) for p in network["inputs"]] == [
        ("x", "u8", [0.5, 131]), ("kept", "i8", [0.5, 3])
    ]  # fmt: skip
    assert [(p["name"], p["dtype"]) for p in network["outputs"]] == [("y", "u8")]


def test_weights_in_numbers():
    found = weight_figures(np.arange(-128, 128, dtype=np.int8))
    assert found["elements"] == 256
    assert (found["low"], found["high"], found["zeros"], found["step"]) == (-128, 127, 1, 8)
    assert found["counts"] == [8] * BINS
    assert weight_figures(np.array([-1, 0, 1, 1], np.int8))["counts"] == [1, 1, 2]
    assert sum(weight_figures(np.linspace(0, 1, 50, dtype=np.float32))["counts"]) == 50
    assert weight_figures(np.zeros(4, np.float32))["counts"][0] == 4


def test_a_target_that_names_no_nodes_has_a_report(tmp_path):
    module = rlx.load(DIGITS).module
    emission = Emission(files={}, report={"layers": [{"name": "all", "cycles": 5}], "cycles": 5})
    text = network_text(module, emission)
    network = json.loads(text)
    assert [one["name"] for one in network["layers"]][:2] == ["conv1", "pool"]
    assert all(one["figures"] == {} for one in network["layers"])
    write_folder(
        tmp_path / "x", {NETWORK: text}, producer=Producer(rlx_version="1", target="other")
    )
    report = collect(tmp_path / "x")
    assert all(one.predicted is None and one.share == 0 for one in report.layers)
    assert "<title>digits: other" in report.to_html()
    assert report.to_csv().count("\n") == len(report.layers) + 1
    assert report.command == "rlx emit MODEL --target other -o FOLDER"
