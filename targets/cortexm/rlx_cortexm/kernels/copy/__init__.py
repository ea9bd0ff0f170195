"""Strided copies: transpose, slice, pad, concat."""
