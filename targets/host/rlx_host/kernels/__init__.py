"""Kernels of the native backend: a folder for each, and the table of all."""
