"""Output of ``rlx run``.

Tests: tests/cli/commands/test_run.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.cli.table import print_table, symbol
from rlx.support.text.tables import float_text
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from rlx.metrics.inference import Accuracy, Output, Ranked, Result

    Numbers = npt.NDArray[Any]

_MAX_ROWS: Final = 20
"""Samples that a table shows."""

_MAX_VALUES: Final = 8
"""Values of a sample that a table shows."""

_MAX_JSON_SAMPLES: Final = 16
"""Samples in the JSON object; ``--out`` has all of them."""

_MAX_CONFUSION_CLASSES: Final = 12
"""Classes up to which confusion is shown as a matrix."""


def summary(result: Result, names: Sequence[str] | None) -> list[dict[str, Any]]:
    """Return each output for JSON: extremes of all frames, values and classes of the first."""
    return [_output_summary(output, names) for output in result.outputs.values()]


def _output_summary(output: Output, names: Sequence[str] | None) -> dict[str, Any]:
    array, count = output.array, len(output.array)
    first = output.first(_MAX_JSON_SAMPLES)
    return {
        "name": output.name,
        "type": str(output.type),
        "minimum": array.min().item(),
        "maximum": array.max().item(),
        "argmax": array.reshape(count, -1).argmax(axis=1)[:_MAX_JSON_SAMPLES].tolist(),
        "values": first.values.reshape(len(first.array), -1).tolist(),
        **({"top": [_top_json(row) for row in first.top(3, names)]} if output.has_classes else {}),
    }


def _top_json(row: Sequence[Ranked]) -> list[dict[str, Any]]:
    return [{"class": one.number, "label": one.label, "score": one.score} for one in row]


def print_result(
    result: Result,
    *,
    names: Sequence[str] | None,
    files: Sequence[str],
    expected: Numbers | None,
    accuracy: Accuracy | None,
) -> None:
    """Print the best classes of each sample, or values; then accuracy and confusion.

    Args:
        result: Outputs.
        names: Names of the classes.
        files: Name of each sample; numbers if there are none.
        expected: Class of each sample.
        accuracy: Accuracy of all samples.
    """
    outputs = list(result.outputs.values())
    sample_names = files or [str(i) for i in range(len(result))]
    for output in outputs:
        first = output.first(_MAX_ROWS)
        if output.has_classes:
            _print_classes(first, sample_names, names, expected)
        else:
            _print_values(first, sample_names)
    if len(result) > _MAX_ROWS:
        print(f"and {len(result) - _MAX_ROWS} more samples; --out FILE.npz has the outputs of all")
    for output in outputs:
        low, high = output.values.min(), output.values.max()
        kind = output.type.with_quant(None)
        print(f"{output.name}: {kind}, {float_text(low, 6)} to {float_text(high, 6)}"
              f" in {counted(len(result), 'sample')}")  # fmt: skip
    if accuracy is not None:
        _print_accuracy(accuracy, names)


def _print_classes(
    output: Output,
    sample_names: Sequence[str],
    names: Sequence[str] | None,
    expected: Numbers | None,
) -> None:
    best = output.top(3, names)
    columns = ["sample", "best", "second", "third"][: 1 + len(best[0])]
    rows: list[list[object]] = [
        [sample_names[i], *(f"{one.label}  {float_text(one.score)}" for one in row)]
        for i, row in enumerate(best)
    ]
    if expected is not None:
        columns.append("expected")
        for i, row in enumerate(rows):
            label = str(int(expected[i])) if names is None else names[int(expected[i])]
            row.append(label if best[i][0].number == expected[i] else f"{label}  (wrong)")
    print_table(f"{output.name}: classes and scores", columns, rows)


def _print_values(output: Output, sample_names: Sequence[str]) -> None:
    numbers = output.values.reshape(len(output.array), -1)
    more = "  " + symbol("…", "...") if numbers.shape[1] > _MAX_VALUES else ""
    rows = [
        [sample_names[i], "  ".join(float_text(v, 5) for v in row[:_MAX_VALUES]) + more]
        for i, row in enumerate(numbers)
    ]
    print_table(f"{output.name}: values", ["sample", "values"], rows)


def _print_accuracy(accuracy: Accuracy, names: Sequence[str] | None) -> None:
    """Print the share of correct classes, and which ones were taken for which."""
    confusion = accuracy.confusion
    labels = names or [str(i) for i in range(len(confusion))]
    if len(confusion) <= _MAX_CONFUSION_CLASSES:
        rows = [[labels[i], *row] for i, row in enumerate(confusion.tolist())]
        print_table("expected class (rows), found class (columns)", ["", *labels], rows)
    else:
        wrong = confusion - np.diag(np.diag(confusion))
        order = np.argsort(-wrong.reshape(-1), kind="stable")[:_MAX_ROWS]
        pairs = [(*divmod(int(place), len(confusion)), wrong.reshape(-1)[place]) for place in order]
        rows = [[labels[i], labels[k], int(count)] for i, k, count in pairs if count]
        print_table("most frequent mistakes", ["expected", "found", "samples"], rows)
    share = f"{100 * accuracy.top1:.2f} %"
    print(f"accuracy: {accuracy.correct} of {accuracy.samples} correct, {share}")
