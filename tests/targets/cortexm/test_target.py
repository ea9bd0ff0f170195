"""The target as the compiler sees it: options, refusals, completeness, equal bytes."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from targets.cortexm.graph_builder import GraphBuilder, emit_graph, golden_of, write
from targets.cortexm.kernel_graphs import classifier

from rlx.ir import DType, Graph, Refusal, TensorType, i8, i32
from rlx.ir.hash import structural_hash
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import (
    Q_OPS,
    QAdd,
    QArgmax,
    QClamp,
    QConv2d,
    QDense,
    QMean,
    QReshape,
    QSoftmax,
    Window,
)
from rlx.support.errors import EmitError, UsageError
from rlx.targets import target
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.planning import in_place
from rlx_sim.firmware.host_c import HostC
from rlx_sim.protocol import compare
from support.messages import raises


def test_the_target_is_installed():
    assert target.load("cortexm") is TARGET


@pytest.mark.parametrize("op", Q_OPS, ids=lambda op: op.name)
def test_every_integer_op_has_a_rule(op):
    assert TARGET.knows(op)
    assert TARGET.reason(op, TARGET.options()) is None


def test_other_ops_are_refused():
    graph = Graph("g")
    x = graph.input("x", i8(3))
    assert not TARGET.knows(type(x.node.op))
    assert TARGET.lowering(x.node, CortexMOptions()) == Refusal("it has no rule")


def dense(graph, weights, bias, **attributes):
    op = QDense(x_zero_point=0, rescale=Rescale.of(0.5), zero_point=0, **attributes)
    return graph.apply(op, graph.input("x", i8(1, 2)), weights, bias, name="fc").node


def constant(graph, values, dtype):
    return graph.constant(np.array(values, dtype))


def test_weights_computed_at_run_time_are_refused():
    graph = Graph("g")
    node = dense(graph, graph.input("w", i8(1, 2)), constant(graph, [0], np.int32))
    assert TARGET.lowering(node, CortexMOptions()) == Refusal(
        "weights must be constants, not computed at run time"
    )


def test_biases_computed_at_run_time_are_refused():
    graph = Graph("g")
    node = dense(graph, constant(graph, [[1, 2]], np.int8), graph.input("b", i32(1)))
    assert TARGET.lowering(node, CortexMOptions()) == Refusal(
        "bias must be constants, not computed at run time"
    )


def test_an_accumulator_that_may_overflow_is_refused():
    graph = Graph("g")
    bias = constant(graph, [2**31 - 300], np.int32)
    node = dense(graph, constant(graph, [[1, 2]], np.int8), bias)
    assert TARGET.lowering(node, CortexMOptions()) == Refusal(
        "a sum may reach 2147483732, beyond the int32 accumulator"
    )


def test_a_mean_over_too_many_values_is_refused():
    graph = Graph("g")
    op = QMean(axes=(0,), x_zero_point=-128, rescale=Rescale.of(1e-7), zero_point=0)
    node = graph.apply(op, graph.input("x", i8(2**23))).node
    assert TARGET.lowering(node, CortexMOptions()) == Refusal(
        "a sum of 8388608 values does not fit int32"
    )


def test_ports_of_other_types_are_refused():
    graph = Graph("g")
    graph.input("x", TensorType((3,), DType.F64))
    graph.output(graph.apply(QClamp(), graph.input("y", i8(2))))
    with raises(EmitError):
        emit_graph(graph)


def test_elementwise_ops_and_softmax_may_run_in_place():
    builder = GraphBuilder()
    x, row = builder.input(2, 3), builder.input(3)
    assert in_place(builder.node(QClamp(), x).node) == (0,)
    softmax = QSoftmax(multiplier=2**30, left_shift=20, diff_min=-100)
    assert in_place(builder.node(softmax, x).node) == (0,)
    half = Rescale.of(0.5)
    add = QAdd(x_zero_point=0, y_zero_point=0, x_rescale=half, y_rescale=half, rescale=half,
               zero_point=0)  # fmt: skip
    assert in_place(builder.node(add, row, x).node) == (1,)
    assert in_place(builder.node(QReshape(shape=(6,)), x).node) == ()


@pytest.mark.parametrize(
    "options",
    [
        {"cpu": "cortex-a53"},
        {"cpu": "riscv32"},
        {"cpu": "cortex-m99"},
        {"prefix": "String"},
        {"prefix": "int"}
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options):
    with raises(UsageError):
        CortexMOptions(**options)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("MobileNet v2 (0.35)", "MobileNet_v2_0_35"),
        ("string", "string_2"),
        ("math", "math_net"),
        ("8bit", "v8bit"),
        ("a" * 40, "a" * 32),
        ("*/ #error", "error"),
    ],
)
def test_the_prefix_comes_from_the_model(name, prefix):
    assert CortexMOptions().prefix_for(name) == prefix
    assert CortexMOptions(prefix="kws").prefix_for(name) == "kws"


def test_outputs_that_no_layer_writes(tmp_path):
    """Inputs and constants handed out, one value twice, a reshaped input, an index."""
    builder = GraphBuilder("handed out")
    x = builder.input(2, 3)
    clamped = builder.graph.apply(QClamp(low=0), x)
    reshaped = builder.graph.apply(QReshape(shape=(3, 2)), clamped)
    index = builder.graph.apply(QArgmax(axis=1), clamped)
    values = (x, clamped, clamped, reshaped, builder.constant(4), index, index,
              builder.graph.apply(QReshape(shape=(6,)), x))  # fmt: skip
    builder.graph.output(*values, names=[f"y{i}" for i in range(len(values))])
    folder, golden = write(tmp_path, emit_graph(builder.graph)), golden_of(builder.graph)
    simulator = HostC(sanitize=True)
    assert compare("host", simulator.simulate(folder, golden, timeout_s=60), golden) == []


def hostile(name):
    """A network whose every name is ``name``."""
    graph = Graph(name)
    x = graph.input(name, i8(1, 4, 4, 3))
    op = QConv2d(window=Window.same((4, 4), (3, 3)), x_zero_point=1, rescale=Rescale.of(0.01),
                 zero_point=2)  # fmt: skip
    weights = graph.constant(np.ones((2, 3, 3, 3), np.int8), name=name)
    y = graph.apply(op, x, weights, graph.constant(np.zeros(2, np.int32), name=name), name=name)
    graph.output(graph.apply(QClamp(low=0), y, name=name), names=[name])
    return graph


HOSTILE = [
    "*/ int evil; /*",
    'x"); system("reboot',
    "a\n#define int float\n",
    "??/\n\\",
    "%s%n{{ 7 * 7 }}",
    "main",
    "\u202e\0name",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_a_model_are_mangled_in_the_code(name):
    nice, nasty = (emit_graph(hostile(text)) for text in ("nice", name))
    assert nice.files.keys() == nasty.files.keys()
    for path in nice.files:
        if path.endswith((".c", ".h")):
            assert nasty.files[path].isascii()
            assert anonymous(nasty, path) == anonymous(nice, path)


def anonymous(emission, path):
    """Code without comments, with numbers in the place of layers' names."""
    text = uncommented(emission.files[path])
    names = [layer["name"] for layer in emission.report["layers"]]
    for number, name in sorted(enumerate(names), key=lambda pair: -len(pair[1])):
        word = "_".join(filter(None, re.split(r"[^A-Za-z0-9]+", name)))
        text = re.sub(rf"(_(?:weights|bias|channels)_){word}\b", rf"\g<1>{number}", text)
        text = text.replace(f'"{name}"', f'"{number}"')
    return " ".join(text.split())


