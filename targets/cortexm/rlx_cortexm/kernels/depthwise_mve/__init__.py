"""Depthwise convolutions with MVE: a window is one vector."""
