"""Heat maps of weights: data for the page's script, and what the caption says."""

import base64
import re

import numpy as np
import pytest

from rlx.driver.description import weight_figures
from rlx.driver.weight_picture import weight_picture
from rlx.reports.heatmap import caption, heatmap
from rlx.reports.model import WeightPicture, Weights


def weights(array):
    picture = WeightPicture(**{k: tuple(v) if isinstance(v, list) else v
                               for k, v in weight_picture(array).items()})  # fmt: skip
    figures = weight_figures(array)
    return Weights(**{**figures, "counts": tuple(figures["counts"])}, picture=picture)


def test_the_data_are_the_cells_of_the_picture():
    text = heatmap(weights(np.array([[-7, 0, 7]] * 3, np.int8)))
    data = re.search('data-cells="([^"]*)"', text)[1]
    assert base64.b64decode(data).hex() == "18f18f18f0"  # an odd number of cells is padded
    assert '<canvas width="3" height="3" style="width:36px"' in text
    assert 'data-scale="7" data-block="1,1" data-shape="3,3"' in text
    assert "<span>-7</span><span>0</span><span>7</span>" in text


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((64, 1, 1, 64),
         "64 x 1 x 1 x 64: first axis down, others across; each cell one weight, in 15 shades"),
        ((10, 640), "10 x 640: first axis down, others across; reduced: each cell the largest in"
                    " magnitude of 1 x 5 weights, in 15 shades"),
        ((12,), "12: one row; each cell one weight, in 15 shades"),
    ],
)  # fmt: skip
def test_the_caption_says_whether_the_picture_is_reduced(shape, expected):
    assert caption(weights(np.ones(shape, np.int8)).picture) == expected


def test_folders_of_an_older_version_have_no_heat_map():
    figures = weight_figures(np.ones(4, np.int8))
    assert heatmap(Weights(**figures)) == ""