def uncommented(text):
    """Code without comments, and without the hash, which differs."""
    return re.sub(r"/\*.*?\*/|\b[0-9a-f]{64}\b|0x[0-9a-f]{8}\b", "", text, flags=re.DOTALL)


DIGEST = """
import hashlib
from targets.cortexm.graph_builder import emit_graph
from targets.cortexm.kernel_graphs import KERNEL_GRAPHS
digest = hashlib.sha256()
for make_graph in KERNEL_GRAPHS:
    for name, content in sorted(emit_graph(make_graph(), static_arena=True).files.items()):
        digest.update(name.encode() + b"\\0" + content.encode() + b"\\0")
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_the_same_graph_gives_the_same_bytes(tmp_path):
    digests = set()
    for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("77", "POSIX")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "TZ": f"UTC{seed}"}
        environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        folder = tmp_path / seed
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], cwd=folder, env=environment, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        digests.add(done.stdout)
    assert len(digests) == 1


def test_emitted_text_is_plain(tmp_path):
    emission = emit_graph(classifier())
    for name, content in emission.files.items():
        assert content.isascii(), name
        assert content.endswith("\n"), name
        assert not re.search(r"[ \t]$", content, re.MULTILINE), name
        assert "\n\n\n" not in content, name
    long = [line for name in emission.files if name.startswith(("src/", "include/"))
            for line in emission.files[name].splitlines() if len(line) > 100]  # fmt: skip
    assert long == []


def test_golden_classifier(golden):
    emission = emit_graph(classifier(), prefix="tiny", package=("cmake",))
    files = {n: c for n, c in emission.files.items() if not n.startswith("test/")}
    golden("cortexm/classifier", files)


def test_the_hash_of_the_graph_stands_in_the_header():
    digest = structural_hash(classifier())
    header = emit_graph(classifier(), prefix="tiny").files["include/tiny.h"]
    assert f'#define TINY_MODEL_HASH "{digest}"' in header
    assert f"#define TINY_MODEL_ID UINT32_C(0x{digest[:8]})" in header
