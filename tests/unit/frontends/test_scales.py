"""Every importer combines scales as the reference does: 200 models an operator that show it."""

from __future__ import annotations

from functools import partial
from itertools import product

import pytest
from scale_sweep import CLAMPS, SWEEPS, check, sweep

from rlx.frontends.tflite_ops import IMPORTERS

MODELS = 200

# Operators that move, choose or compare codes, and look at no scale but to see that all are equal.
WITHOUT_SCALES = {
    "ARG_MAX", "CONCATENATION", "EXPAND_DIMS", "PACK", "PAD", "PADV2", "RESHAPE", "SLICE",
    "SPLIT", "SPLIT_V", "SQUEEZE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK",
}  # fmt: skip


@pytest.mark.parametrize("name", SWEEPS)
def test_scales_are_combined_as_the_reference_does(name: str) -> None:
    for case in sweep(SWEEPS[name], MODELS):
        check(case)


@pytest.mark.parametrize(
    ("name", "activation"),
    [("RELU6", "RELU6"), *product(sorted(CLAMPS.keys() - {"RELU6"}), ["RELU6", "RELU_N1_TO_1"])],
)
def test_ends_of_activations_are_those_of_the_reference(name: str, activation: str) -> None:
    for case in sweep(partial(CLAMPS[name], activation=activation), MODELS // 2):
        check(case)


def test_every_importer_is_swept() -> None:
    swept = {name.split()[0] for name in (*SWEEPS, *CLAMPS)}
    assert swept | WITHOUT_SCALES == set(IMPORTERS)
    assert not swept & WITHOUT_SCALES
