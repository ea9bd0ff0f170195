"""The ``.rlx`` file: it reads back, has the same bytes every time, and refuses what is damaged."""

import hashlib
import json
import re
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from rlx.ir import Graph, GraphModule, Stage, i8
from rlx.ir.evaluate import evaluate
from rlx.ir.file import VERSION, load, save, to_file_bytes
from rlx.ir.hash import structural_hash
from rlx.ir.printer import format_graph
from rlx.memory import to_lir
from rlx.support.errors import FrontendError, OutputError, UsageError, VerifyError
from rlx.support.limits import Limits
from strategies import random_graphs
from support.files.mutation import mutate
from support.messages import raises
from support.networks.ir_samples import (
    SAMPLES,
    clamp_graph,
    every_element_type,
    network,
    regions,
    several_results,
)


def test_a_graph_is_saved_as_its_module(tmp_path):
    save(network(), tmp_path / "graph.rlx")
    save(GraphModule.hir(network()), tmp_path / "module.rlx")
    assert (tmp_path / "graph.rlx").read_bytes() == (tmp_path / "module.rlx").read_bytes()
    with raises(UsageError):
        save("graph", tmp_path / "other.rlx")
    assert not (tmp_path / "other.rlx").exists()


@pytest.fixture
def planned():
    return to_lir(GraphModule.mir(network()))


@pytest.mark.parametrize("make", SAMPLES.values(), ids=SAMPLES)
def test_file_reads_back(make, tmp_path):
    module = GraphModule.mir(make())
    save(module, tmp_path / "model.rlx")
    restored = load(tmp_path / "model.rlx")
    assert format_graph(restored.graph) == format_graph(module.graph)
    assert structural_hash(restored.graph) == structural_hash(module.graph)
    assert (restored.stage, restored.plan) == (Stage.MIR, None)
    assert to_file_bytes(restored) == (tmp_path / "model.rlx").read_bytes()
    assert not any(v.constant is not None and v.constant.flags.writeable
                   for v in restored.graph.outputs)  # fmt: skip


def test_stage_and_plan_read_back(planned, tmp_path):
    save(planned, tmp_path / "model.rlx")
    restored = load(tmp_path / "model.rlx")
    assert restored.stage is Stage.LIR
    assert [n.index for n in restored.plan.schedule] == [n.index for n in planned.plan.schedule]
    assert (restored.plan.arena_bytes, restored.plan.alignment) == (
        planned.plan.arena_bytes, planned.plan.alignment,
    )  # fmt: skip
    for new, old in zip(restored.plan.placements, planned.plan.placements, strict=True):
        assert new.value.node is restored.graph.nodes[old.value.node.index]
        assert (new.region, new.offset, new.nbytes, new.first, new.last) == (
            old.region, old.offset, old.nbytes, old.first, old.last,
        )  # fmt: skip
        assert (new.alias_of is None) == (old.alias_of is None)
    assert any(p.alias_of is not None for p in restored.plan.placements)


@given(random_graphs(size=3))
def test_networks_compute_the_same_after_reading(tmp_path_factory, case):
    path = tmp_path_factory.mktemp("file") / "model.rlx"
    save(GraphModule.mir(case.graph), path)
    for new, old in zip(
        evaluate(load(path).graph, case.inputs), evaluate(case.graph, case.inputs), strict=True
    ):
        np.testing.assert_array_equal(new, old)


