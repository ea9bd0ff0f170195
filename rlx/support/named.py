"""Mappings whose unknown names are errors that say which names there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from rlx.support.text.suggest import no_such_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

T = TypeVar("T")


class Named(dict[str, T]):
    """Values by name.

    Args:
        values: The values.
        what: Noun for one of them in messages.
    """

    def __init__(
        self, values: Mapping[str, T] | Iterable[tuple[str, T]], what: str = "name"
    ) -> None:
        super().__init__(values)
        self._what = what

    def __missing__(self, name: object) -> T:
        raise no_such_key(name, self, what=self._what)
