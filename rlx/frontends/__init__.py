"""Readers of model files. Each one checks a file completely before anything is built from it."""

from rlx.frontends.registry import formats, load

__all__ = ["formats", "load"]
