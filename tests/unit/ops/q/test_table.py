from __future__ import annotations

import numpy as np
import pytest

from rlx.ir import i8, i32
from rlx.ops.q import QTable
from rlx.support.errors import ShapeError
from support.messages import raises


def test_table_maps_every_code() -> None:
    entries = tuple(np.random.default_rng(4).permutation(256) - 128)
    x = np.arange(-128, 128).astype(np.int8).reshape(2, 128)
    (result,) = QTable(table=tuple(int(e) for e in entries)).evaluate(x)
    assert (result.dtype, result.shape) == (np.int8, (2, 128))
    assert result.ravel().tolist() == list(entries)


@pytest.mark.parametrize(
    ("table", "type_"),
    [((0,) * 256, i32(4)), ((0,) * 255, i8(4)), ((128,) * 256, i8(4))],
)
def test_refusals(table, type_) -> None:
    with raises(ShapeError):
        QTable(table=table).infer_checked(type_)