def test_same_module_gives_same_bytes_in_another_process():
    script = (
        "import hashlib; from rlx.ir import *;"
        "from support.networks.ir_samples import every_element_type as e;"
        "from rlx.ir.file import to_file_bytes as b;"
        "print(hashlib.sha256(b(GraphModule.mir(e()))).hexdigest())"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True,
        env={"PYTHONHASHSEED": "5", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    data = to_file_bytes(GraphModule.mir(every_element_type()))
    assert run.stdout.strip() == hashlib.sha256(data).hexdigest()


def test_weights_are_tensors_that_anybody_can_read():
    graph = network()
    tensors = load_tensors(to_file_bytes(GraphModule.mir(graph)))
    assert sorted(tensors) == ["constant.1", "constant.2", "constant.5", "constant.6"]
    np.testing.assert_array_equal(tensors["constant.1"], graph.nodes[1].op.value)


def test_saving_replaces_a_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "model.rlx"
    path.write_text("old")
    save(GraphModule.mir(clamp_graph()), path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.rlx"]
    assert load(path).graph.name == "tiny"


def test_saving_where_nothing_can_be_written(tmp_path):
    path = tmp_path / "none" / "model.rlx"
    with raises(OutputError):
        save(GraphModule.mir(clamp_graph()), path)


def test_saving_a_broken_module_is_refused(tmp_path):
    graph = Graph("g")
    graph.input("x", i8(2))
    with raises(VerifyError):
        save(GraphModule.mir(graph), tmp_path / "model.rlx")
    assert not list(tmp_path.iterdir())


def parts(module):
    """Return the tensors and the JSON of a file."""
    data = to_file_bytes(module)
    (length,) = struct.unpack("<Q", data[:8])
    content = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["rlx"])
    return load_tensors(data), content


def sealed(tensors, content):
    """Return a file of these parts whose checksum is right."""
    digest = hashlib.sha256(json.dumps(content["document"], sort_keys=True).encode())
    for name in sorted(tensors, key=lambda n: [int(s) if s.isdigit() else s for s in n.split(".")]):
        digest.update(tensors[name].tobytes())
    content["sha256"] = digest.hexdigest()
    return save_tensors(tensors, metadata={"rlx": json.dumps(content)})


def refused(tmp_path, data, message, place):
    path = tmp_path / "bad.rlx"
    path.write_bytes(data)
    with pytest.raises(FrontendError) as caught:
        load(path)
    assert caught.value.message == message
    assert caught.value.where == f"bad.rlx: {place}"
    assert caught.value.hint


def test_missing_file(tmp_path):
    with raises(FrontendError):
        load(tmp_path / "no.rlx")
    with raises(FrontendError):
        load(tmp_path)


@pytest.mark.parametrize("data", [b"", b"\0" * 7, b"\xff" * 64, b"PK\3\4" + b"\0" * 100], ids=len)
def test_no_safetensors_file(tmp_path, data):
    path = tmp_path / "bad.rlx"
    path.write_bytes(data)
    with pytest.raises(FrontendError, match=r"^bad\.rlx: header: not a readable \.rlx file: "):
        load(path)


def test_other_safetensors_files(tmp_path):
    data = save_tensors({"w": np.zeros(2, np.float32)})
    message = "a safetensors file without 'rlx' in its metadata holds no graph"
    refused(tmp_path, data, message, "header")
    refused(tmp_path, save_tensors({}, metadata={"format": "pt"}), message, "header")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected the graph as JSON: Expecting property name enclosed in double quotes:"
         " line 1 column 2 (char 1)"),
        ("[]", "the graph needs version, sha256 and document"),
        ("{}", "the graph needs version, sha256 and document"),
        ('{"version": 1, "version": 1}', "an object has a key twice"),
        ('{"version": NaN}', "expected JSON, got NaN"),
        ('{"version": 2, "sha256": "", "document": {}}', f"format version is 2; this rlx reads"
         f" {VERSION}"),
        ('{"version": 1, "sha256": "", "document": {}}', "must name its class under '@'"),
        ('{"version": 1, "sha256": "", "document": {"@": "Graph"}}',
         "must be _Document(...), got Graph"),
        ('{"version": 1, "sha256": "", "document": 3}', "must be _Document(...), got 3"),
        ('{"version": 1, "sha256": "", "document": {"@": "_Document"}}', "stage is missing"),
        ('{"version": 1, "sha256": "", "document": ' + "[" * 100000 + "]" * 100000 + "}",
         "nested too deeply"),
        ('{"version": 1, "sha256": "", "document": ' + "9" * 5000 + "}",
         "expected the graph as JSON: Exceeds the limit (4300 digits) for integer "
         "string conversion: value has 5000 digits; use sys.set_int_max_str_digits() to increase "
         "the limit"),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_malformed_metadata(tmp_path, text, message):
    document = message in _IN_DOCUMENT or "_Document" in message or "under '@'" in message
    place = "document" if document else "header"
    refused(tmp_path, save_tensors({}, metadata={"rlx": text}), message, place)


_IN_DOCUMENT = ("stage is missing",)


def edit(path, value):
    """Return a function that sets the place ``path`` of the document to ``value``."""

    def change(tensors, content):
        del tensors
        place = content["document"]
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value

    return change


def drop_tensor(tensors, content):
    del content
    del tensors["constant.1"]


def add_tensor(tensors, content):
    del content
    tensors["constant.99"] = np.zeros(1, np.int8)


def retype_tensor(tensors, content):
    del content
    tensors["constant.1"] = tensors["constant.1"].astype(np.int16)


def reshape_tensor(tensors, content):
    del content
    tensors["constant.1"] = tensors["constant.1"].reshape(-1)


CONV = ("nodes", 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_tensor, "the tensors are not those of the graph's constants"),
        (add_tensor, "the tensors are not those of the graph's constants"),
        (retype_tensor, "tensor constant.1 is not stored as i8[3, 3, 3, 2]"
         " q(axis=0, 0.1:0, 0.2:0, 0.3:0)"),
        (reshape_tensor, "tensor constant.1 is not stored as i8[3, 3, 3, 2]"
         " q(axis=0, 0.1:0, 0.2:0, 0.3:0)"),
        (edit(("stage",), {"@": "xir"}), "stage must be one of hir, mir, lir, got xir"),
        (edit(("extra",), 1), "extra is unknown; _Document has stage, name, nodes, outputs,"
         " output_names, plan"),
        (edit((*CONV, "op", "@"), "q.conv9d"), "no op is called 'q.conv9d'"),
        (edit((*CONV, "op", "groups"), 0), "q.conv2d: groups must divide 2 input and 3 output"
         " channels, got 0"),
        (edit((*CONV, "op", "groups"), "1"), "q.conv2d: groups must be an integer, got '1'"),
        (edit((*CONV, "op", "window", "stride"), [0, 1]), "q.conv2d: stride must be at least 1,"
         " got (0, 1)"),
        (edit((*CONV, "op", "window"), {"@": "Popen", "args": "x"}),
         "q.conv2d: window must be Window(...), got Popen"),
        (edit((*CONV, "operands"), [[0, 0], [1, 0], [3, 0]]), "value [3, 0] does not exist yet"),
        (edit((*CONV, "operands"), [[0, 1], [1, 0], [2, 0]]), "value [0, 1] does not exist yet"),
        (edit((*CONV, "operands"), [[-1, 0], [1, 0], [2, 0]]), "value [-1, 0] does not exist yet"),
        (edit((*CONV, "operands"), [[0, 0]]), "q.conv2d: expected 3 operands, got 1"),
        (edit((*CONV, "types"), []), "q.conv2d: expected i8[1, 3, 3, 3], got "),
        (edit((*CONV, "types", 0, "shape"), [1, 3, 3, -3]),
         "a dimension must not be negative, got -3"),
        (edit((*CONV, "types", 0, "shape"), [1, 3, 3, 4]),
         "q.conv2d: expected i8[1, 3, 3, 3] q(0.3, -128), got i8[1, 3, 3, 4] q(0.3, -128)"),
        (edit((*CONV, "types", 0, "dtype"), {"@": "i128"}), "nodes[3].types[0].dtype must be one"
         " of f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, i4, i2, u64, u32, u16, u8,"
         " bool, c64, got i128"),
        (edit((*CONV, "types", 0, "quant", "scale"), [{"@": "inf"}]), "nodes[3].types[0].quant is"
         " not a QuantParams: every scale must be positive and finite"),
        (edit(("nodes", 0, "op", "x"), 1), "core.input takes nothing only"),
        (edit(("nodes", 0, "types", 0, "shape"), [10**30]),
         "a dimension is 1" + "0" * 30 + "; the limit is 8388608"),
        (edit(("nodes", 1, "types", 0, "shape"), [2**31 - 1] * 4),
         "a dimension is 2147483647; the limit is 8388608"),
        (edit(("nodes", 1, "types"), []), "the tensors are not those of the graph's constants"),
        (edit(("nodes", 4, "op", "shape"), [10**30, 27]), "q.reshape: shape[0] is 1" + "0" * 30
         + "; the limit is 8388608"),
        (edit(("outputs",), [[99, 0]]), "value [99, 0] does not exist yet"),
        (edit(("outputs",), [[0, 0], [0, 0]]), "every output needs a name"),
        (edit(("plan", "schedule", 0), 9), "the schedule has a node that does not exist"),
        (edit(("plan", "placements", 0, "value"), [98, 0]), "value [98, 0] does not exist yet"),
        (edit(("plan", "placements", 0, "region"), {"@": "heap"}),
         "plan.placements[0].region must be one of input, output, arena, state, got heap"),
    ],
)  # fmt: skip
def test_malformed_documents(tmp_path, planned, change, message):
    tensors, content = parts(planned)
    change(tensors, content)
    refused(tmp_path, sealed(tensors, content), message, place_of(message))


