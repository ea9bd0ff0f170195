"""Vectors divided by their lengths."""
