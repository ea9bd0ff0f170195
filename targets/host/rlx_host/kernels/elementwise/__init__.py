"""Elementwise ops, one or several at once, as one loop."""
