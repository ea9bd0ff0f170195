"""Depthwise convolutions with a small window, tap by tap."""
