"""Exact arithmetic that ops share: fixed-point scaling and integer products."""
