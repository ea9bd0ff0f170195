"""A random int8 ``.tflite`` network while it is being made: its tensors and the random choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from support.files.tflite_builder import TfliteBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
Shape = tuple[int, ...]

# Small sizes with one tap or one channel, primes, powers of two and their neighbours.
_SIZES = (1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17)
_CHANNELS = (1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 8, 11, 12, 13, 16, 16, 17, 19, 24, 31, 32, 33)
_TYPICAL_CODE = 74.0
"""Standard deviation of uniform int8 codes."""


@dataclass(frozen=True, kw_only=True)
class Knobs:
    """Bounds on the size of the networks.

    Attributes:
        operators: Maximum number of drawn layers; some take two or three operators.
        elements: Maximum number of elements of a tensor.
        products: Maximum number of multiplications of a layer.
    """

    operators: int = 12
    elements: int = 4096
    products: int = 200_000


@dataclass(frozen=True)
class Codes:
    """Scale (a float32 number) and zero point of int8 codes."""

    scale: float
    zero_point: int

    @property
    def spread(self) -> float:
        """Standard deviation of the floats that uniform codes represent."""
        return _TYPICAL_CODE * self.scale

    @property
    def mean(self) -> float:
        """Mean of the floats that uniform codes represent."""
        return (-0.5 - self.zero_point) * self.scale

    @property
    def root_mean_square(self) -> float:
        """Root of the mean square of those numbers."""
        return math.hypot(self.spread, self.mean)

    def passed(self, activation: str) -> float:
        """Return the approximate number of codes that an activation lets through."""
        low, high = _REAL_BOUNDS.get(activation, (-math.inf, math.inf))
        first = max(-128.0, self.zero_point + low / self.scale)
        return min(127.0, self.zero_point + high / self.scale) - first + 1


_REAL_BOUNDS = {"RELU": (0.0, math.inf), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}
FEW_CODES = 24


@dataclass(frozen=True)
class Tensor:
    """An int8 tensor of the network."""

    index: int
    shape: Shape
    codes: Codes

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


class Draft:
    """The network so far.

    Attributes:
        model: Builder of the file.
        values: Int8 tensors that layers may read, the newest last.
        numbers: Int32 tensors that can only be outputs of the network.
    """

    def __init__(self, random: np.random.Generator, knobs: Knobs) -> None:
        self.random = random
        self.knobs = knobs
        self.model = TfliteBuilder()
        self.values: list[Tensor] = []
        self.numbers: list[int] = []
        self._inputs: list[int] = []
        self._read: set[int] = set()

    # Random choices.

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.random.random() < probability)

    def integer(self, minimum: int, maximum: int) -> int:
        """Return an integer, both ends included."""
        return int(self.random.integers(minimum, maximum + 1))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of several, all equally likely."""
        return options[self.integer(0, len(options) - 1)]

    def log_uniform(self, minimum: float, maximum: float) -> float:
        """Return a float32 number whose logarithm is uniform."""
        return float(np.float32(np.exp(self.random.uniform(np.log(minimum), np.log(maximum)))))

    def scale(self) -> float:
        """Return a scale as a converter might choose it."""
        return self.log_uniform(1e-3, 0.5)

    def zero_point(self) -> int:
        """Return a zero point, often at an end of the range."""
        return self.pick([-128, 127, 0, self.integer(-128, 127), self.integer(-128, 127)])

    def codes(self) -> Codes:
        """Return scale and zero point for numbers of any size."""
        return Codes(self.scale(), self.zero_point())

    def codes_for(self, spread: float, mean: float = 0.0) -> Codes:
        """Return codes that suit floats of a standard deviation and mean, mostly well."""
        scale = spread / _TYPICAL_CODE * self.log_uniform(0.3, 8.0)
        scale = float(np.float32(np.clip(scale, 1e-5, 1e3)))
        if self.chance(0.3):
            return Codes(scale, self.zero_point())
        middle = self.integer(-60, 60)
        return Codes(scale, int(np.clip(middle - mean / scale, -128, 127)))

    def shape(self) -> Shape:
        """Return the shape of an input: mostly an image NHWC."""
        rank = self.pick([4, 4, 4, 4, 4, 4, 4, 3, 3, 2, 2, 1, 5])
        sizes = [self.pick(_SIZES) for _ in range(rank - 1)]
        if rank > 1 and self.chance(0.8):
            sizes[0] = 1
        return self.cropped((*sizes, self.pick(_CHANNELS)))

    def cropped(self, shape: Shape) -> Shape:
        """Return the shape with its largest dimensions halved until it is small enough."""
        sizes = list(shape)
        while not self.fits(sizes):
            axis = sizes.index(max(sizes))
            sizes[axis] //= 2
        return tuple(sizes)

    def channels(self) -> int:
        """Return a number of channels."""
        return self.pick(_CHANNELS)

    def activation(self, codes: Codes) -> str:
        """Return a fused activation; seldom one that leaves hardly any code of the result."""
        name = self.pick(["NONE", "NONE", *_REAL_BOUNDS])
        return name if codes.passed(name) >= FEW_CODES or self.chance(0.1) else "NONE"

    # Tensors.

    def fits(self, shape: Sequence[int]) -> bool:
        """Return whether a tensor of this shape is small enough."""
        return math.prod(shape) <= self.knobs.elements

    def input(self, shape: Shape, codes: Codes | None = None) -> Tensor:
        """Add an input of the network."""
        tensor = self._tensor(shape, codes or self.codes())
        self._inputs.append(tensor.index)
        self.values.append(tensor)
        return tensor

    def constant(self, shape: Shape, codes: Codes) -> Tensor:
        """Add a constant with random codes; it is not among ``values``."""
        data = self.random_codes(shape)
        index = self.model.constant(data, scale=codes.scale, zero_point=codes.zero_point)
        return Tensor(index, shape, codes)

    def random_codes(self, shape: Shape) -> np.ndarray:
        """Return random int8 codes; sometimes all are equal, or all at the ends of the range."""
        kind = self.integer(0, 9)
        if kind == 0:
            return np.full(shape, self.integer(-128, 127), np.int8)
        if kind == 1:
            return self.random.choice([-128, -127, 127], shape).astype(np.int8)
        return self.random.integers(-128, 128, shape).astype(np.int8)

    def integers(self, values: Any) -> int:
        """Add int32 constants such as axes, and return the tensor's index."""
        return self.model.constant(np.array(values, np.int32))

    def apply(
        self,
        kind: str,
        operands: Sequence[Tensor | int],
        shape: Sequence[int],
        codes: Codes,
        **options: Any,
    ) -> Tensor:
        """Append an operator with one int8 output, which joins ``values``."""
        (result,) = self.apply_several(kind, operands, [shape], codes, **options)
        return result

    def apply_several(
        self,
        kind: str,
        operands: Sequence[Tensor | int],
        shapes: Sequence[Sequence[int]],
        codes: Codes,
        **options: Any,
    ) -> list[Tensor]:
        """Append an operator with int8 outputs, which join ``values``."""
        results = [self._tensor(tuple(int(n) for n in s), codes) for s in shapes]
        self._operator(kind, operands, [t.index for t in results], **options)
        self.values += results
        return results

    def apply_numbers(
        self,
        kind: str,
        operands: Sequence[Tensor | int],
        shape: Sequence[int],
        dtype: str = "int32",
        **options: Any,
    ) -> int:
        """Append an operator that makes numbers or booleans, and return their tensor's index."""
        index = self.model.tensor(tuple(shape), dtype)
        self._operator(kind, operands, [index], **options)
        return index

    def build(self) -> bytes:
        """Write the file; the outputs are the last value and some that nothing reads."""
        unread = [v.index for v in self.values[:-1] if v.index not in self._read]
        outputs = [i for i in unread if i not in self._inputs and self.chance(0.6)]
        outputs += self.numbers
        if not outputs or self.values[-1].index not in self._read:
            outputs.append(self.values[-1].index)
        read = [v.index for v in self.values if v.index in self._read - set(self._inputs)]
        if read and self.chance(0.1):
            outputs.append(self.pick(read))
        order = self.random.permutation(len(outputs))
        return self.model.build(self._inputs, list(dict.fromkeys(outputs[i] for i in order)))

    def _tensor(self, shape: Shape, codes: Codes) -> Tensor:
        index = self.model.tensor(shape, scale=codes.scale, zero_point=codes.zero_point)
        return Tensor(index, shape, codes)

    def _operator(
        self, kind: str, operands: Sequence[Tensor | int], outputs: list[int], **options: Any
    ) -> None:
        inputs = [t.index if isinstance(t, Tensor) else t for t in operands]
        self._read.update(inputs)
        self.model.operator(kind, inputs, outputs, **options)
