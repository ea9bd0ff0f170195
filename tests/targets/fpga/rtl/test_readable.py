"""Emitted hardware can be read: how much of it there is, and what a change of the model changes."""

from __future__ import annotations

import re
from statistics import median

import numpy as np
import pytest

from rlx import frontends
from rlx.driver import driver
from rlx.frontends.tflite import frontend as tflite
from rlx.ir import DType, Graph, TensorType
from rlx.ir.module import GraphModule, Stage
from rlx.ops.numerics.fixed_point import Rescale
from rlx.ops.q import QDense
from rlx_fpga import TARGET, FpgaOptions
from support import ROOT
from support.networks import mlperf_like

UNNAMED = re.compile(r"\b(?:sum|difference|product|shifted|chosen|value|signal)(?:_\d+)?\b")
"""Names of values that have none in Python."""

INSTANCE = re.compile(r"^ *(\w+) (?:#\([^;]*?\) )?u_(\w+) \(", re.MULTILINE)
"""An instance: its module and its name."""

LAYERS = ("dense", "dense_2", "dense_3")


def dense_layers(changes=(), *, first=0, scale=1):
    """Return three dense layers of 8 by 8 weights.

    Args:
        changes: Layers whose weights change places.
        first: Layers before them.
        scale: Divides the weights of the layers in ``changes``.
    """
    graph = Graph("net")
    x = graph.input("x", TensorType((1, 8), DType.I8))
    for layer in range(-first, 3):
        weights = np.random.default_rng(layer + 10).integers(-127, 128, (8, 8)).astype(np.int8)
        if layer in changes:
            weights = weights[::-1, ::-1] // scale
        bias = np.roll(np.arange(-400, 400, 100, np.int32), layer)
        op = QDense(x_zero_point=0, rescale=Rescale.of(0.003), zero_point=3)
        x = graph.apply(op, x, graph.constant(weights.copy()), graph.constant(bias))
    graph.output(x)
    return GraphModule(graph, Stage.MIR)


def emitted(module, **options):
    files = TARGET.emit(module, FpgaOptions(dsp=4, prefix="net", **options)).files
    return {path: text for path, text in files.items() if isinstance(text, str)}


def differing(one, other):
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def below(files, module):
    """Return the modules that ``module`` is made of, itself included."""
    text = files.get(f"rtl/cells/{module}.sv", "")
    parts = {part for part, _ in INSTANCE.findall(text)}
    return {module}.union(*(below(files, part) for part in parts))


def cells_of_layers(files):
    """Return the cells of each layer of the core, with their text."""
    instances = {name: module for module, name in INSTANCE.findall(files["rtl/net_core.sv"])}
    return {
        name: {cell: files.get(f"rtl/cells/{cell}.sv") for cell in below(files, instances[name])}
        for name in instances
        if re.fullmatch(r"dense(_\d+)?", name)
    }


@pytest.mark.parametrize("layer", range(3))
def test_other_weights_of_a_layer_change_its_memory_only(layer):
    before, after = emitted(dense_layers()), emitted(dense_layers((layer,)))
    assert differing(before, after) == {f"mem/net_{LAYERS[layer]}_weights_0.mem"}


@pytest.mark.parametrize("layer", range(3))
def test_other_weights_of_a_layer_change_its_module_of_words_only(layer):
    before = emitted(dense_layers(), weights="inline")
    after = emitted(dense_layers((layer,)), weights="inline")
    assert differing(before, after) == {f"rtl/cells/net_{LAYERS[layer]}_weights_0.sv"}


@pytest.mark.parametrize("layer", range(3))
def test_another_width_in_a_layer_changes_its_cells_only(layer):
    before, after = emitted(dense_layers()), emitted(dense_layers((layer,), scale=8))
    old, new = cells_of_layers(before), cells_of_layers(after)
    assert [name for name in LAYERS if old[name] != new[name]] == [LAYERS[layer]]
    changed = {path for path in differing(before, after) if path.startswith("rtl/cells/")}
    touched = old[LAYERS[layer]].keys() | new[LAYERS[layer]].keys()
    assert changed
    assert changed <= {f"rtl/cells/{cell}.sv" for cell in touched}


def test_a_layer_in_front_changes_no_cell_of_those_behind():
    before, after = (cells_of_layers(emitted(dense_layers(first=n))) for n in (0, 1))
    # The first layer is that which reads the input of the network.
    assert before["dense_2"] == after["dense_3"]
    assert before["dense_3"] == after["dense_4"]


def test_layers_that_differ_in_their_constants_are_one_module():
    core = emitted(dense_layers())["rtl/net_core.sv"]
    modules = {name: module for module, name in INSTANCE.findall(core)}
    assert modules["dense_2"] == modules["dense_3"]
    for layer in LAYERS:
        assert f'#(.Files("mem/net_{layer}")) u_{layer} (' in core


def test_a_cell_has_the_same_hash_whatever_the_design_is_called():
    files = TARGET.emit(dense_layers(), FpgaOptions(dsp=4, prefix="a_name_that_is_longer")).files
    renamed = {p.replace("a_name_that_is_longer", "net") for p in files if p.startswith("rtl/cel")}
    assert renamed == {p for p in emitted(dense_layers()) if p.startswith("rtl/cells/")}


def test_the_core_of_a_network_is_golden(golden):
    module = frontends.load(ROOT / "examples" / "mnist" / "tinyconv.rlx")
    files = TARGET.emit(driver.lower(module, TARGET).module, FpgaOptions()).files
    path = "rtl/tinyconv_core.sv"
    # Hashes change with whatever a cell prints.
    golden("fpga/tinyconv", {path: re.sub(r"_[0-9a-f]{6} ", "_<hash> ", files[path])})


@pytest.mark.slow
@pytest.mark.parametrize(("name", "lines", "core"), [("kws", 9_500, 170), ("vww", 33_000, 400)])
def test_a_network_is_as_short_as_an_engineer_would_write_it(name, lines, core):
    module = tflite.load(mlperf_like.network(name))
    files = TARGET.emit(module, FpgaOptions(prefix="net")).files
    texts = {path: text.splitlines() for path, text in files.items() if path.endswith(".sv")}
    rtl = {path: text for path, text in texts.items() if path.startswith("rtl/")}
    assert sum(map(len, rtl.values())) < lines
    assert len(rtl["rtl/net_core.sv"]) < core
    assert median(len(text) for path, text in rtl.items() if path.startswith("rtl/cells/")) < 100
    code = [line for text in rtl.values() for line in text if not line.lstrip().startswith("//")]
    assert sum(bool(UNNAMED.search(line)) for line in code) < 0.03 * len(code)
    # A word of a memory is one literal.
    assert all(len(line) <= 100 or max(map(len, line.split())) > 80 for line in code)
