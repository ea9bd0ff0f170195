"""Data without samples are said to be that, and not to be missing."""

import numpy as np
import pytest

import rlx
from rlx.ir import f32
from rlx.support.errors import UsageError
from support.messages import raises


@pytest.mark.parametrize("name", ["x", "signal"])
def test_arrays_without_samples(name):
    net = rlx.trace("net", lambda signal: {"y": signal * 2.0}, f32(3)).module
    with raises(UsageError):
        rlx.compare(net, net, {name: np.zeros((0, 3), np.float32)})
