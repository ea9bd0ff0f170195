"""Errors of readers: a reason, a hint, and a location that is collected while the reader unwinds.

Readers raise these; the function that was given the file turns them into the public errors of
``rlx.support.errors`` with ``public``. Each class of defect has a default hint, for refusals
without one.

Tests: tests/unit/frontends/test_quantization.py
"""

from __future__ import annotations

from typing import ClassVar

from rlx.support.errors import FrontendError, RlxError, UnsupportedOpError


class FileRefusedError(Exception):
    """A file is refused.

    Attributes:
        error: The public error.
        default_hint: The hint of refusals that are raised without one.
    """

    error: ClassVar[type[RlxError]] = RlxError
    default_hint: ClassVar[str] = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint
        self.path: list[str] = []

    def inside(self, outer: str) -> FileRefusedError:
        """Add an outer place and return the error itself."""
        self.path.insert(0, outer)
        return self

    def public(self, source: str) -> RlxError:
        """Return the error for the user; ``source`` is the file's name."""
        where = ": ".join(filter(None, (source, ", ".join(self.path))))
        return self.error(self.message, where=where or None, hint=self.hint)


class MalformedError(FileRefusedError):
    """Tensors, operators and numbers of a file contradict each other."""

    error = FrontendError
    default_hint = (
        "the file contradicts itself: convert the model again, and look at what changed the file "
        "after the converter wrote it"
    )


class DamagedError(MalformedError):
    """The bytes of a file are not laid out as its format says."""

    default_hint = (
        "the file is damaged or cut short: copy or download it again, or convert it again"
    )


class OverLimitError(MalformedError):
    """A file asks for more than a limit allows."""

    default_hint = "if the file is to be trusted, raise the limit (--limit NAME=NUMBER)"


class UnsupportedError(FileRefusedError):
    """The file may be fine, but uses a feature that rlx does not support."""

    error = UnsupportedOpError
    default_hint = "express the layer by other operators in the model, and convert it again"
