"""Files that leave the batch, or more, open: shapes are computed, as LiteRT computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.frontends.tflite.options import TfliteOptions
from rlx.ir.evaluate import evaluate
from rlx.support.errors import FrontendError, UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.litert import run_litert
from support.references.tflite_compare import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CODES = {"scale": 0.5, "zero_point": -7}


class Open(TfliteBuilder):
    """A builder of networks whose first dimension is open, as converters of Keras 3 write them.

    Shapes that depend on it are stored as ones.
    """

    def __init__(self, *rest: int, kind: str = "float32", open_axes: Sequence[int] = (0,)) -> None:
        super().__init__()
        shape = [1, *rest]
        signature = [-1 if axis in open_axes else n for axis, n in enumerate(shape)]
        stored = [1 if n == -1 else n for n in signature]
        self.kind = kind
        self.x = self.value(stored, signature=signature, name="x")

    def value(self, shape: Any, signature: Any = None, **more: Any) -> int:
        codes = CODES if self.kind == "int8" else {}
        return self.tensor(shape, self.kind, signature=signature, **codes, **more)

    def list_(self, *numbers: int) -> int:
        return self.constant(np.array(numbers, np.int32))

    def number(self, n: int) -> int:
        return self.constant(np.array(n, np.int32))

    def weights(self, *shape: int) -> int:
        return self.constant(np.random.default_rng(3).uniform(-1, 1, shape).astype(np.float32))

    def step(self, code: str, inputs: list[int], rank: int, **options: Any) -> int:
        """Append an operator with a result of which only the rank is known."""
        y = self.value([1] * rank, [-1] * rank)
        self.operator(code, inputs, [y], **options)
        return y

    def numbers(self, code: str, inputs: list[int], count: int | None, **options: Any) -> int:
        """Append an operator that makes a list of ``count`` int32, or one number."""
        y = self.tensor(() if count is None else (count,), "int32")
        self.operator(code, inputs, [y], **options)
        return y

    def shape_of(self, x: int, rank: int) -> int:
        return self.numbers("SHAPE", [x], rank, outType=2)

    def batch(self, x: int, rank: int) -> int:
        bounds = [self.list_(n) for n in (0, 1, 1)]
        return self.numbers("STRIDED_SLICE", [self.shape_of(x, rank), *bounds], None,
                            shrinkAxisMask=1)  # fmt: skip


def dense(*rest: int) -> bytes:
    """Return ``Dense(4)`` on all axes but the last, as Keras' Tensordot is converted."""
    model = Open(*rest)
    rank, (*_, length) = len(rest) + 1, rest
    shape = model.shape_of(model.x, rank)
    free = model.numbers("GATHER", [shape, model.list_(*range(rank - 1))], rank - 1)
    last = model.numbers("GATHER", [shape, model.list_(rank - 1)], 1)
    rows, columns = (model.numbers("REDUCE_PROD", [n, model.list_(0)], None) for n in (free, last))
    flat = model.numbers("PACK", [rows, columns], 2, valuesCount=2)
    result = model.numbers("CONCATENATION", [free, model.list_(4)], rank)
    x = model.step("RESHAPE", [model.x, flat], 2)
    y = model.step("FULLY_CONNECTED", [x, model.weights(4, length), model.weights(4)], 2)
    return model.build([model.x], [model.step("RESHAPE", [y, result], rank)])


def upsampling(kind: str) -> bytes:
    """Return rows repeated, as ``UpSampling2D`` is converted."""
    model = Open(4, 3, 2, kind=kind)
    grown = model.step("EXPAND_DIMS", [model.x, model.number(2)], 5)
    tiled = model.step("TILE", [grown, model.list_(1, 1, 3, 1, 1)], 5)
    bounds = [model.list_(n) for n in (0, 1, 1)]
    front = model.numbers("STRIDED_SLICE", [model.shape_of(model.x, 4), *bounds], 1, beginMask=1)
    shape = model.numbers("CONCATENATION", [front, model.list_(12), model.list_(3, 2)], 4)
    return model.build([model.x], [model.step("RESHAPE", [tiled, shape], 4)])


def dilated(kind: str) -> bytes:
    """Return a pool of a dilated window, as causal convolutions are converted."""
    model = Open(12, 6, 4, kind=kind)
    block = model.list_(2, 3)
    ends = model.constant(np.array([[2, 0], [1, 2]], np.int32))
    x = model.step("SPACE_TO_BATCH_ND", [model.x, block, ends], 4)
    size = {"filterHeight": 2, "filterWidth": 2, "strideH": 1, "strideW": 1}
    y = model.step("MAX_POOL_2D", [x], 4, padding="SAME", **size)
    return model.build([model.x], [model.step("BATCH_TO_SPACE_ND", [y, block, ends], 4)])


