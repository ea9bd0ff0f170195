"""Results of a network for samples: values, and the classes they represent.

Tests: tests/unit/metrics/inference/test_run.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rlx.ir.inspect import printable
from rlx.metrics.inference.accuracy import Accuracy
from rlx.ops.numbers import sample_reals
from rlx.samples.batches import checked_labels
from rlx.support.calls import checked_call
from rlx.support.errors import UsageError
from rlx.support.text.notebook import table_html
from rlx.support.text.tables import Column, Table, float_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from rlx.ir import TensorType
    from rlx.support.annotations import Count

_MAX_SHOWN_SAMPLES: Final = 8
"""Samples of which a notebook and a line show the classes."""


class Ranked(NamedTuple):
    """A class, and its score."""

    number: int
    """Number of the class: the place of the output."""
    score: float
    """Value of the output: a probability, after a softmax."""
    label: str
    """Name of the class; its number as a text if there are no names."""


@dataclass(frozen=True, slots=True, repr=False)
class Output:
    """One output of a network, for every sample.

    Attributes:
        name: Its name.
        type: Its type, for one sample.
        array: As the network returns it, ``[samples, *shape of one sample]``; a leading dimension
            of 1 that the type has is that of the samples.
        rebuilt: Whether it has the shape of the only input, as that of an autoencoder has.
    """

    name: str
    type: TensorType
    array: npt.NDArray[Any]
    rebuilt: bool = False

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The integers that the network returns.

        Raises:
            UsageError: It returns floats.
        """
        if not self.type.dtype.is_integer:
            raise UsageError(
                f"expected quantized values, got {self.type}",
                where=f"output {printable(self.name)!r}",
                hint="use .values",
            )
        return self.array

    @property
    def values(self) -> npt.NDArray[Any]:
        """The dequantized values; without quantization the values themselves."""
        return sample_reals(self.array, self.type)

    @property
    def has_classes(self) -> bool:
        """Whether it is one score for each of several classes: one axis, and no reconstruction."""
        return not self.rebuilt and sum(int(size) != 1 for size in self.array.shape[1:]) == 1

    def first(self, count: int) -> Output:
        """Return the first ``count`` samples, or all if there are fewer."""
        return replace(self, array=self.array[:count])

    @property
    def scores(self) -> npt.NDArray[Any]:
        """The values as a score of each class, [samples, classes].

        Raises:
            UsageError: There are no classes: one element, more than one axis, a reconstruction.
        """
        if not self.has_classes:
            raise UsageError(
                f"{self.type} is not one score for each class",
                where=f"output {printable(self.name)!r}",
                hint="use .values",
            )
        return self.values.reshape(len(self.array), -1)

    @checked_call
    def top(self, k: Count = 3, labels: Sequence[str] | None = None) -> list[list[Ranked]]:
        """Return the ``k`` best classes of each sample, best first; of equal ones the first.

        Args:
            k: Number of classes; all if there are fewer.
            labels: Name of each class.

        Raises:
            UsageError: The output has no classes, or there are fewer names than classes.
        """
        scores = self.scores
        names = self._names(labels, scores.shape[1])
        best = np.argsort(-scores.astype(np.float64), axis=1, kind="stable")[:, :k]
        return [
            [Ranked(i, float(row[i]), names[i]) for i in places.tolist()]
            for row, places in zip(scores, best, strict=True)
        ]

    def _names(self, labels: Sequence[str] | None, classes: int) -> Sequence[str]:
        if labels is None:
            return [str(i) for i in range(classes)]
        if len(labels) != classes:
            raise UsageError(
                f"{counted(len(labels), 'name')} for {counted(classes, 'class')}",
                where="labels",
                hint="give the name of each class, in the order of the network's outputs",
            )
        return labels

    def accuracy(self, expected: npt.ArrayLike) -> Accuracy:
        """Return the number of classes that are right.

        Args:
            expected: Class of each sample, [samples].

        Raises:
            UsageError: The output has no classes, or ``expected`` are none of them.
        """
        scores = self.scores
        count, classes = scores.shape
        wanted = checked_labels(np.asarray(expected), classes, count, where="expected classes")
        return Accuracy.of(wanted, scores.argmax(axis=1).astype(np.int64), classes)

    def __repr__(self) -> str:
        return f"<Output {self.name!r}: {self.type}, {counted(len(self.array), 'sample')}>"


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """Results of a network for samples.

    Attributes:
        outputs: Each output by its name, in order.
        labels: Class of each sample, int64 [samples], if it came with the data; else None.
    """

    outputs: Mapping[str, Output]
    labels: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.outputs.values())).array)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """Return the values of an output by its name, as :attr:`Output.values`.

        Raises:
            KeyError: The network has no output of that name.
        """
        return self.outputs[name].values

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Any:  # noqa: ANN401
        """Return the values of the only output for NumPy; UsageError if there are several."""
        return np.array(self.values, dtype=dtype, copy=copy)

    @property
    def output(self) -> Output:
        """The only output.

        Raises:
            UsageError: There are several.
        """
        if len(self.outputs) != 1:
            names = ", ".join(repr(printable(name)) for name in self.outputs)
            raise UsageError(
                f"the network has the outputs {names}",
                where="result",
                hint="choose one: result.outputs[NAME]",
            )
        return next(iter(self.outputs.values()))

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The integers of the only output, ``[samples, *shape]``, as :attr:`Output.codes`."""
        return self.output.codes

    @property
    def values(self) -> npt.NDArray[Any]:
        """The floats of the only output, ``[samples, *shape]``."""
        return self.output.values

    @checked_call
    def top(self, k: Count = 3, labels: Sequence[str] | None = None) -> list[list[Ranked]]:
        """Return the ``k`` best classes of each sample; as :meth:`Output.top`.

        Args:
            k: Number of classes; all if there are fewer.
            labels: Name of each class.
        """
        return self.output.top(k, labels)

    def accuracy(self, expected: npt.ArrayLike | None = None) -> Accuracy:
        """Return the number of classes that are right; as :meth:`Output.accuracy`.

        Args:
            expected: Class of each sample; None for the labels that came with the data.

        Raises:
            UsageError: There are none, or they are not of this network.
        """
        classes = self.labels if expected is None else expected
        if classes is None:
            raise UsageError(
                "the data came without classes",
                where="accuracy",
                hint="give them: result.accuracy(expected)",
            )
        return self.output.accuracy(classes)

    def __repr__(self) -> str:
        outputs = ", ".join(
            f"{name}: {o.type.with_quant(None)}" for name, o in self.outputs.items()
        )
        return f"<Result of {counted(len(self), 'sample')}: {outputs}{self._classes()}>"

    def _classes(self) -> str:
        """Return the classes of the first samples, as a line shows them."""
        if not self.has_classes:
            return ""
        found = [row[0].label for row in self.output.top(1)[:_MAX_SHOWN_SAMPLES]]
        return f"; classes {', '.join(found)}{', …' if len(self) > _MAX_SHOWN_SAMPLES else ''}"

    @property
    def has_classes(self) -> bool:
        """Whether there is one output, and it is one score for each of several classes."""
        return len(self.outputs) == 1 and self.output.has_classes

    def _repr_html_(self) -> str:
        if not self.has_classes:
            rows = tuple((o.name, str(o.type)) for o in self.outputs.values())
            ports = Column("output"), Column("type")
            return table_html(Table(f"{counted(len(self), 'sample')}", ports, rows))
        best = self.output.top(3)[:_MAX_SHOWN_SAMPLES]
        ranked = tuple(
            (i, *(f"{one.label} ({float_text(one.score)})" for one in row))
            for i, row in enumerate(best)
        )
        heads = ("sample", "best", "second", "third")[: 1 + len(best[0])]
        columns = tuple(Column(head) for head in heads)
        return table_html(Table(f"{counted(len(self), 'sample')}", columns, ranked))
