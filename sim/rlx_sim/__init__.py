"""Runs emitted code and returns arrays and counts."""
