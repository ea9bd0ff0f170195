"""Scaling of pictures' and sounds' integers to the range that a network was trained on.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.support.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Scaling:
    """``(stored * scale - mean) / std``, as in training.

    Attributes:
        scale: Factor; None for 1 / 255 of pictures, and for sounds the factor to -1 to 1.
        mean: One value, or one for each channel.
        std: One value, or one for each channel.
    """

    scale: float | None = None
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    @property
    def given(self) -> bool:
        """Whether anything differs from the default."""
        return self != Scaling()

    def apply(
        self, stored: npt.NDArray[Any], *, default: float, where: str
    ) -> npt.NDArray[np.float32]:
        """Return floats.

        Args:
            stored: [..., channels].
            default: The default scale.
            where: The file, for messages.

        Raises:
            UsageError: The number of means or deviations is neither 1 nor that of the channels.
        """
        channels = stored.shape[-1]
        for name, numbers in (("mean", self.mean), ("std", self.std)):
            if len(numbers) not in (1, channels):
                raise UsageError(
                    f"there are {len(numbers)} numbers for {channels} channels",
                    where=f"{where}: {name}",
                    hint=f"give one for all, or {channels}",
                )
        scale = default if self.scale is None else self.scale
        mean, std = np.array(self.mean), np.array(self.std)
        real: npt.NDArray[np.float64] = (stored.astype(np.float64) * scale - mean) / std
        return real.astype(np.float32)
