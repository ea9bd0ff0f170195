"""Random int8 networks as ``.tflite`` files: every operator that the importer knows.

``make(seed)`` returns the same bytes for the same seed. Networks have 1 to ``Knobs.operators``
layers behind each other or in branches that are joined, one or several inputs and outputs, sizes
from 1 on, scales and zero points up to the ends of their ranges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from campaign import layers_blocks, layers_moving  # noqa: F401 - add their layers to LAYERS
from campaign.draft import Draft, Knobs, Tensor
from campaign.layers import LAYERS, Layer
from support.files.tflite_builder import schema, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Knobs", "frequencies", "kinds", "make"]

_TRIES = 20
"""Number of times that a layer is drawn before a network is taken as it is."""


def make(seed: int, knobs: Knobs | None = None) -> bytes:
    """Return a random valid network.

    Args:
        seed: The same seed gives the same file.
        knobs: Bounds on the size of the network.
    """
    draft = Draft(np.random.default_rng(seed), knobs or Knobs())
    for _ in range(draft.pick([1, 1, 1, 1, 1, 1, 2, 3])):
        draft.input(draft.shape())
    for _ in range(draft.integer(1, draft.knobs.operators)):
        _append(draft)
    return draft.build()


def kinds(data: bytes) -> set[str]:
    """Return the names of the operators of a model."""
    model = unpack(data)
    codes = [code.builtinCode for code in model.operatorCodes]
    return {_NAMES[codes[o.opcodeIndex]] for o in model.subgraphs[0].operators}


_NAMES = {n: k for k, n in vars(schema.BuiltinOperator).items() if not k.startswith("_")}


def _append(draft: Draft) -> None:
    """Append one layer behind the newest value, or behind an older one."""
    weights = np.array([layer.weight for layer in LAYERS])
    for _ in range(_TRIES):
        layer = LAYERS[int(draft.random.choice(len(LAYERS), p=weights / weights.sum()))]
        x = _operand(draft, layer)
        if x is not None and layer.append(draft, x):
            return


def _operand(draft: Draft, layer: Layer) -> Tensor | None:
    """Return a layer's operand: the newest value that suits, or any other that does."""
    suited = [v for v in draft.values if v.rank in layer.ranks]
    if not suited:
        return None
    return suited[-1] if draft.chance(0.75) else draft.pick(suited)


def frequencies(seeds: Iterable[int], knobs: Knobs | None = None) -> dict[str, int]:
    """Return for each kind of operator in how many networks it is."""
    counts: dict[str, int] = {}
    for seed in seeds:
        for kind in kinds(make(seed, knobs)):
            counts[kind] = counts.get(kind, 0) + 1
    return counts
