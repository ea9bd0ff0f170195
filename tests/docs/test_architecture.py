"""The architecture page has the table of packages, and the packages keep its rules."""

from __future__ import annotations

import sys
from importlib import util

import grimp
import pytest

from support import ROOT


@pytest.fixture
def layout(monkeypatch):
    spec = util.spec_from_file_location("layout", ROOT / "tools" / "layout.py")
    module = util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "layout", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current(layout):
    assert layout.PAGE.read_text() == layout.page(), "python tools/layout.py --update"


def test_every_import_keeps_the_rules(layout):
    assert list(layout.problems()) == []


def _graph(*imports):
    """Return a graph of modules in which each pair is an import."""
    graph = grimp.ImportGraph()
    for importer, imported in imports:
        graph.add_import(
            importer=importer, imported=imported, line_number=7, line_contents="import"
        )
    return graph


def _packages(layout, **public):
    """Return packages, each a level above the one before, with their public modules."""
    return {
        name: layout.Package(name, level, "", frozenset(modules))
        for level, (name, modules) in enumerate(public.items(), 1)
    }


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ([("b.x", "a.y"), ("c.x", "b")], []),
        (
            [("a.x", "b.y")],
            ["a.x:7: a (level 1) imports b.y (level 2); the module could stand in b, c"],
        ),
        (
            [("a.x", "b.y"), ("a.z", "a.x"), ("b.z", "a.x")],
            [
                "a.x:7: a (level 1) imports b.y (level 2); split the module",
                "b.z:7: a.x is not among the public modules of a",
            ],
        ),
        ([("b.x", "a.z")], ["b.x:7: a.z is not among the public modules of a"]),
    ],
)
def test_an_import_that_breaks_a_rule_is_named(layout, imports, found):
    packages = _packages(layout, a=["a.y"], b=["b.y"], c=[])
    graph = _graph(*imports, ("c.n", "a.y"), ("c.n", "b.y"))
    assert list(layout._imports(packages, graph)) == found


def test_a_public_module_that_nobody_uses_is_named(layout):
    packages = _packages(layout, a=["a.y"], b=[])
    assert list(layout._imports(packages, _graph(("b.x", "a")))) == [
        "a: a.y is called public, and no other package imports it"
    ]


def test_a_cycle_of_files_is_named(layout):
    (line,) = layout._cycles(_graph(("a.x", "a.y"), ("a.y", "a.z"), ("a.z", "a.x")))
    assert line.startswith("these import each other: ")
    assert {"a.x", "a.y", "a.z"} == set(line.split(": ")[1].split(" <- "))


def test_a_module_outside_the_packages_is_named(layout):
    assert list(layout._unnamed({}, _graph(("rlx", "rlx.new")))) == [
        "rlx.new: in no package that pyproject.toml gives a level"
    ]
