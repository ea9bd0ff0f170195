from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rlx
from rlx.ir.evaluate import evaluate
from rlx.passes.transforms.freeze import freeze
from rlx.support.errors import UsageError
from support.messages import raises

W = np.arange(6, dtype=np.float32).reshape(2, 3)


def graph():
    builder = rlx.Graph("g")
    x = builder.input("x", (1, 2))
    builder.output(x @ builder.param("w", (2, 3)) + builder.param("b", 3), names=["y"])
    return builder.graph


def test_parameters_become_constants():
    x, b = np.ones((1, 2), np.float32), np.ones(3, np.float32)
    frozen = freeze(graph(), {"w": W, "b": b})
    assert frozen.params == ()
    expected = evaluate(graph(), {"x": x}, {"w": W, "b": b})[0]
    np.testing.assert_array_equal(evaluate(frozen, {"x": x})[0], expected)
    named = {n.name: n for n in frozen.nodes if n.op.name == "core.constant"}
    assert set(named) == {"w", "b"}
    assert named["w"].origin.passes == ("freeze",)


def test_others_stay():
    assert [v.name for v in freeze(graph(), {"w": W}).params] == ["b"]


def test_refusals():
    with raises(ValueError):
        freeze(graph(), {"v": W})
    with raises(ValueError):
        freeze(graph(), {"w": W.astype(np.float64)})
    with raises(ValueError):
        freeze(graph(), {"w": W.T})


def test_modules_stay_modules():
    module = rlx.GraphModule.hir(graph())
    frozen = freeze(module, {"w": W})
    assert (frozen.stage, frozen.graph) == (module.stage, freeze(graph(), {"w": W}))
    for call in (lambda g: freeze(g, {}), lambda g: rlx.bind(g, {}), lambda g: rlx.load_weights(g)):
        with raises(UsageError):
            call(rlx.Graph("by hand"))


@pytest.mark.parametrize("path", ["net.onnx", Path("folder") / "net.rlx"])
def test_a_file_is_to_be_loaded_first(path):
    with raises(UsageError):
        rlx.bind(path, {})
