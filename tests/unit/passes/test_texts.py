"""Results of each pass for small graphs: ``texts/<pass>.txt`` holds them before and after.

A case begins with ``== what it shows``; ``-- becomes`` stands between the two graphs, which are in
the form of ``rlx.ir.compact``. ``pytest --update-golden`` writes the second.
"""

from pathlib import Path

import pytest

from rlx.ir import GraphModule, Stage
from rlx.ir.compact import WIDTH, format_compact
from rlx.ir.evaluate import evaluate
from rlx.ir.parser import parse_graph
from rlx.ir.payload import seeded
from rlx.ir.verify import verify
from support.pass_registry import registered

FOLDER = Path(__file__).parent / "texts"
CASE, BECOMES = "== ", "-- becomes\n"


def cases(path):
    """Return the title, the graph before and the text after of each case of a file."""
    head, *found = f"\n{path.read_text()}".split(f"\n{CASE}")
    assert head == ""
    for case in found:
        title, _, rest = case.partition("\n")
        before, _, after = rest.partition(BECOMES)
        yield title, parse_graph(before), after


def computes_integers(graph):
    return not any(t.dtype.is_float for node in graph.nodes for t in node.types)


def test_every_pass_has_a_text():
    assert sorted(path.stem for path in FOLDER.iterdir()) == [c.name for c in registered()]


@pytest.mark.parametrize("cls", registered(), ids=lambda c: c.name)
def test_graphs_become_what_the_text_says(cls, request):
    path = FOLDER / f"{cls.name}.txt"
    found, expected = [], []
    for title, before, after in cases(path):
        verify(GraphModule(before, Stage.HIR))
        made = cls().apply(before)
        verify(GraphModule(made, Stage.HIR))
        if computes_integers(before):
            inputs = {v.name: seeded(7, v.type) for v in before.inputs}
            values = [[a.tolist() for a in evaluate(g, inputs)] for g in (before, made)]
            assert values[0] == values[1], title
        head = f"{CASE}{title}\n{format_compact(before)}{BECOMES}"
        found.append(head + format_compact(made))
        expected.append(head + after.rstrip("\n") + "\n")
    assert found
    if request.config.getoption("--update-golden"):
        path.write_text("\n".join(found))
        return
    assert "\n".join(found) == "\n".join(expected), "pytest --update-golden, then read the change"
    assert path.read_text() == "\n".join(found), "not the compact form: pytest --update-golden"
    assert max(map(len, path.read_text().splitlines())) <= WIDTH
