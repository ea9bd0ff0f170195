"""Attention of float32: scores of a tile of queries at a time."""
