"""Rows of inputs times weights with MVE."""
