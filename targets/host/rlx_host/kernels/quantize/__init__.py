"""Integers of floats."""
