"""TinyConv is as accurate on unseen images as its page says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from examples.mnist import train
from rlx import frontends
from rlx.ir.evaluate import evaluate
from rlx.ir.inspect import node_macs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.models
def test_tinyconv_is_accurate_on_held_out_images(shared: Path) -> None:
    images, labels = train.digits(shared / "data" / "mnist")
    graph = frontends.load(train.MODEL).graph
    held_out = train.quantized(images[train.TRAINED : train.TRAINED + 200])
    found = [evaluate(graph, {"image": x[np.newaxis]})[0].argmax() for x in held_out]
    assert np.count_nonzero(found == labels[train.TRAINED : train.TRAINED + 200]) >= 194


def test_tinyconv_has_the_multiplications_that_its_page_says() -> None:
    graph = frontends.load(train.MODEL).graph
    assert sum(node_macs(node) for node in graph.op_nodes) == 192_064
