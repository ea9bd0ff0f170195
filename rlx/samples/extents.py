"""The shapes of arrays of samples, before anything is known of the network.

Tests: tests/unit/samples/test_read.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlx.samples.files import is_array_file
from rlx.samples.given import path_of
from rlx.support.errors import RlxError
from rlx.support.files.arrays import stored_arrays


def array_shapes(data: Any) -> dict[str, tuple[int, ...]]:  # noqa: ANN401 - what holds samples
    """Return the shapes of arrays of samples by name; ``x`` is that of the only one.

    Empty for other data and damaged files, which their reader refuses later.
    """
    path = path_of(data)
    if path is not None:
        try:
            stored = stored_arrays(path) if is_array_file(path) else {}
        except RlxError:
            return {}
        return {name or "x": tuple(array.shape) for name, array in stored.items()}
    arrays = data if isinstance(data, Mapping) else {"x": data}
    try:
        return {str(name): np.shape(array) for name, array in arrays.items()}
    except ValueError:
        return {}
