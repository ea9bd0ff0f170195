"""Functions in tables, by what they import."""

import pytest

from rlx.frontends.importer_table import entering
from support.messages import raises


@pytest.mark.parametrize("key", ["ADD", ("ai.onnx.ml", "Scaler")])
def test_a_key_has_one_function(key):
    table = {}
    assert entering(table, [key])(len) is len
    assert table == {key: len}
    with raises(ValueError):
        entering(table, [key])(max)
    assert table == {key: len}
