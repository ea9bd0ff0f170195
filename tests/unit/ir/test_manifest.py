"""Bindings that a planned graph needs of a caller, and differences of two such lists."""

from __future__ import annotations

import json

import numpy as np

import rlx
from rlx.ir import DType, Graph, GraphModule, TensorType, f32, i8
from rlx.ir.manifest import BindingManifest, IoBindingEntry, WeightBlock
from rlx.ir.manifest_diff import EntryChange, FieldChange, ManifestDiff, NamedEntry
from rlx.memory import to_lir
from rlx.ops.real import RealAdd, RealReshape
from rlx.runtime import Session
from support.messages import raises


def planned(graph: Graph, *, ports_inside: bool = False) -> GraphModule:
    return to_lir(GraphModule.mir(graph), ports_inside=ports_inside)


def running_sum() -> Graph:
    """A sum over runs: input, parameters in two blocks, a state, an output that is a view."""
    graph = Graph("sum")
    x = graph.input("x", f32(2, 3))
    total = graph.state("total", f32(2, 3))
    after = graph.apply(RealAdd(), total, x)
    biased = graph.apply(RealAdd(), after, graph.param("out.0.bias", f32(2, 1)))
    shifted = graph.apply(RealAdd(), biased, graph.param("out.0.shift", f32(3)))
    last = graph.apply(RealAdd(), shifted, graph.param("last", f32(1)))
    graph.output(graph.apply(RealReshape(shape=(6,)), last), after, names=["flat", "total"])
    return graph


def entry(name: str, shape: tuple[int, ...], **rest) -> IoBindingEntry:
    size = int(np.prod(shape))
    fields = {"node": 0, "dtype": "f32", "offset": None, "is_view": False, **rest}
    return IoBindingEntry(name=name, shape=shape, elements=size, nbytes=4 * size, **fields)


def manifest(**changes) -> BindingManifest:
    fields = {"graph": "g", "arena_bytes": 64, "alignment": 4, "inputs": (entry("x", (2, 3)),),
              "parameters": (), "outputs": (), "states": ()}  # fmt: skip
    return BindingManifest(**fields | changes)


def test_every_end_of_a_graph_is_listed():
    module = planned(running_sum())
    found = BindingManifest.of(module)
    assert (found.graph, found.arena_bytes, found.alignment) == ("sum", module.plan.arena_bytes, 4)
    assert found.inputs == (entry("x", (2, 3), node=0),)
    names = ["out.0.bias", "out.0.shift", "last"]
    assert [(e.name, e.shape, e.node) for e in found.parameters] == [
        (name, shape, node)
        for name, shape, node in zip(names, [(2, 1), (3,), (1,)], (3, 5, 7), strict=True)
    ]
    assert [(e.name, e.shape) for e in found.outputs] == [("flat", (6,)), ("total", (2, 3))]
    assert found.outputs[0].is_view
    assert [e.name for e in found.states] == ["total"]
    sums = (found.input_bytes, found.parameter_bytes, found.output_bytes, found.state_bytes)
    assert sums == (24, 24, 48, 24)


def test_offsets_are_those_of_the_arena():
    module = planned(running_sum(), ports_inside=True)
    found = BindingManifest.of(module)
    places = {p.value: p for p in module.plan.placements}
    assert found.inputs[0].offset == places[module.graph.inputs[0]].offset
    assert [e.offset for e in found.parameters] == [None] * 3
    assert [e.offset for e in BindingManifest.of(planned(running_sum())).inputs] == [None]


def test_bytes_of_few_bits_are_packed():
    graph = Graph("few")
    graph.output(graph.input("x", TensorType((3,), DType.I4)), names=["x"])
    (found,) = BindingManifest.of(planned(graph)).inputs
    assert (found.dtype, found.elements, found.nbytes) == ("i4", 3, 2)


def test_a_constant_output_has_no_place():
    graph = Graph("fixed")
    graph.input("x", i8(1))
    graph.output(graph.constant(np.ones(2, np.int8)), names=["y"])
    (found,) = BindingManifest.of(planned(graph, ports_inside=True)).outputs
    assert (found.nbytes, found.offset, found.is_view) == (2, None, False)


def test_a_plan_is_needed():
    with raises(ValueError):
        BindingManifest.of(GraphModule.mir(running_sum()))


def test_parameters_are_those_that_a_caller_sets():
    graph = rlx.trace("g", lambda x: x @ x.builder.param("w", (3, 3)).exp(), f32(2, 3))
    (found,) = Session().compile(graph).manifest().parameters
    assert (found.name, found.shape, found.node) == ("w", (3, 3), None)


