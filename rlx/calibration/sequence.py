"""Weights of few bits, layer after layer: each compensates for the losses of the layers before it.

The samples run through the float network and through the partially quantized network, side by side.
A layer that sees the inputs ``q`` in place of ``f`` is given the weights ``v`` whose results
``v q`` are nearest to ``w f``, the layer's own; these are then rounded as usual.

Minimizing against the inputs that the quantized network really has is the idea of Zhang, Zhou and
Saab, "Post-training quantization for neural networks with provable guarantees", 2022.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rlx.calibration.observation import MAX_TERMS
from rlx.calibration.sensitivity import Rounded, through
from rlx.ir import Graph, Input
from rlx.passes.decompose import decompose
from rlx.passes.quantize.rounding import round_weights, smallest_scales
from rlx.passes.quantize.weighted import Weighted
from rlx.passes.transforms.batch import with_batch
from rlx.runtime import CompileOptions, Session
from rlx.samples.batches import take
from rlx.support.errors import ShapeError, UnsupportedOpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from rlx.calibration.observation import Moments
    from rlx.ir import Array, Node, QuantParams, Value
    from rlx.samples.batches import Samples

    Doubles = npt.NDArray[np.float64]
    Step = Callable[..., tuple[Array, ...]]

MAX_SAMPLES: Final = 256
"""Samples that are run."""

MIN_SAMPLES: Final = 32
"""Samples below which nothing is fitted: two samples made networks lose more, not less."""

MAX_BYTES: Final = 64 << 20
"""Bytes of the largest layer's operand and result, in both networks: the other limit on samples."""

_RIDGE: Final = 0.3
"""Regularization, relative to the mean square of the inputs, that holds weights to the layer's own:
with a few hundred samples, less makes weights fit these samples rather than the network."""

_MIN_POSITIONS_PER_TERM: Final = 4
"""Positions for each term of a row from which moments of the quantized network are used to round:
of fewer, as in a dense layer, those of all samples in the float network say more."""

_PATCH_BYTES: Final = 8 << 20
"""Bytes of the patches of a layer's input that are made at a time."""


