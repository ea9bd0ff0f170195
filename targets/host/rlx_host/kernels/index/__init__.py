"""Rows read and written by index."""
