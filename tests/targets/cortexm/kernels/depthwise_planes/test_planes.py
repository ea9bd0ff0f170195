"""Depthwise convolutions on planes: every tap is multiplied once, for every shape."""

import numpy as np
import pytest
from targets.cortexm.forced import chosen_by, named
from targets.cortexm.graph_builder import GraphBuilder, emit_graph
from targets.cortexm.kernel_graphs import RELU, WHOLE

from rlx.ops.numerics.fixed_point import Rescale
from rlx_cortexm.image import WindowedImage
from rlx_cortexm.kernels.depthwise_planes.planes import Planes, TapLine
from rlx_cortexm.kernels.rules import candidates


def convolution(shape=(1, 6, 6, 8), kernel=(3, 3), **attributes):
    """Return a graph's node with a depthwise convolution."""
    builder = GraphBuilder()
    channels = shape[3]
    builder.conv(shape, channels, kernel, **{"groups": channels, **attributes})
    (node,) = builder.graph.op_nodes
    return node


def found(node):
    return [c for c in candidates(node) if c.name.startswith("planes")]


@pytest.mark.parametrize("kernel", range(1, 9))
@pytest.mark.parametrize("stride", range(1, 5))
def test_a_line_multiplies_every_tap_once(kernel, stride):
    line = TapLine.of(kernel, stride)
    random = np.random.default_rng(kernel)
    weights = random.integers(-128, 128, kernel)
    values = random.integers(-128, 128, 2 * len(line.products))
    for outputs in (1, 2):
        sums = [0, 0]
        for word, own in enumerate(line.products[: line.words(outputs)]):
            halves = {"b": values[2 * word], "t": values[2 * word + 1]}
            for product in own:
                taps = dict(zip("bt", line.weights[product.weights], strict=True))
                both = {h: 0 if tap is None else weights[tap] for h, tap in taps.items()}
                form = product.form.removeprefix("smla")
                pairs = [("b", "b"), ("t", "t")] if form == "d" else [tuple(form)]
                sums[product.output] += sum(halves[x] * both[w] for x, w in pairs)
        expected = [values[s : s + kernel] @ weights for s in (0, stride)]
        assert sums[:outputs] == expected[:outputs]


@pytest.mark.parametrize("kernel", range(1, 9))
def test_a_lone_output_has_no_weights_of_a_neighbour(kernel):
    line = TapLine.of(kernel, 1, outputs=1)
    used = {product.weights for own in line.products for product in own}
    assert used == set(range(len(line.weights)))
    assert sorted(tap for word in line.weights for tap in word if tap is not None) == [
        *range(kernel)
    ]


def test_three_taps_need_two_words_of_weights():
    line = TapLine.of(3, 1)
    assert line.weights == ((0, 1), (1, 2))
    forms = [[product.form for product in own] for own in line.products]
    assert forms == [["smlad", "smlatb"], ["smlabt", "smlad"]]


def test_planes_hold_what_is_read():
    node = convolution((1, 25, 5, 8))
    down = Planes(WindowedImage.of(node), down=True, strip=5)
    assert (down.pairs, down.pixels, down.pitch, down.lines) == (12, 25, 28, 7)
    assert down.scratch_bytes == 2 * 4 * 28 * 7
    along = Planes(WindowedImage.of(node), down=False, strip=10)
    assert (along.pairs, along.pixels, along.pitch, along.lines, along.strips) == (2, 5, 8, 12, 3)


def test_lines_lie_along_the_axis_that_wastes_less():
    best = min(found(convolution((1, 25, 5, 64))), key=lambda c: c.instructions)
    assert best.name.startswith("planes down")
    best = min(found(convolution((1, 5, 25, 64))), key=lambda c: c.instructions)
    assert best.name.startswith("planes along")


def test_strips_need_less_memory_and_more_instructions():
    cuts = [c for c in found(convolution((1, 48, 48, 8), **RELU)) if "along" in c.name]
    few = min(cuts, key=lambda c: c.scratch_bytes)
    whole = max(cuts, key=lambda c: c.scratch_bytes)
    assert few.scratch_bytes < whole.scratch_bytes // 5
    assert few.instructions > min(c.instructions for c in cuts)


@pytest.mark.parametrize(
    "attributes",
    [
        {"shape": (1, 6, 6, 3)},
        {"kernel": (9, 9)},
        {"dilation": (2, 2)},
        {"factors": Rescale.of(1.5)},
    ],
    ids=["channels", "taps", "dilation", "factor"],
)
def test_other_convolutions_do_not_fit(attributes):
    assert not found(convolution(**attributes))


def test_dilation_across_the_lines_fits():
    assert {c.name.split(",")[0] for c in found(convolution(dilation=(2, 1)))} == {"planes along"}


def test_channels_that_differ_too_much_shift_by_themselves():
    rescale = GraphBuilder().factors(8, 9)
    shifts = (*rescale.shift[:-1], min(rescale.shift) - 9)
    node = convolution(factors=type(rescale)(rescale.multiplier, shifts), padding=WHOLE)
    functions = {dict(c.lower().kernel.constants)["requantize"] for c in found(node)}
    assert functions == {"requantize_folded"}


@pytest.mark.parametrize("direction", ["along", "down"])
@pytest.mark.parametrize("shape", [(1, 7, 5, 8), (1, 4, 9, 4)])
@pytest.mark.parametrize("padding", [(0, 0), (1, 1), (2, 1)])
def test_words_are_filled_where_something_lies_outside(shape, padding, direction):
    builder = GraphBuilder()
    builder.conv(shape, shape[3], (3, 3), groups=shape[3], padding=(padding, padding))
    with chosen_by(named(f"planes {direction}")) as chosen:
        text = emit_graph(builder.graph, self_test=0).files["src/net.c"]
    assert chosen[0].name.startswith(f"planes {direction}")
    # Compilers refuse a static function that nobody calls: it is written only if it is called.
    assert (text.count("fill_words(") > 1) == ("void net_fill_words(" in text)
    assert ("fill_words(" in text) or not any(padding)
