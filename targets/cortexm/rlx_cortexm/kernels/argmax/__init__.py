"""Index of the maximum along an axis."""
