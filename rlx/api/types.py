"""Types of arguments that several functions take; words where only a few are known.

Names of targets and formats are plain texts: packages may bring others.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from rlx.metrics.comparison import Criteria
from rlx.passes import Policies
from rlx.runtime import Device

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a text, what is done and what there is to do."""

WeightBits: TypeAlias = Literal[8, 4, 2]
"""Bits of a weight."""

Weights: TypeAlias = Literal["8", "4", "2", "auto"] | WeightBits
"""Bits of every weight, or a width for each layer."""

ObserverName: TypeAlias = Literal["min-max", "moving-average", "percentile", "mse", "kl"]
"""Methods that choose the ranges of activations."""

EqualizeName: TypeAlias = Literal["none", "before-depthwise", "all"]
"""Channels that are balanced: none, those before depthwise layers, those of all layers."""

CriteriaLike: TypeAlias = Criteria | Literal["exact", "strict", "half"]
"""Criteria of a comparison, or their name."""

PoliciesLike: TypeAlias = Policies | str | Mapping[str, str]
"""Policies, or one for every op as ``"common"``, or for some as ``{"nn.softmax": "common"}``."""

DeviceLike: TypeAlias = (
    Device
    | Literal[
        "cpu", "cuda", "rocm", "tpu", "metal", "mlx", "ane", "gpu", "vulkan", "opengl", "directx",
        "webgpu",
    ]
)  # fmt: skip
"""A kind of processor of the host, or its name."""
