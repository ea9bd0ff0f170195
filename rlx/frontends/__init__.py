"""Frontends: readers of model files. Each checks a file completely before it builds a graph."""

from rlx.frontends.registry import Frontend, NoOptions, find, formats, frontends, load

__all__ = ["Frontend", "NoOptions", "find", "formats", "frontends", "load"]
