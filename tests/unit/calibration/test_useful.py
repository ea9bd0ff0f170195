"""Limits below which an integer network is refused; those of scores are in ``test_quantize.py``."""

import numpy as np
import pytest

import rlx
from rlx.support.errors import DoesNotFitError


def test_a_limit_of_the_users_own_holds_for_the_largest_of_several_values():
    random = np.random.default_rng(3)
    graph = rlx.Graph("logits")
    weights = graph.constant(random.normal(size=(16, 10)).astype(np.float32))
    graph.output(graph.input("x", (1, 16)) @ weights)
    calib = random.normal(size=(200, 16)).astype(np.float32)
    found = rlx.quantize(graph, calib, weights=4, min_sqnr=-np.inf)
    agreement = found.report.comparison.agreement
    assert 0.8 < agreement < 1
    with pytest.raises(DoesNotFitError, match=rf"{agreement:.1%} of the samples, less than 1"):
        rlx.quantize(graph, calib, weights=4, min_sqnr=-np.inf, min_agreement=1.0)
