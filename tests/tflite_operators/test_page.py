"""The page of TFLite's operators is what importers and targets do now."""

from __future__ import annotations

from rlx.frontends.tflite.ops import IMPORTERS
from tflite_operators.page import PAGE, page
from tflite_operators.samples import SAMPLES


def test_every_operator_has_a_sample() -> None:
    assert set(SAMPLES) == set(IMPORTERS)


def test_page_is_up_to_date() -> None:
    """If this fails: PYTHONPATH=tests:. python -m tflite_operators."""
    assert PAGE.read_text(encoding="utf-8") == page()
