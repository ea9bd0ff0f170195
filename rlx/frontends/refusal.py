"""How readers say no: a reason, and a place that is gathered while the reader unwinds.

Readers raise these; the function that was given the file turns them into the public errors of
``rlx.errors`` with ``public``.
"""

from __future__ import annotations

from rlx.errors import FrontendError, RlxError, UnsupportedOpError


class RefusedError(Exception):
    """A file is refused."""

    error: type[RlxError] = RlxError

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.path: list[str] = []

    def inside(self, place: str) -> RefusedError:
        """Add an outer place and return the error itself."""
        self.path.insert(0, place)
        return self

    def public(self, source: str) -> RlxError:
        """Return the error for the user; ``source`` is the file's name."""
        where = ": ".join(filter(None, (source, ", ".join(self.path))))
        return self.error(self.message, where=where or None, hint=self.hint)


class MalformedError(RefusedError):
    """The file breaks the rules of its format, or a limit."""

    error = FrontendError


class UnsupportedError(RefusedError):
    """The file may be fine, but holds what rlx does not model."""

    error = UnsupportedOpError
