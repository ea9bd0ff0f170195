"""Convolutions, window by window."""
