"""Reductions of float32 along any axes."""
