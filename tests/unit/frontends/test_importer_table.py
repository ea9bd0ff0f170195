"""Functions in tables, by what they import."""

import pytest

from rlx.frontends.importer_table import entering


@pytest.mark.parametrize(
    ("key", "name"), [("ADD", "ADD"), (("ai.onnx.ml", "Scaler"), "ai.onnx.ml.Scaler")]
)
def test_a_key_has_one_function(key, name):
    table = {}
    assert entering(table, [key])(len) is len
    assert table == {key: len}
    with pytest.raises(ValueError, match=f"^{name} has two importers$"):
        entering(table, [key])(max)
    assert table == {key: len}
