"""Pooling of float32: maximum and mean of each window."""
