"""The passes of rlx, as ``Pass.registry`` has them."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import rlx.passes
import rlx.passes.quantize
from rlx.passes import Pass
from rlx.passes.pipelines import PIPELINES

PACKAGES = (rlx.passes, rlx.passes.quantize)
"""Packages with passes; a test finds others."""


def registered() -> tuple[type[Pass], ...]:
    """Return every pass class of rlx, sorted by name; those that tests define are left out."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    every = sorted(Pass.registry.items())
    return tuple(cls for _, cls in every if cls.__module__.startswith("rlx."))


def table() -> str:
    """Return the table of the page of passes, and what documents each."""
    rows = ["| pass | pipelines | what it does |", "| --- | --- | --- |"]
    for cls in registered():
        used = ", ".join(f"`{p.name}`" for p in PIPELINES.values() if cls.name in p.names)
        what = (cls.__doc__ or "").split("\n\n")[0].replace("\n", " ").replace("``", "`")
        rows.append(f"| `{cls.name}` | {used} | {' '.join(what.split())} |")
    classes = [
        f".. autoclass:: {cls.__module__}.{cls.__qualname__}\n   :members:" for cls in registered()
    ]
    return "\n".join([*rows, "", "```{eval-rst}", *classes, "```"])
