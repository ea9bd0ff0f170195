"""Ops that only move values: each is read once, in the order of the results."""

import numpy as np
import pytest
from targets.fpga.architectures.engine.interpreter import interpreted, program_of, reads

from rlx.ir import Graph, i8
from rlx.ir.evaluate import evaluate
from rlx.ops.q import QConcat, QPad, QSlice, QTranspose
from rlx.support.errors import UnsupportedOpError
from support.messages import raises


def moved(op, *shapes):
    """Return the program of an op alone, if it gives the reference's codes."""
    graph = Graph("net")
    operands = [graph.input(f"x{place}", i8(*shape)) for place, shape in enumerate(shapes)]
    graph.output(graph.apply(op, *operands, name="m"))
    program = program_of(graph)
    rng = np.random.default_rng(sum(map(sum, shapes)))
    inputs = {
        value.name: rng.integers(-128, 128, value.type.static_shape).astype(np.int8)
        for value in graph.inputs
    }
    (found,), (expected,) = interpreted(program, inputs), evaluate(graph, inputs)
    assert np.array_equal(found, expected)
    assert sum(one.loops.blocks for one in program.instructions) == expected.size
    assert all(one.loops.inner == 1 and one.gap == 0 for one in program.instructions)
    return program


def random_shapes(rank, count=12):
    rng = np.random.default_rng(rank)
    return [tuple(map(int, rng.integers(1, 6, rank))) for _ in range(count)]


def test_a_slice_takes_every_step_th_value_of_three_axes():
    rng = np.random.default_rng(0)
    for shape in random_shapes(3):
        start = [int(rng.integers(0, size)) for size in shape]
        stop = [int(rng.integers(a + 1, size + 1)) for a, size in zip(start, shape, strict=True)]
        step = map(int, rng.integers(1, 4, 3))
        moved(QSlice(start=tuple(start), stop=tuple(stop), step=tuple(step)), shape)


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 1, 2)])
def test_a_transpose_reads_three_axes_in_any_order(axes):
    for shape in random_shapes(3, 5):
        moved(QTranspose(axes=axes), shape)


def test_padding_stands_around_two_axes_on_the_sides_that_have_it():
    rng = np.random.default_rng(1)
    for shape in random_shapes(3):
        before, after = ((*map(int, rng.integers(0, 4, 2)), 0) for _ in range(2))
        moved(QPad(before=before, after=after, value=int(rng.integers(-128, 128))), shape)


def test_padding_of_the_last_axis_takes_a_loop_more():
    program = moved(QPad(before=(0, 2), after=(1, 3), value=-128), (3, 4))
    assert program.instructions[0].loops.counts == (4, 9, 1, 1, 1, 1)
    moved(QPad(before=(1, 0, 2), after=(1, 0, 3), value=127), (3, 1, 4))


def test_no_value_outside_of_a_padded_operand_is_read():
    program = moved(QPad(before=(2, 1, 0), after=(1, 2, 0), value=7), (2, 3, 2))
    (one,) = program.instructions
    inside = [address for ((address, is_inside, _),) in reads(one, program.span) if is_inside]
    first = program.inputs[0]
    assert inside == list(range(first, first + 12))


def test_joined_tensors_lie_between_each_other_along_any_axis():
    for axis in (0, 1, 2, -1, -3):
        shapes = [[4, 3, 2] for _ in range(3)]
        for size, shape in zip((1, 5, 2), shapes, strict=True):
            shape[axis] = size
        program = moved(QConcat(axis=axis), *shapes)
        # Results of one operand are apart by those of the others, except along the first axis.
        own = [int(np.prod(shape[axis % 3 :])) for shape in shapes]
        assert [one.skip for one in program.instructions] == [sum(own) - size for size in own]
    moved(QConcat(axis=1), (1, 5))


def test_an_operand_may_be_joined_with_itself():
    graph = Graph("net")
    x = graph.input("x", i8(2, 3))
    graph.output(graph.apply(QConcat(axis=1), x, x))
    codes = np.arange(6, dtype=np.int8).reshape(2, 3)
    (found,) = interpreted(program_of(graph), {"x": codes})
    assert np.array_equal(found, np.concatenate([codes, codes], axis=1))


@pytest.mark.parametrize(
    ("op", "shape", "counts"),
    [
        # Contiguous axes are one loop, and axes of one value none.
        (QTranspose(axes=(0, 1, 3, 2, 4)), (2, 3, 1, 4, 5), (1, 1, 120)),
        (QTranspose(axes=(2, 3, 0, 1)), (2, 3, 4, 5), (1, 20, 6)),
        (QSlice(start=(0, 0, 1, 0), stop=(2, 3, 3, 5), step=(1, 1, 1, 1)), (2, 3, 4, 5),
         (1, 6, 10)),
        (QPad(before=(0, 1, 0, 0), after=(0, 0, 0, 0), value=3), (2, 3, 4, 5), (2, 4, 20)),
        (QSlice(start=(1, 2), stop=(2, 3), step=(1, 1)), (3, 4), (1, 1, 1)),
    ],
)  # fmt: skip
def test_as_few_loops_are_taken_as_there_are_runs_of_values(op, shape, counts):
    (one,) = moved(op, shape).instructions
    assert one.loops.counts == (*counts, 1, 1, 1)


@pytest.mark.parametrize(
    ("op", "shape"),
    [
        (QSlice(start=(0,) * 4, stop=(3, 3, 3, 3), step=(2,) * 4), (3, 3, 3, 3)),
        (QPad(before=(1, 0, 1, 1), after=(0,) * 4, value=0), (2, 3, 2, 2)),
        # The last axis is padded, so that the third loop cannot be used.
        (QPad(before=(1, 1, 1), after=(0,) * 3, value=0), (2, 3, 2)),
    ],
)
def test_a_fourth_loop_is_refused(op, shape):
    with raises(UnsupportedOpError):
        moved(op, shape)