def rounded_in_sequence(
    graph: Graph,
    layers: Mapping[Node, Weighted],
    widths: Mapping[Node, int],
    params: Mapping[Value, QuantParams],
    observed: Mapping[Node, Moments],
    samples: Samples,
) -> dict[Node, Rounded] | None:
    """Return the quantized weights of all layers, in the order of the graph.

    Args:
        graph: The float network.
        layers: Its layers with weights.
        widths: Bits of the weights of each.
        params: The quantization of values.
        observed: Moments of the layers' inputs in the float network, from all samples.
        samples: Calibration data, run up to the memory limit.

    Returns:
        None if the network does not accept several samples together, or too few fit the memory.
    """
    count = min(MAX_SAMPLES, samples.count, MAX_BYTES // _largest(graph))
    if count < MIN_SAMPLES:
        return None
    try:
        steps = [(node, _compile_node(node, count)) for node in graph.op_nodes]
    except (ShapeError, UnsupportedOpError):
        return None
    return _Sequence(graph, layers, widths, params, observed).run(
        steps, take(samples, count), count
    )


def _largest(graph: Graph) -> int:
    """Return the bytes of the largest node's values for one sample, in both networks."""
    sizes = (
        sum(v.type.nbytes for v in (*node.operands, *node.results) if v.constant is None)
        for node in graph.op_nodes
    )
    return 2 * max((1, *sizes))


def _compile_node(node: Node, count: int) -> Step:
    """Return the function that computes a node's results for ``count`` samples at a time.

    Raises:
        ShapeError: It does not accept several samples together.
        UnsupportedOpError: Likewise.
    """
    if Weighted.of(node) is not None:
        if node.operands[0].type.rank < 2 or node.operands[0].type.shape[0] != 1:
            raise ShapeError("its operand has no leading dimension of 1")
        return node.op.evaluate
    graph = Graph("step")
    operands = [
        graph.input(f"x{i}", o.type) if o.constant is None else graph.constant(o.constant)
        for i, o in enumerate(node.operands)
    ]
    graph.output(*graph.append(node.op, *operands).results)
    program = Session(options=CompileOptions(backend="numpy")).compile(
        with_batch(decompose(graph), count)
    )

    def compute(*arrays: Array) -> tuple[Array, ...]:
        given = {f"x{i}": a for i, (o, a) in enumerate(zip(node.operands, arrays, strict=True))
                 if o.constant is None}  # fmt: skip
        return tuple(program.run_typed(given))

    return compute


@dataclass(slots=True)
class _Sequence:
    """Two networks that run side by side."""

    graph: Graph
    layers: Mapping[Node, Weighted]
    widths: Mapping[Node, int]
    params: Mapping[Value, QuantParams]
    observed: Mapping[Node, Moments]

    def run(
        self, steps: Sequence[tuple[Node, Step]], inputs: Mapping[str, Array], count: int
    ) -> dict[Node, Rounded]:
        """Return the quantized weights."""
        last = {o: i for i, node in enumerate(self.graph.op_nodes) for o in node.operands}
        pairs: dict[Value, tuple[Array, Array]] = {}
        for node in self.graph.nodes:
            if isinstance(node.op, Input):
                array = inputs[node.name].reshape(count, *node.result.type.static_shape[1:])
                pairs[node.result] = array, self._held(node.result, array)
        weights: dict[Node, Rounded] = {}
        for i, (node, compute) in enumerate(steps):
            self._step(node, compute, pairs, weights)
            for operand in node.operands:
                if last[operand] == i:
                    pairs.pop(operand, None)
        return weights

    def _step(
        self,
        node: Node,
        compute: Step,
        pairs: dict[Value, tuple[Array, Array]],
        quantized_weights: dict[Node, Rounded],
    ) -> None:
        """Compute the results of a node in both networks; quantize it if it has weights."""
        floats = [pairs[o][0] if o.constant is None else o.constant for o in node.operands]
        quantized_operands = [
            pairs[o][1] if o.constant is None else o.constant for o in node.operands
        ]
        with np.errstate(all="ignore"):
            results = compute(*floats)
            if node in self.widths:
                layer = self.layers[node]
                quantized_weights[node] = rounded = self._rounded(
                    layer, floats[0], quantized_operands[0]
                )
                weights = layer.from_rows(rounded.weights.reals())
                quantized_operands = [
                    quantized_operands[0],
                    weights,
                    rounded.bias.astype(weights.dtype),
                ]
            quantized = compute(*quantized_operands)
        for value, a, b in zip(node.results, results, quantized, strict=True):
            pairs[value] = a, self._held(value, b)

    def _held(self, value: Value, array: Array) -> Array:
        """Return an array as int8 values hold it."""
        params = self.params.get(value)
        return array if params is None else through(array, params)

    def _rounded(self, layer: Weighted, floats: Array, quantized: Array) -> Rounded:
        """Return a layer's weights, fitted to the inputs that it has."""
        bits, x_scale = self.widths[layer.node], self.params[layer.node.operands[0]].scale[0]
        moments = _PairMoments.of(layer, floats, quantized)
        plain = layer.rows().astype(np.float64)
        rows = plain.reshape(layer.groups, -1, plain.shape[1])
        fitted = moments.fitted(rows).reshape(plain.shape)
        square = moments.square
        if moments.count < _MIN_POSITIONS_PER_TERM * plain.shape[1]:
            square = self.observed[layer.node].covariance
        weights = round_weights(fitted, bits, square, smallest_scales(layer, x_scale))
        reals = weights.reals().reshape(rows.shape)
        shift = rows @ moments.float_means[..., np.newaxis] - reals @ moments.means[..., np.newaxis]
        bias = layer.bias.astype(np.float64) + shift.reshape(-1)
        return Rounded(weights, bias.astype(layer.bias.dtype))


@dataclass(frozen=True, slots=True)
class _PairMoments:
    """Moments of the operands of a layer's rows, in the float and in the quantized network.

    Attributes:
        count: Positions.
        float_means: Means in the float network, [groups, terms].
        means: Means in the quantized one.
        square: Second moments of the quantized ones about their means, [groups, terms, terms];
            None where there are too many terms.
        cross: Second moments of float by quantized ones, likewise.
    """

    count: int
    float_means: Doubles
    means: Doubles
    square: Doubles | None
    cross: Doubles | None

    @staticmethod
    def of(layer: Weighted, floats: Array, quantized: Array) -> _PairMoments:
        """Return the moments of a layer's operands [samples, ...]."""
        terms = layer.rows().shape[1]
        sums = np.zeros((2, layer.groups, terms))
        known = terms <= MAX_TERMS
        squares = np.zeros((2, layer.groups, terms, terms) if known else 0)
        count, step = 0, _samples_at_once(layer, floats)
        for start in range(0, len(floats), step):
            f, q = (layer.patches(np.asarray(x[start : start + step])) for x in (floats, quantized))
            count += q.shape[1]
            sums += [f.sum(axis=1, dtype=np.float64), q.sum(axis=1, dtype=np.float64)]
            if known:
                squares += [np.swapaxes(q, 1, 2) @ q, np.swapaxes(f, 1, 2) @ q]
        sums /= count
        if not known:
            return _PairMoments(count, sums[0], sums[1], None, None)
        squares /= count
        squares -= sums[[1, 0], :, :, np.newaxis] * sums[1, :, np.newaxis, :]
        return _PairMoments(count, sums[0], sums[1], squares[0], squares[1])

    def fitted(self, rows: Doubles) -> Doubles:
        """Return the weights whose results on the quantized inputs are nearest to the layer's.

        ``rows`` [groups, outputs of a group, terms] itself counts as if it had been seen too.
        """
        if self.square is None or self.cross is None:
            return rows
        terms = rows.shape[-1]
        mean_square = np.trace(self.square, axis1=1, axis2=2) / terms
        ridge = np.where(mean_square > 0, _RIDGE * mean_square, 1.0)[:, np.newaxis, np.newaxis]
        target = rows @ self.cross + ridge * rows
        damped = self.square + ridge * np.eye(terms)
        solution = np.linalg.solve(damped, np.swapaxes(target, 1, 2)).astype(np.float64)
        return np.swapaxes(solution, 1, 2)


def _samples_at_once(layer: Weighted, x: Array) -> int:
    """Return the number of samples whose patches, larger than the image, are made together."""
    channels = int(x.shape[layer.channel_axis])
    size: int = x[:1].nbytes * max(layer.rows().shape[1] * layer.groups // channels, 1)
    return max(1, _PATCH_BYTES // max(size, 1))
