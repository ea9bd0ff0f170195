"""Convolutions with 3x3 windows by Winograd's tiles."""
