"""Softmax in fixed point."""
