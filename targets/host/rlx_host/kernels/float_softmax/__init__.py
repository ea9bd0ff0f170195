"""Softmax of float32 along the last axis."""