def test_blocks_share_the_beginning_of_names():
    names = ("a.0.w", "a.0.b", "a.1.w", "bias", "a.0.v")
    found = manifest(parameters=tuple(entry(name, (2,)) for name in names))
    assert found.blocks() == (
        WeightBlock(prefix="a.0", names=("a.0.w", "a.0.b", "a.0.v"), nbytes=24),
        WeightBlock(prefix="a.1", names=("a.1.w",), nbytes=8),
        WeightBlock(prefix="", names=("bias",), nbytes=8),
    )
    assert [(b.prefix, b.nbytes) for b in found.blocks(levels=2)] == [("a", 32), ("", 8)]
    assert [b.prefix for b in found.blocks("/")] == [""]
    with raises(ValueError):
        found.blocks("")
    with raises(ValueError):
        found.blocks(levels=0)


def test_as_json_and_as_text():
    found = manifest(
        parameters=(entry("a.w", (2,)),), outputs=(entry("y", (2,), offset=8, is_view=True),)
    )
    data = json.loads(json.dumps(found.to_dict()))
    assert data["inputs"] == [
        {"name": "x", "node": 0, "dtype": "f32", "shape": [2, 3], "elements": 6, "nbytes": 24,
         "offset": None, "is_view": False}
    ]  # fmt: skip
    assert data["blocks"] == [{"prefix": "a", "names": ["a.w"], "nbytes": 8}]
    assert str(found).splitlines() == [
        "g: arena of 64 bytes, aligned to 4",
        "           name  type       size, B  offset, B  view",
        "input      x     f32[2, 3]       24          -  no",
        "parameter  a.w   f32[2]           8          -  no",
        "output     y     f32[2]           8          8  yes",
        "",
        "parameters by block",
        "block  parameters  size, B",
        "a               1        8",
    ]


class TestDiff:
    def test_of_equal_ones_is_empty(self) -> None:
        found = ManifestDiff.of(manifest(), manifest(inputs=(entry("x", (2, 3), node=7),)))
        assert not found
        assert str(found) == "no differences"

    def test_tells_what_came_went_and_changed(self) -> None:
        before = manifest(states=(entry("old", (1,)),), parameters=(entry("w", (2,)),))
        after = manifest(
            arena_bytes=128,
            inputs=(entry("x", (4, 3), dtype="i32", offset=64),),
            parameters=(entry("w", (2,)),),
            states=(entry("new", (2,)),),
        )
        found = ManifestDiff.of(before, after)
        assert found
        assert found.arena_bytes == (64, 128)
        assert found.added == (NamedEntry(kind="state", entry=entry("new", (2,))),)
        assert found.removed == (NamedEntry(kind="state", entry=entry("old", (1,))),)
        changes = {"dtype": ("f32", "i32"), "shape": ((2, 3), (4, 3)), "elements": (6, 12),
                   "nbytes": (24, 48), "offset": (None, 64)}  # fmt: skip
        assert found.changed == (
            EntryChange(
                kind="input",
                name="x",
                changes=tuple(
                    FieldChange(field=field, before=a, after=b) for field, (a, b) in changes.items()
                ),
            ),
        )
        assert str(found).splitlines() == [
            "g -> g",
            "       name               field     before       after",
            "       arena, B  changed            64           128",
            "state  old       removed            f32[1], 4 B  -",
            "state  new       added              -            f32[2], 8 B",
            "input  x         changed  dtype     f32          i32",
            "input  x         changed  shape     [2, 3]       [4, 3]",
            "input  x         changed  elements  6            12",
            "input  x         changed  nbytes    24           48",
            "input  x         changed  offset    -            64",
        ]
        data = json.loads(json.dumps(found.to_dict()))
        assert data["added"][0]["entry"]["name"] == "new"
        assert data["changed"][0]["changes"][1]["after"] == [4, 3]

    def test_counts_ends_of_one_name(self) -> None:
        one, two = manifest(), manifest(inputs=(entry("x", (2, 3)), entry("x", (1,))))
        found = ManifestDiff.of(one, two)
        assert [n.entry.shape for n in found.added] == [(1,)]
        assert not found.changed


def test_a_compiled_graph_gives_one_for_each_set_of_sizes():
    graph = rlx.Graph("dense")
    x, w = graph.input("x", ("batch", 4)), graph.param("layer.w", (4, 3))
    graph.output((x @ w).relu(), names=["y"])
    compiled = Session().compile(graph)
    small, large = (compiled.manifest({"batch": n}) for n in (2, 32))
    assert [e.shape for e in (*small.inputs, *small.outputs)] == [(2, 4), (2, 3)]
    assert small.alignment == 64
    assert [b.prefix for b in small.blocks()] == ["layer"]
    found = ManifestDiff.of(small, large)
    assert found.arena_bytes == (small.arena_bytes, large.arena_bytes)
    assert {c.name for c in found.changed} == {"x", "y"}
    with raises(ValueError):
        compiled.manifest()
    with raises(ValueError):
        compiled.manifest({"n": 3, "batch": 1})
