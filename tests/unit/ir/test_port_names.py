"""Words for inputs and outputs: the name of the model where it says something."""

import pytest

from rlx.ir.port_names import port_word


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("audio", "audio"),
        ("Motion Sensor", "motion_sensor"),
        ("/encoder/Add_1", "encoder_add_1"),
        ("serving_default_mel:0", "mel"),
        ("serving_default_args_0:0", ""),
        ("input_1", ""),
        ("StatefulPartitionedCall:1", ""),
        ("x", ""),
        ("x_position", "x_position"),
        ("7", ""),
        ("", ""),
        ("\u00e9\u00e8", ""),
        ("a" * 50, "a" * 20),
    ],
)
def test_word_is_empty_where_the_name_says_nothing(name, word):
    assert port_word(name, max_chars=20) == word
