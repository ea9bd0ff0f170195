"""Depthwise convolutions with a window of any size."""
