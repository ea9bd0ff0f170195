"""Elementwise products."""
