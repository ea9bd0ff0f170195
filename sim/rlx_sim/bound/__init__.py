"""Bounds on the instructions of a firmware for every input, by abstract execution."""