INNER = ("nodes", 1, "op", "body", "nodes", 2)


@pytest.mark.parametrize(
    ("change", "message", "place"),
    [
        (edit((*INNER, "op", "@"), "real.adx"), "no op is called 'real.adx'",
         "node 1: body: node 2"),
        (edit((*INNER, "operands"), [[0, 0], [2, 0]]), "value [2, 0] does not exist yet",
         "node 1: body: node 2"),
        (edit((*INNER, "types", 0, "shape"), [10**9]),
         "a dimension is 1000000000; the limit is 8388608", "node 1: body: node 2"),
        (edit(("nodes", 1, "op", "body", "outputs"), []), "every output needs a name",
         "node 1: body: outputs"),
        (edit(("nodes", 1, "op", "body", "nodes"), 7), "nodes must be a list, each item _Node(...),"
         " got 7", "node 1"),
        (edit(("nodes", 1, "op", "body"), {"@": "_Region"}), "name is missing", "node 1"),
        (edit(("nodes", 1, "op", "@"), "core.input"),
         "core.input takes nothing only", "node 1"),
        (edit(("nodes", 2, "op", "body", "nodes", 2, "op", "cases"), []),
         "the tensors are not those of the graph's constants", "tensors"),
    ],
)  # fmt: skip
def test_malformed_regions(tmp_path, change, message, place):
    tensors, content = parts(GraphModule.mir(regions()))
    change(tensors, content)
    refused(tmp_path, sealed(tensors, content), message, place)


