"""Depthwise convolutions: rows of taps interleaved, so that one product sums several."""
