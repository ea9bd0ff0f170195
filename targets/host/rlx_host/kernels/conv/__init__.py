"""Convolutions of float32 with bias, addend and activation: direct, without im2col."""
