"""Elements that files of weights store in a form of their own: several to a byte, or in blocks.

Tests: tests/unit/frontends/weights/test_gguf_blocks.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Bytes: TypeAlias = npt.NDArray[np.uint8]
    Floats: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StorageForm:
    """Storage form of elements that become float32.

    Attributes:
        name: Name of the type in its format.
        elements: Elements of a block, one after the other.
        nbytes: Bytes of a block.
        decode: Converts bytes of blocks, uint8[n, nbytes], to float32[n, elements]; None for a form
            that is known by its size alone.
    """

    name: str
    elements: int
    nbytes: int
    decode: Callable[[Bytes], Floats] | None = None

    def size(self, count: int) -> int:
        """Return the bytes of ``count`` elements.

        Raises:
            ValueError: The count is not a multiple of the elements of a block.
        """
        if count % self.elements:
            raise ValueError(f"expected a multiple of {self.elements} elements, got {count}")
        return count // self.elements * self.nbytes

    def read(self, data: bytes | memoryview) -> Floats:
        """Return the elements, one after the other.

        Raises:
            ValueError: The form is known by its size alone.
        """
        if self.decode is None:
            raise ValueError(f"is stored as {self.name}, which rlx does not decode")
        blocks = np.frombuffer(data, np.uint8).reshape(-1, self.nbytes)
        with np.errstate(over="ignore", invalid="ignore"):  # scales may be infinite
            return self.decode(blocks).reshape(-1)


def bits_of(data: Bytes, bits: int) -> Bytes:
    """Return numbers of ``bits`` bits as uint8, the first in the low bits: [n, m]."""
    single = np.unpackbits(data, axis=1, bitorder="little")
    parts = single.reshape(len(data), -1, bits)
    weights = (1 << np.arange(bits)).astype(np.uint8)
    numbers: Bytes = (parts * weights).sum(2).astype(np.uint8)
    return numbers


def _small_float(name: str, dtype: Any, bits: int) -> StorageForm:  # noqa: ANN401 - ml_dtypes has no types
    """Return the form of floats of few bits, with the values of NumPy's extension."""
    numbers = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float32)
    elements = {8: 1, 6: 4, 4: 2}[bits]
    return StorageForm(
        name, elements, elements * bits // 8, lambda data: numbers[bits_of(data, bits)]
    )


SAFETENSORS: Final = {
    form.name: form
    for form in (
        _small_float("F4", ml_dtypes.float4_e2m1fn, 4),
        _small_float("F6_E2M3", ml_dtypes.float6_e2m3fn, 6),
        _small_float("F6_E3M2", ml_dtypes.float6_e3m2fn, 6),
        _small_float("F8_E8M0", ml_dtypes.float8_e8m0fnu, 8),
        _small_float("F8_E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, 8),
        _small_float("F8_E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, 8),
    )
}
"""Types of safetensors that become float32, which holds all their values."""
