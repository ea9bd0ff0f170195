"""Fully parallel, a frame in every cycle, products as shifts and additions.

- ``program.py``: products with a constant matrix as additions, and their cost; ``sharing.py``:
  common subexpressions; ``sums.py``: the cheapest program of a matrix;
- ``affine.py``: requantizers as one short multiplication by a constant;
- ``netlist.py``: integer steps with exact ranges, the representation of layers;
- ``lower.py`` and ``reduce.py``: a rule for each op; ``rules.py``: their shared parts;
- ``pipeline.py`` and ``design.py``: the netlists as pipelines without stalls, and stream ports;
- ``architecture.py``: the interface of all architectures;
- ``cost.py``: cells of layers.
"""
