"""Indices of maxima along an axis."""
