"""Hardware cells: Amaranth components with stream ports, the building blocks of a pipeline.

The arguments of a cell are ints and NumPy arrays; cells do not depend on the IR. ``streams``
documents the conventions that all of them follow.
"""
