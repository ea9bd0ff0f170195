"""Golden files: inputs, outputs and a digest of each layer of a network as it once was."""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlx.driver.differences import difference_of
from rlx.driver.reference import input_frames, random_inputs
from rlx.ir.evaluate import evaluate_all
from rlx.ir.layer_names import layer_names
from rlx.support.errors import DifferenceError, GoldenWarning, UsageError
from rlx.support.files.arrays import read_arrays
from rlx.support.files.golden import repeats
from rlx.support.files.outputs import new_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rlx.ir import Array, Graph

_OUTPUT: Final = "output:"
_LAYERS: Final = "rlx:layers"


@dataclass(frozen=True, slots=True)
class Golden:
    """Results of a network.

    Attributes:
        inputs: Arrays ``[frames, *shape]`` by name of the input.
        outputs: Likewise, by name of the output.
        layers: For each layer its name with its op, and a hash of its results for all frames.
    """

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    layers: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, graph: Graph, vectors: Mapping[str, Array] | None) -> Golden:
        """Return the results of the reference.

        Args:
            graph: The network.
            vectors: Inputs ``[frames, *shape]`` by name, or ``x``; None for random ones.
        """
        arrays = random_inputs(graph) if vectors is None else input_frames(graph, vectors, None)
        inputs = {v.name: a for v, a in zip(graph.inputs, arrays, strict=True)}
        hashes = {node: hashlib.sha256() for node in graph.op_nodes}
        frames = []
        for frame in range(len(arrays[0])):
            values = evaluate_all(graph, {name: a[frame] for name, a in inputs.items()})
            frames.append([values[v] for v in graph.outputs])
            for node, digest in hashes.items():
                for result in node.results:
                    digest.update(np.ascontiguousarray(values[result]).tobytes())
        outputs = {v.name: np.stack([f[k] for f in frames]) for k, v in enumerate(graph.outputs)}
        names = layer_names(graph)
        layers = tuple(
            (f"{names[node]} ({node.op.name})", digest.hexdigest())
            for node, digest in hashes.items()
        )
        return cls(inputs, outputs, layers)

    @classmethod
    def read(cls, path: Path) -> Golden:
        """Return the results in a file that :meth:`write` wrote.

        Raises:
            UsageError: The file does not exist, or holds something else.
        """
        if not path.is_file():
            raise UsageError(
                "no such golden file", where=str(path), hint="pytest --rlx-record writes it"
            )
        arrays = read_arrays(path)
        if not isinstance(arrays, dict) or _LAYERS not in arrays:
            raise UsageError(
                "expected a golden file", where=str(path), hint="pytest --rlx-record writes one"
            )
        layers = json.loads(arrays.pop(_LAYERS).tobytes())
        outputs = {n.removeprefix(_OUTPUT): a for n, a in arrays.items() if n.startswith(_OUTPUT)}
        inputs = {n: a for n, a in arrays.items() if not n.startswith(_OUTPUT)}
        return cls(inputs, outputs, tuple((name, digest) for name, digest in layers))

    def check_variety(self, path: Path) -> None:
        """Warn if all frames have the same outputs, or the same inputs.

        Args:
            path: File of these results, for the message.
        """
        if repeats(self.outputs.values()):
            kind = "inputs" if repeats(self.inputs.values()) else "outputs"
            frames = len(next(iter(self.outputs.values())))
            warnings.warn(
                f"{path}: all {frames:,} frames have the same {kind}, so a network that ignores"
                " its input passes; give vectors with different results",
                GoldenWarning,
                stacklevel=3,
            )

    def write(self, path: Path) -> None:
        """Write a NumPy archive."""
        outputs = {f"{_OUTPUT}{name}": array for name, array in self.outputs.items()}
        layers = np.frombuffer(json.dumps(self.layers).encode(), np.uint8)
        arrays: dict[str, Any] = {**self.inputs, **outputs, _LAYERS: layers}
        with new_file(path) as new, new.open("wb") as stream:
            np.savez_compressed(stream, **arrays)

    def require(self, actual: Golden, *, model: Path, path: Path) -> None:
        """Refuse results that are not these.

        Args:
            actual: Results for the same inputs.
            model: File of the network, for messages.
            path: File of these results, for messages.

        Raises:
            DifferenceError: They differ; it says where, the first layer that does, and what to do.
        """
        if list(self.outputs) != list(actual.outputs):
            raise DifferenceError(
                f"expected the outputs {', '.join(self.outputs)},"
                f" got {', '.join(actual.outputs)}",
                where=str(model), hint=_hint(model, path),
            )  # fmt: skip
        for name, expected in self.outputs.items():
            array = actual.outputs[name]
            if (expected.dtype, expected.shape) != (array.dtype, array.shape):
                text: str | None = (
                    f"expected {expected.dtype}{list(expected.shape)},"
                    f" got {array.dtype}{list(array.shape)}"
                )
            else:
                text = difference_of(expected, array)
            if text is not None:
                layer = first_layer(self.layers, actual.layers)
                raise DifferenceError(
                    f"output {name!r}: {text}\n{layer}", where=str(model), hint=_hint(model, path)
                )


def first_layer(before: tuple[tuple[str, str], ...], after: tuple[tuple[str, str], ...]) -> str:
    """Return the first layer whose name or results differ, as text."""
    for place, ((name, digest), (other, result)) in enumerate(zip(before, after, strict=False), 1):
        if digest != result:
            was = "" if name == other else f", which was {name}"
            return f"first layer that differs: {place} of {len(after)}, {other}{was}"
    if len(before) != len(after):
        return f"the layers are equal, but there are {len(after)} in place of {len(before)}"
    return "no layer differs"


def _hint(model: Path, path: Path) -> str:
    return (
        f"with the old model: rlx diff OLD {model}, which lists the layers that changed;\n"
        f"if the new results are right: pytest --rlx-record writes {path.name} again"
    )
