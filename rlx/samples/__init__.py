"""Samples for the inputs of a network: arrays, pictures, sounds and tables in files.

Nothing is unpickled, and sizes are checked before anything is unpacked.

Level 5. Public modules: ``batches``, ``given``, ``layout``, ``shapes``.
"""

from rlx.samples.classes import read_classes, read_names
from rlx.samples.extents import array_shapes
from rlx.samples.files import Loaded, is_array_file, read
from rlx.samples.scaling import Scaling
from rlx.samples.typed import as_inputs, labels_in, vectors_for

__all__ = [
    "Loaded",
    "Scaling",
    "array_shapes",
    "as_inputs",
    "is_array_file",
    "labels_in",
    "read",
    "read_classes",
    "read_names",
    "vectors_for",
]