def transposed() -> bytes:
    model = Open(4, 5, 2)
    sizes = [model.batch(model.x, 4), *(model.number(n) for n in (8, 10, 3))]
    shape = model.numbers("PACK", sizes, 4, valuesCount=4)
    weights = model.weights(3, 3, 3, 2)
    y = model.step(
        "TRANSPOSE_CONV", [shape, weights, model.x], 4, padding="SAME", strideH=2, strideW=2
    )
    return model.build([model.x], [y])


def recurrent(kind: str) -> bytes:
    """Return three steps of ``h = max(h + x[t], h)`` from a state of zeros that FILL makes."""
    model = Open(3, 4, kind=kind)
    shape = model.numbers("PACK", [model.batch(model.x, 3), model.number(4)], 2, valuesCount=2)
    zero = model.tensor((), kind, data=0 if kind == "float32" else -7,
                        **(CODES if kind == "int8" else {}))  # fmt: skip
    state = model.step("FILL", [shape, zero], 2)
    turned = model.step("TRANSPOSE", [model.x, model.list_(1, 0, 2)], 3)
    parts = [model.value([1, 1], [-1, -1]) for _ in range(3)]
    model.operator("UNPACK", [turned], parts, num=3, axis=0)
    for x in parts:
        state = model.step("MAXIMUM", [model.step("ADD", [state, x], 2), state], 2)
    return model.build([model.x], [state])


def arithmetic() -> bytes:
    """Return a tensor reshaped by numbers that every kind of operator on shapes has a part in."""
    model = Open(4, 6)
    shape, one = model.shape_of(model.x, 3), model.number(1)
    begin = model.numbers("SLICE", [shape, model.list_(1), model.list_(1)], 1)
    four = model.numbers("SQUEEZE", [begin], None)
    three = model.numbers("SUB", [four, one], None)
    two = model.numbers("FLOOR_DIV", [four, model.number(2)], None)
    rank = model.tensor((), "int32")
    model.operator("RANK", [model.x], [rank])
    counted = model.numbers("RANGE", [one, rank, one], 2)  # 1, 2
    sizes = model.numbers("GATHER", [shape, counted], 2)  # 4, 6
    real = model.tensor((2,), "float32")
    model.operator("CAST", [sizes], [real])
    doubled = model.tensor((2,), "float32")
    model.operator("MUL", [real, model.constant(np.array([2, 0.5], np.float32))], [doubled])
    whole = model.numbers("CAST", [doubled], 2)  # 8, 3
    same = model.tensor((2,), "bool")
    model.operator("EQUAL", [whole, model.list_(8, 8)], [same])
    chosen = model.numbers("SELECT_V2", [same, whole, model.list_(9, 1)], 2)  # 8, 1
    ones = model.numbers("FILL", [model.list_(1), one], 1)
    largest = model.numbers("MAXIMUM", [ones, model.numbers("PACK", [three], 1, valuesCount=1)], 1)
    back = model.numbers("CONCATENATION", [chosen, largest], 3)  # 8, 1, 3
    packed = model.numbers("PACK", [model.number(-1), two], 2, valuesCount=2)
    y = model.step("RESHAPE", [model.step("RESHAPE", [model.x, packed], 2), back], 3)
    return model.build([model.x], [y])


NETWORKS: dict[str, Callable[[], bytes]] = {
    "dense on 3 axes": lambda: dense(5, 6),
    "dense on 4 axes": lambda: dense(2, 5, 6),
    "upsampling": lambda: upsampling("float32"),
    "dilated": lambda: dilated("float32"),
    "transposed": transposed,
    "recurrent": lambda: recurrent("float32"),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [1, 3])
def test_computed_shapes_are_those_of_litert(name: str, batch: int) -> None:
    data = NETWORKS[name]()
    fixed = tflite.load(data).graph.inputs[0].type.static_shape
    assert fixed[0] == 1
    shape = (batch, *fixed[1:])
    given = TfliteOptions(input_shape=(("x", shape),)) if batch > 1 else None
    graph = tflite.load(data, options=given).graph
    x = np.random.default_rng(5).uniform(-4, 4, shape).astype(np.float32)
    (wanted,) = run_litert(data, [x], shapes=[shape])
    (found,) = evaluate(graph, {"x": x})
    assert found.shape == wanted[0].shape
    assert np.abs(found - wanted[0]).max() <= 1e-6 * np.abs(wanted[0]).max()


def test_arithmetic_on_shapes_is_done_while_reading() -> None:
    data = arithmetic()
    graph = tflite.load(data).graph
    assert {n.op.name for n in graph.op_nodes} == {"real.reshape"}
    x = np.random.default_rng(5).uniform(-4, 4, (1, 4, 6)).astype(np.float32)
    (wanted,) = run_litert(data, [x])
    assert wanted[0].shape == (8, 1, 3)
    np.testing.assert_array_equal(evaluate(graph, {"x": x})[0], wanted[0])


