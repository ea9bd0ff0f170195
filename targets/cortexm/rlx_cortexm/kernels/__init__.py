"""Kernels: a folder for each, with its tactic, templates, cost model and sizes; `rules` of ops."""
