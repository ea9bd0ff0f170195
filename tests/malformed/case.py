"""Case of the malformed list: a file, and the outcome that it must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.support.errors import RlxError


@dataclass(frozen=True)
class Refused:
    """A file that is refused, with a remedy always.

    Attributes:
        make: Makes the file.
        error: Class of the error.
        place: The place in the file, as the error names it behind the file's name.
        message: Description of the fault, or the beginning of it.
    """

    make: Callable[[], bytes]
    error: type[RlxError]
    place: str
    message: str


@dataclass(frozen=True)
class Accepted:
    """A file that looks wrong, and is read all the same.

    Attributes:
        make: Makes the file.
        reason: Reason why it is accepted.
    """

    make: Callable[[], bytes]
    reason: str


Case: TypeAlias = Refused | Accepted
