"""Indices outside their axis: an error that names the node, on every way to it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rlx
from rlx.cli import main
from rlx.ir import DType, TensorType
from rlx.ir.evaluate import IndexRangeError, evaluate
from rlx.runtime import CompileOptions, Session
from rlx.support.errors import UsageError
from support.messages import raises

TABLE = np.arange(8, dtype=np.float32)
RIGHT, WRONG = np.array([0, 7], np.int32), np.array([0, 8], np.int32)


def looked_up():
    def look_up(places):
        return {"y": places.builder.constant(TABLE).gather(places) * 2.0}

    return rlx.trace("look-up", look_up, TensorType((2,), DType.I32))


@pytest.mark.parametrize("fusion", [True, False], ids=["fused", "as written"])
def test_a_run_names_the_node_and_goes_on(fusion):
    options = CompileOptions() if fusion else CompileOptions(fusion=None)
    compiled = Session().compile(looked_up(), options)
    for call in (compiled.run, compiled.run_raw, compiled.profile):
        with raises(IndexRangeError):
            call({"places": WRONG})
        assert compiled.run({"places": RIGHT})[0].tolist() == [0.0, 14.0]
    with raises(IndexError):
        compiled.submit({"places": WRONG}).wait()


def test_the_reference_says_the_same():
    with raises(UsageError):
        evaluate(looked_up().graph, {"places": WRONG})


def test_a_node_in_a_region_is_named():
    graph = rlx.Graph("g")
    table, places = graph.constant(TABLE), graph.input("places", 2, "i32")
    _, found = rlx.scan(lambda carry, i: (carry, table.gather(i)), table[0], places)
    graph.output(found)
    for call in (Session().compile(graph).run, lambda given: evaluate(graph.graph, given)):
        with raises(IndexRangeError) as error:
            call({"places": WRONG})
        assert re.match(r"(core.scan|real.gather) ", str(error.value))


def test_the_command_line_has_no_traceback(capsys, tmp_path):
    model, data = tmp_path / "m.rlx", tmp_path / "d.npz"
    rlx.save(looked_up().module, model)
    np.savez(data, places=WRONG[np.newaxis])
    for command in (["run", model, "--input", data], ["compare", model, model, "--data", data]):
        assert main([str(word) for word in command]) == 2
        error = capsys.readouterr().err
        assert "error[RLX-E001]: real.gather " in error
        assert "Traceback" not in error