@pytest.mark.parametrize("make", [upsampling, dilated, recurrent])
def test_int8_with_computed_shapes_equals_litert(make: Callable[[str], bytes]) -> None:
    data = make("int8")
    graph = tflite.load(data).graph
    (x,) = graph.inputs
    codes = np.random.default_rng(2).integers(-128, 128, x.type.static_shape).astype(np.int8)
    (wanted,) = run_litert(data, [codes])
    np.testing.assert_array_equal(evaluate(graph, {"x": codes})[0], wanted[0])


@pytest.mark.parametrize("case", [
    ("DEPTH_TO_SPACE", (2, 3, 4, 12), (2, 6, 8, 3), (), {"blockSize": 2}),
    ("DEPTH_TO_SPACE", (1, 2, 2, 18), (1, 6, 6, 2), (), {"blockSize": 3}),
    ("SPACE_TO_DEPTH", (2, 6, 4, 3), (2, 3, 2, 12), (), {"blockSize": 2}),
    # TFLM pads with codes that it did not set; padding is compared with LiteRT above.
    ("SPACE_TO_BATCH_ND", (1, 4, 6, 2), (6, 2, 2, 2), ((2, 3), ((0, 0), (0, 0))), {}),
    ("BATCH_TO_SPACE_ND", (6, 3, 3, 2), (1, 4, 6, 2), ((2, 3), ((1, 1), (2, 1))), {}),
])  # fmt: skip
def test_blocks_of_codes_equal_tflm(case: tuple[Any, ...]) -> None:
    code, shape, result, constants, options = case
    model = TfliteBuilder()
    x, y = (model.tensor(s, **CODES) for s in (shape, result))
    lists = [model.constant(np.array(c, np.int32)) for c in constants]
    model.operator(code, [x, *lists], [y], **options)
    compare(model.build([x], [y]))


def test_other_open_dimensions_are_asked_for() -> None:
    model = Open(1, 4, open_axes=(0, 1))
    y = model.step("RELU", [model.x], 3)
    data = model.build([model.x], [y])
    with raises(UnsupportedOpError):
        tflite.load(data)
    options = TfliteOptions((("x", (2, 9, 4)),))
    assert TfliteOptions({"x": [2, 9, 4]}) == options  # type: ignore[arg-type]
    graph = tflite.load(data, options=options).graph
    assert graph.outputs[0].type.static_shape == (2, 9, 4)


@pytest.mark.parametrize(
    ("name", "shape"),
    [("x", (1, 9, 5)), ("x", (1, 9)), ("y", (1, 9, 4))],
)
def test_shapes_that_do_not_fit_are_refused(name: str, shape: tuple[int, ...]) -> None:
    model = Open(9, 4)
    data = model.build([model.x], [model.step("RELU", [model.x], 3)])
    with raises(UnsupportedOpError):
        tflite.load(data, options=TfliteOptions(((name, shape),)))


def test_dimensions_that_the_file_does_not_leave_open_are_compared() -> None:
    model = Open(9, 4)
    y = model.value([1, 9, 5], [-1, 9, 5])
    model.operator("RELU", [model.x], [y])
    with raises(FrontendError):
        tflite.load(model.build([model.x], [y]))


def test_what_stands_behind_a_refused_operator_is_not_blamed() -> None:
    model = Open(9, 4)
    wanted = model.tensor([3], "int32")
    model.operator("UNIQUE", [model.x], [wanted])
    y = model.step("RESHAPE", [model.step("RELU", [model.x], 3), wanted], 3)
    with raises(UnsupportedOpError):
        tflite.load(model.build([model.x], [y]))


def test_a_slice_with_fewer_bounds_than_axes_takes_the_others_whole() -> None:
    model = TfliteBuilder()
    x, y = (model.tensor(s, **CODES) for s in ((2, 3, 4), (1, 3, 4)))
    bounds = [model.constant(np.array([n], np.int32)) for n in (1, 2, 1)]
    model.operator("STRIDED_SLICE", [x, *bounds], [y])
    data = model.build([x], [y])
    codes = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    (wanted,) = run_litert(data, [codes])
    graph = tflite.load(data).graph
    np.testing.assert_array_equal(evaluate(graph, {graph.inputs[0].name: codes})[0], wanted[0])


def test_an_argmax_whose_file_keeps_a_dimension_of_1_has_the_shape_of_litert() -> None:
    model = TfliteBuilder()
    x, y = model.tensor((1, 7), **CODES), model.tensor((1, 1), "int32")
    model.operator("ARG_MAX", [x, model.constant(np.array(1, np.int32))], [y], outputType=2)
    data = model.build([x], [y])
    codes = np.array([[3, -4, 9, 9, 0, -128, 1]], np.int8)
    (wanted,) = run_litert(data, [codes])
    graph = tflite.load(data).graph
    (found,) = evaluate(graph, {graph.inputs[0].name: codes})
    assert found.shape == wanted[0].shape
    np.testing.assert_array_equal(found, wanted[0])
