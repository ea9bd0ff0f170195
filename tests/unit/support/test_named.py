"""Unknown names of a mapping: the error has the closest name, and those that exist."""

import copy
import pickle

import numpy as np
import pytest

import rlx
from rlx.support.named import Named
from support import ROOT
from support.messages import raises

DIGITS = ROOT / "examples" / "digits" / "digits.rlx"


def test_it_is_a_dict_of_what_it_was_given():
    named = Named({"conv1": 1, "conv2": 2}, "layer")
    assert named == {"conv1": 1, "conv2": 2}
    assert named.get("conv3") is None
    assert "conv3" not in named
    assert pickle.loads(pickle.dumps(named)) == copy.deepcopy(named) == named
    with raises(KeyError):
        named["conv3"]
    with raises(KeyError):
        Named({f"layer {k}": k for k in range(30)}, "layer")[7]
    with raises(KeyError):
        Named({}, "output")["y"]


@pytest.mark.parametrize(
    "look_up",
    [
        lambda network: network.inputs["x"],
        lambda network: network.outputs["prob"],
        lambda network: network.run(np.zeros((1, 8, 8, 1), np.int8)).outputs["prob"],
        lambda network: network.run(np.zeros((1, 8, 8, 1), np.int8))["prob"],
        lambda network: network.layers(np.zeros((1, 8, 8, 1), np.int8))["node_conv1"],
        lambda network: rlx.estimate(network, "cortexm")["arena"],
    ],
    ids=["inputs", "outputs", "result.outputs", "result", "layers", "estimate"],
)
def test_results_of_the_api(look_up):
    network = rlx.load(DIGITS)
    with raises(KeyError):
        look_up(network)
