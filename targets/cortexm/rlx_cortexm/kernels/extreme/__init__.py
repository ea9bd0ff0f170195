"""Elementwise maximum and minimum."""
