"""Shared parts of kernels for the vector extension MVE (Helium): orders of weights, factors."""
