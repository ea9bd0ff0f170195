"""Verifications that need not be run again: nothing that they depend on has changed.

They depend on the folder (the manifest, which has the hash of every file), on the request, on rlx
(its version, and size and time of its own source files, for those who edit them), and on the tools
with their versions. Only passed runs are kept.

Tests: tests/cli/test_verify_cache.py
"""

from __future__ import annotations

import hashlib
import platform
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from rlx.support.files.cache import cache_folder, keep, key_of, recall
from rlx.support.files.outputs import MANIFEST
from rlx.support.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rlx.targets.verifier import Verification, Verifier

_KIND: Final = "verify"


@runtime_checkable
class Repeatable(Protocol):
    """Interface of a verifier whose results may be kept."""

    def tools_used(self, folder: Path, tools: Sequence[str] | None) -> Mapping[str, str]:
        """Return the version of each tool that a verification of ``folder`` would use, by name.

        Raises:
            RlxError: A tool is missing, or its name is unknown.
        """
        ...

    def restored(self, folder: Path, report: Mapping[str, Any], verified_at: str) -> Verification:
        """Return the verification of ``folder`` whose ``as_json()`` was ``report``.

        Args:
            folder: As it was then.
            report: Result of ``as_json()``.
            verified_at: Time of that verification; it becomes ``cached`` of the new ``as_json()``.
        """
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """Verification that is asked for.

    Attributes:
        folder: An output folder whose files are as its manifest says.
        inputs: Frames to run; None for all.
        tools: Simulators by name; None for the installed ones.
    """

    folder: Path
    inputs: int | None
    tools: tuple[str, ...] | None


def verify_once(
    verifier: Verifier, request: Request, run: Callable[[], Verification], *, look: bool = True
) -> Verification:
    """Return the kept verification, or run it and keep it if it passed.

    Args:
        verifier: Verifier of the folder's target.
        request: Verification that is asked for.
        run: Runs the verification.
        look: Look for a kept one first.

    Raises:
        RlxError: Error of ``run``, or a tool is missing.
    """
    if cache_folder() is None or not isinstance(verifier, Repeatable):
        return run()
    key = _key(verifier, request)
    if look and (entry := recall(_KIND, key)) is not None:
        return verifier.restored(request.folder, entry.result, entry.computed_at)
    result = run()
    if result.passed:
        keep(_KIND, key, result.as_json())
    return result


def _key(verifier: Repeatable, request: Request) -> str:
    """Return the hash of all that a verification depends on."""
    return key_of(
        {
            "folder": hashlib.sha256((request.folder / MANIFEST).read_bytes()).hexdigest(),
            "inputs": request.inputs,
            "tools": request.tools,
            "used": dict(verifier.tools_used(request.folder, request.tools)),
            "rlx": __version__,
            "sources": [_sources(name) for name in sorted({"rlx", _package(verifier)})],
            "machine": [platform.system(), platform.machine(), sys.version],
        }
    )


def _package(verifier: Repeatable) -> str:
    return type(verifier).__module__.partition(".")[0]


def _sources(package: str) -> str:
    """Return a hash of size and time of each source file of a package."""
    root = Path(str(import_module(package).__file__)).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        status = path.stat()
        found.append((path.relative_to(root).as_posix(), status.st_size, status.st_mtime_ns))
    return hashlib.sha256(repr(found).encode()).hexdigest()
