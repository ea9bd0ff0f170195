"""Targets of rlx whose packages are not installed, and their options, read from their source.

Such a target cannot be imported, but its files are there: messages can say which option is its.

Tests: tests/cli/test_absent_targets.py
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rlx.support import plugins
from rlx.targets.target import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPTIONS_FILE = "options.py"


@dataclass(frozen=True, slots=True)
class AbsentTarget:
    """A target of rlx whose packages are not installed.

    Attributes:
        name: Name of the target, and of the extra of rlx that installs the packages.
        package: Python package of the target.
    """

    name: str
    package: str

    @property
    def command(self) -> str:
        """Command that installs the packages."""
        return f"pip install 'rlx[{self.name}]'"

    def has_option(self, name: str) -> bool:
        """Whether the target has an option, such as ``weights`` for ``--weights``."""
        spec = find_spec(self.package)
        folder = Path(spec.origin).parent if spec is not None and spec.origin else None
        files = () if folder is None else folder.rglob(_OPTIONS_FILE)
        return any(name in _fields(file.read_text(encoding="utf-8")) for file in files)


def absent_targets() -> Iterator[AbsentTarget]:
    """Yield the targets of rlx whose packages are not installed."""
    for entry in plugins.entries(GROUP):
        problem = plugins.problem_of(GROUP, entry.name)
        if problem is not None and problem.built_in and problem.lacking:
            yield AbsentTarget(entry.name, entry.module.partition(".")[0])


def _fields(source: str) -> set[str]:
    """Return the fields of the classes of options in a module: those with a help text."""
    return {
        line.target.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and isinstance(line.value, ast.Call)
        and any(keyword.arg == "metadata" for keyword in line.value.keywords)
    }
