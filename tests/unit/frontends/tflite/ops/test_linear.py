"""Products of two matrices against TensorFlow Lite Micro."""

from __future__ import annotations

import numpy as np
import pytest

from rlx.frontends.tflite import frontend as tflite
from rlx.support.errors import UnsupportedOpError
from support.files.tflite_builder import TfliteBuilder
from support.messages import raises
from support.references.tflite_compare import compare, random_codes, random_scale, random_zero_point

SHAPES = (
    ((3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((2, 3, 4, 5), (2, 3, 5, 6)),
    ((1, 3, 4, 5), (2, 1, 5, 6)),
    ((2, 1, 4, 5), (3, 5, 6)),
    ((2, 1, 2, 3, 4), (1, 3, 2, 4, 2)),
    ((1, 1, 200), (1, 200, 1)),
    ((1, 16, 1), (1, 1, 16)),
)


def stored(shape: tuple[int, ...], transposed: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if transposed else shape


def product(
    seed: int, x: tuple[int, ...], y: tuple[int, ...], *, constant: int | None = None
) -> bytes:
    """Return a random model of a product; factor ``constant`` is one."""
    random = np.random.default_rng(seed)
    adjoint = [bool(random.integers(2)) for _ in range(2)]
    model, factors = TfliteBuilder(), []
    scales = [random_scale(random, 1e-2) for _ in range(2)]
    for index, shape in enumerate((x, y)):
        form = stored(shape, adjoint[index])
        params = {"scale": scales[index], "zero_point": random_zero_point(random)}
        if index == constant:
            factors.append(model.constant(random_codes(random, form) // 2, **params))
        else:
            factors.append(model.tensor(form, **params))
    shape = (*np.broadcast_shapes(x[:-2], y[:-2]), x[-2], y[-1])
    spread = scales[0] * scales[1] * 80**2 * np.sqrt(x[-1])
    result = model.tensor(
        shape,
        scale=float(np.float32(spread / random.uniform(20, 200))),
        zero_point=random_zero_point(random),
    )
    model.operator("BATCH_MATMUL", factors, [result], adjX=adjoint[0], adjY=adjoint[1])
    return model.build([f for i, f in enumerate(factors) if i != constant], [result])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("shapes", SHAPES)
def test_products_equal_tflm(shapes: tuple[tuple[int, ...], tuple[int, ...]], seed: int) -> None:
    compare(product(seed, *shapes), seed)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("shapes", SHAPES)
def test_products_with_a_constant_equal_tflm(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], constant: int, seed: int
) -> None:
    compare(product(seed, *shapes, constant=constant), seed)


def matrix_product(zero_point: int, transposed: bool) -> bytes:
    """Return a model of rows times a constant matrix of 5 by 3."""
    model = TfliteBuilder()
    x = model.tensor((2, 4, 5), scale=0.1, zero_point=3)
    codes = np.arange(-7, 8, dtype=np.int8).reshape(5, 3)
    y = model.constant(codes.T if transposed else codes, scale=0.5, zero_point=zero_point)
    z = model.tensor((2, 4, 3), scale=0.9, zero_point=-1)
    model.operator("BATCH_MATMUL", [x, y], [z], adjY=transposed)
    return model.build([x], [z])


@pytest.mark.parametrize(
    ("zero_point", "op"), [(0, "q.dense"), (-120, "q.dense"), (127, "q.matmul")]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_constant_matrices_are_dense_layers_where_their_distances_are_int8(
    zero_point: int, op: str, transposed: bool
) -> None:
    data = matrix_product(zero_point, transposed)
    ops = [node.op.name for node in tflite.load(data).graph.op_nodes]
    assert ops == [op]
    compare(data)


def test_sums_beyond_int32_are_refused() -> None:
    model = TfliteBuilder()
    x = model.tensor((1, 40_000), scale=0.1, zero_point=-128)
    y = model.tensor((40_000, 1), scale=0.1, zero_point=-128)
    z = model.tensor((1, 1), scale=1e4, zero_point=0)
    model.operator("BATCH_MATMUL", [x, y], [z])
    with raises(UnsupportedOpError):
        tflite.load(model.build([x, y], [z]))
