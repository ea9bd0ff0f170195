"""Convolutions with MVE, two windows at a time."""
