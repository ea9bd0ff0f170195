"""Means over axes."""