def test_nodes_of_regions_count_against_the_limits(tmp_path):
    path = tmp_path / "model.rlx"
    save(GraphModule.mir(regions()), path)
    load(path, limits=Limits(nodes=6, tensors=18))
    with raises(FrontendError):
        load(path, limits=Limits(nodes=5))


def place_of(message):
    """Return the place that a damaged document is refused at."""
    if re.match(r"(stage|extra|nodes|outputs|plan)[ .\[]", message):
        return "document"
    for start, place in PLACES.items():
        if start in message:
            return place
    return "node 3"


PLACES = {
    "the tensors are not": "tensors", "constant.1 is": "node 1", "core.input": "node 0",
    "q.reshape": "node 4", "value [99, 0]": "outputs", "value [98, 0]": "plan",
    "every output": "outputs",
    "the schedule": "plan", "of 2147483647": "node 1", "is 1000000": "node 0",
    "is 2147483647;": "node 1",
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        edit(("plan",), None),
        edit(("stage",), {"@": "mir"}),
        edit(("outputs",), []),
        edit(("nodes", 0, "name"), ""),
        edit((*CONV, "op", "x_zero_point"), 5),
        edit(("plan", "alignment"), 0),
        edit(("plan", "placements", 1, "offset"), 10**30),
    ],
    ids=["no plan", "stage", "no output", "no name", "zero point", "alignment", "offset"],
)
def test_unsound_modules(tmp_path, planned, change):
    tensors, content = parts(planned)
    change(tensors, content)
    if content["document"]["outputs"] == []:
        content["document"]["output_names"] = []
        content["document"]["plan"] = None
        content["document"]["stage"] = {"@": "mir"}
    path = tmp_path / "bad.rlx"
    path.write_bytes(sealed(tensors, content))
    with raises(VerifyError):
        load(path)


