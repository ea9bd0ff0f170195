"""Exact arithmetic shared by ops: fixed-point scaling and integer products."""
