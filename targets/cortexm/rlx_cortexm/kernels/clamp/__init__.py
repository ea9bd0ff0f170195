"""Elementwise clamp."""
