"""Hardware cells: Amaranth components with stream ports, the parts that a pipeline is made of.

A cell takes plain numbers and NumPy arrays and knows nothing of the IR. ``streams`` tells the
conventions that all of them keep.
"""
