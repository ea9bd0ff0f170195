"""Rows of codes times weights with MVE."""
