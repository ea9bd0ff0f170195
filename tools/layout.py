"""Check the layout of packages, and write the architecture page's table of them.

    python tools/layout.py [--update]

``import-linter`` checks the levels (``pyproject.toml``); this adds the checks that it lacks: the
number of packages, cycles between files, and the public modules of a package. A line is printed
for each import that breaks a rule, with the packages that the importing module could be in; the
exit status is 1 if there is any. ``--update`` writes the table.
"""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "guide" / "architecture.md"

MAX_PACKAGES = 16
"""Packages at the root of ``rlx/``."""
MAX_MODULES = 4
"""Modules there, with ``__init__`` and ``__main__``."""
MAX_LEVELS = 9
"""Levels of ``rlx``."""

_PUBLIC = re.compile(r"Public modules: ([^.]*(?:\.\w[^.]*)*)\.\s*$")
_TABLE = re.compile(r"(<!-- packages -->\n).*?(<!-- /packages -->)", re.DOTALL)


def levels() -> dict[str, int]:
    """Return the level of each package that ``pyproject.toml`` lists, the lowest one being 1."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (layers,) = (one["layers"] for one in contracts if one["type"] == "layers")
    return {
        package: level
        for level, layer in enumerate(reversed(layers), 1)
        for package in layer.replace(" ", "").split("|")
    }


@dataclass(frozen=True, slots=True)
class Package:
    """A package as its docstring describes it.

    Attributes:
        name: Its full name.
        level: Its level.
        text: Its docstring without the last paragraph.
        public: Modules that other packages may import, in addition to the package itself.
    """

    name: str
    level: int
    text: str
    public: frozenset[str]


def described(name: str, level: int) -> Package:
    """Return a package with the modules that the last paragraph of its docstring calls public."""
    text = textwrap.dedent(importlib.import_module(name).__doc__ or "").strip()
    found = _PUBLIC.search(text)
    shown = re.findall(r"``([\w.]+)``", found[1]) if found else []
    return Package(
        name, level, re.split(r"\n\s*\nLevel ", text)[0], frozenset(f"{name}.{m}" for m in shown)
    )


def package_of(module: str, packages: dict[str, Package]) -> str:
    """Return the name of the package that contains a module, "" for none."""
    while module and module not in packages:
        module = module.rpartition(".")[0]
    return module


def problems() -> Iterator[str]:
    """Yield a line for each rule that is broken."""
    packages = {name: described(name, level) for name, level in levels().items()}
    roots = sorted({name.split(".")[0] for name in packages})
    graph = grimp.build_graph(*roots, exclude_type_checking_imports=False, cache_dir=None)
    yield from _sizes(packages)
    yield from _unnamed(packages, graph)
    yield from _imports(packages, graph)
    executed = grimp.build_graph(*roots, exclude_type_checking_imports=True, cache_dir=None)
    yield from _cycles(executed)


def _sizes(packages: dict[str, Package]) -> Iterator[str]:
    """Yield the counts that are too large at the root of ``rlx``."""
    root = ROOT / "rlx"
    folders = sorted(path.parent.name for path in root.glob("*/__init__.py"))
    modules = sorted(path.stem for path in root.glob("*.py"))
    top = max(package.level for package in packages.values() if package.name.startswith("rlx."))
    for things, count, most in (
        ("packages", len(folders), MAX_PACKAGES),
        ("modules", len(modules), MAX_MODULES),
        ("levels", top, MAX_LEVELS),
    ):
        if count > most:
            yield f"rlx: {count} {things}, expected at most {most}"


def _unnamed(packages: dict[str, Package], graph: grimp.ImportGraph) -> Iterator[str]:
    """Yield modules that no package of a level holds, and docstrings with another level."""
    for module in sorted(graph.modules):
        if module not in ("rlx", "rlx.__main__") and not package_of(module, packages):
            yield f"{module}: in no package that pyproject.toml gives a level"
    for package in packages.values():
        text = importlib.import_module(package.name).__doc__ or ""
        if f"\nLevel {package.level}." not in text:
            yield f"{package.name}: its docstring lacks 'Level {package.level}.'"


def _imports(packages: dict[str, Package], graph: grimp.ImportGraph) -> Iterator[str]:
    """Yield imports of modules that are not public, or of a level that is not lower."""
    used: set[str] = set()
    for importer, imported in _between(packages, graph):
        home = packages.get(package_of(importer, packages))
        owner = packages[package_of(imported, packages)]
        used.add(imported)
        if home is None:  # the facade, which knows every package
            continue
        line = _line(graph, importer, imported)
        if owner.level >= home.level:
            yield (
                f"{line}: {home.name} (level {home.level}) imports {imported} (level"
                f" {owner.level}); {_places(importer, packages, graph)}"
            )
        elif imported not in (owner.name, *owner.public):
            yield f"{line}: {imported} is not among the public modules of {owner.name}"
    for package in packages.values():
        for name in sorted(package.public - used):
            yield f"{package.name}: {name} is called public, and no other package imports it"


def _between(packages: dict[str, Package], graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Yield importing and imported module of each import from another package."""
    for importer in sorted(graph.modules):
        for imported in sorted(graph.find_modules_directly_imported_by(importer)):
            owner = package_of(imported, packages)
            if owner and owner != package_of(importer, packages):
                yield importer, imported


def _places(module: str, packages: dict[str, Package], graph: grimp.ImportGraph) -> str:
    """Return the packages that a module could be in, by its imports and its importers."""

    def owners(modules: set[str]) -> list[Package]:
        return [packages[p] for m in modules if (p := package_of(m, packages))]

    below = owners(graph.find_modules_directly_imported_by(module))
    above = owners(graph.find_modules_that_directly_import(module))
    fits = [
        here.name
        for here in packages.values()
        if all(other is here or other.level < here.level for other in below)
        and all(other is here or other.level > here.level for other in above)
    ]
    return f"the module could stand in {', '.join(fits)}" if fits else "split the module"


def _line(graph: grimp.ImportGraph, importer: str, imported: str) -> str:
    """Return file and line of an import."""
    details = graph.get_import_details(importer=importer, imported=imported)
    return f"{importer}:{details[0]['line_number']}" if details else importer


def _cycles(graph: grimp.ImportGraph) -> Iterator[str]:
    """Yield one cycle of files that import each other, in functions or at their head."""
    edges = {
        module: {m for m in graph.find_modules_directly_imported_by(module) if m != "rlx"}
        for module in sorted(graph.modules)
        if module != "rlx"
    }
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        yield f"these import each other: {' <- '.join(error.args[1])}"


def table() -> str:
    """Return the table of packages, the highest level first."""
    rows = ["| level | package | contents |", "| ---: | --- | --- |"]
    for name, level in sorted(levels().items(), key=lambda item: (-item[1], item[0])):
        text = " ".join(described(name, level).text.replace("``", "`").split())
        text = re.sub(r":(?:mod|func|class):", "", text)
        rows.append(f"| {level} | `{name}` | {text} |")
    return "\n".join(rows) + "\n"


def page() -> str:
    """Return the architecture page with the current table."""
    return _TABLE.sub(lambda m: m[1] + table() + m[2], PAGE.read_text(encoding="utf-8"))


def main() -> int:
    """Check the layout, or write the table; return the exit status."""
    if "--update" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    found = list(problems())
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
