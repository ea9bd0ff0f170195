"""Matching of the layers of two versions of a network."""

import pytest

from rlx.metrics.layer_match import matched_runs


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        ("", "", []),
        ("conv:a relu:b", "conv:a relu:b", ["conv:a relu:b = conv:a relu:b"]),
        ("conv:a", "conv:a relu:b", ["conv:a = conv:a", " = relu:b"]),
        ("conv:a relu:b", "relu:b", ["conv:a = ", "relu:b = relu:b"]),
        ("conv:a relu:b", "conv:a dense:x", ["conv:a = conv:a", "relu:b = dense:x"]),
        # Another training: no name is the same, so the ops alone count.
        ("conv:a relu:b", "conv:x dense:y", ["conv:a = conv:x", "relu:b = dense:y"]),
    ],
)
def test_runs(old, new, runs):
    found = matched_runs(old.split(), new.split(), lambda one: tuple(one.split(":")))
    assert [f"{' '.join(one)} = {' '.join(other)}" for one, other in found] == runs
