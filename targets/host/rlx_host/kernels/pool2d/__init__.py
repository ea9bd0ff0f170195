"""Averages and maxima of windows."""