def test_codes_outside_their_type_are_refused(tmp_path):
    graph = Graph("g")
    graph.output(graph.constant(np.array([1, -2, 0], ml_dtypes.int2)))
    tensors, content = parts(GraphModule.mir(graph))
    tensors["constant.0"] = np.array([1, 254, 5], np.uint8)
    message = "tensor constant.0: i2 holds integers from -2 to 1 only"
    refused(tmp_path, sealed(tensors, content), message, "node 0")
    tensors["constant.0"] = np.array([1, 254], np.uint8)
    message = "tensor constant.0: i2[3] needs 3 bytes, got 2"
    refused(tmp_path, sealed(tensors, content), message, "node 0")


def test_changed_weight_is_noticed(tmp_path):
    data = to_file_bytes(GraphModule.mir(network()))
    changed = data[:-1] + bytes([data[-1] ^ 1])
    message = "the content is not what was written; its checksum differs"
    refused(tmp_path, changed, message, "checksum")


def test_huge_file_is_not_read(tmp_path):
    path = tmp_path / "bad.rlx"
    with path.open("wb") as file:
        file.truncate((1 << 32) + 1)
    with raises(FrontendError):
        load(path)


def test_300_damaged_files_are_read_or_refused(tmp_path, planned):
    data = to_file_bytes(planned)
    path = tmp_path / "bad.rlx"
    refused_count = 0
    for seed in range(300):
        path.write_bytes(mutate(data, seed))
        try:
            load(path)
        except (FrontendError, VerifyError):
            refused_count += 1
    # What is accepted differs in nothing that is read: padding, or an equal byte written again.
    assert refused_count >= 290


LEAVES = (None, True, -1, 0, 1, 3, 2**31, 10**40, 0.5, "", "x", [], [0], {}, {"@": "Window"},
          {"@": "q.clamp"}, {"@": "inf"}, [[0, 0]])  # fmt: skip


def places(value, path=()):
    """Return the path of every place in a JSON value."""
    found = [path] if path else []
    if isinstance(value, dict | list):
        steps = value if isinstance(value, dict) else range(len(value))
        for step in steps:
            found += places(value[step], (*path, step))
    return found


@pytest.mark.parametrize("make", [network, several_results, regions])
def test_300_damaged_documents_are_read_or_refused(tmp_path, make):
    """Damage behind a checksum that is right, as an attacker would do it."""
    module = GraphModule.mir(make())
    if make is network:
        module = to_lir(module)
    tensors, content = parts(module)
    pristine = json.dumps(content)
    path = tmp_path / "bad.rlx"
    every = places(content["document"])
    random = np.random.default_rng(11)
    for _ in range(300):
        content = json.loads(pristine)
        for _ in range(int(random.integers(1, 3))):
            where = every[int(random.integers(len(every)))]
            try:
                edit(where, LEAVES[int(random.integers(len(LEAVES)))])(tensors, content)
            except (KeyError, IndexError, TypeError):
                continue  # an earlier change took the place away
        path.write_bytes(sealed(tensors, content))
        try:
            load(path)
        except (FrontendError, VerifyError):
            continue


@pytest.mark.parametrize("name", ["net.onnx", "net.TFLITE", "net.q.safetensors", "net.gguf"])
def test_names_of_other_formats_are_refused(tmp_path, name):
    path = tmp_path / name
    with pytest.raises(UsageError, match=r"expected a name for a \.rlx file, got \."):
        save(GraphModule(Graph("net"), Stage.HIR), path)
    assert not path.exists()
