"""Hardware cells: Amaranth components with stream ports, the building blocks of a pipeline.

A cell takes plain numbers and NumPy arrays and knows nothing of the IR. ``streams`` documents
the conventions that all of them follow.
"""
