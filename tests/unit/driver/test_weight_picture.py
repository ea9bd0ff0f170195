"""Reduced copies of weight tensors."""

import numpy as np
import pytest

from rlx.driver.weight_picture import MAX_CELLS, MAX_COLUMNS, MAX_ROWS, weight_picture


def test_a_small_tensor_is_entire():
    found = weight_picture(np.array([[[-7, 0], [1, 7]]] * 2, np.int8))
    assert found == {"shape": [2, 2, 2], "block": [1, 1], "columns": 4, "cells": "189f" * 2}


@pytest.mark.parametrize(
    ("array", "cells"),
    [
        (np.array([0, 0], np.int8), "88"),
        (np.array([-128, 127], np.int8), "1f"),
        (np.array([0.5, -0.25, 0.01], np.float32), "f48"),  # -3.5 levels round to even
        (np.array([3], np.int8), "f"),
    ],
)
def test_digits_are_relative_to_the_largest_magnitude(array, cells):
    assert weight_picture(array)["cells"] == cells


def test_a_cell_is_the_largest_in_magnitude_of_its_block():
    array = np.zeros((MAX_ROWS + 1, 2 * MAX_COLUMNS + 2), np.int8)
    array[0, 0], array[1, 2] = 1, -14
    array[-1, -1] = 14
    found = weight_picture(array)
    assert (found["block"], found["columns"]) == ([2, 3], 86)
    rows = [found["cells"][start : start + 86] for start in range(0, len(found["cells"]), 86)]
    assert len(rows) == 33
    assert rows[0] == "1" + "8" * 85
    assert rows[-1] == "8" * 85 + "f"
    assert set("".join(rows[1:-1])) == {"8"}


def test_a_vector_is_one_row():
    found = weight_picture(np.arange(300, dtype=np.int16))
    assert (found["block"], found["columns"], len(found["cells"])) == ([1, 3], 100, 100)


@pytest.mark.parametrize(
    ("shape", "block"),
    [((64, 64), [1, 1]), ((16, 3, 3, 8), [1, 1]), ((64, 65), [1, 2]), ((32, 128), [1, 1]),
     ((1000, 1280), [16, 20])],
)  # fmt: skip
def test_pictures_have_a_largest_size(shape, block):
    found = weight_picture(np.ones(shape, np.float32))
    assert found["block"] == block
    assert len(found["cells"]) <= MAX_CELLS
