"""Origins: the places in a model that a node was made of, and the passes that made it.

Tests: tests/unit/ir/test_graph.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a node.

    Attributes:
        source: File name (no folder) or Python function of the model, empty if made by hand.
        location: Place in the source, such as ``operator 3 CONV_2D`` or a layer's name.
        passes: Passes that made or changed the node, in order.
        layer: Name of the layer, unique in the model (see ``rlx.ir.layer_names``); empty where
            nothing named it.
        joined_places: Source and location of other nodes of the model that became part of this one.
    """

    source: str = ""
    location: str = ""
    passes: tuple[str, ...] = ()
    layer: str = ""
    joined_places: tuple[str, ...] = ()

    def through(self, pass_name: str) -> Origin:
        """Return the origin of a node that ``pass_name`` made out of this one."""
        if self.passes[-1:] == (pass_name,):
            return self
        return replace(self, passes=(*self.passes, pass_name))

    def join(self, further: Iterable[Origin]) -> Origin:
        """Return the origin of a node that also replaces nodes of other origins."""
        places = dict.fromkeys(self.joined_places)
        for other in further:
            places.update(dict.fromkeys((other.place, *other.joined_places)))
        own_places = tuple(p for p in places if p and p != self.place)
        return self if own_places == self.joined_places else replace(self, joined_places=own_places)

    @property
    def place(self) -> str:
        """Source and location."""
        return " ".join(filter(None, (self.source, self.location)))

    @property
    def places(self) -> tuple[str, ...]:
        """Place of the node, and of those that became part of it."""
        return tuple(filter(None, (self.place, *self.joined_places)))

    def to_plain(self) -> dict[str, Any]:
        """Return the fields as plain values, those without a value left out if they are newer."""
        plain = {"source": self.source, "location": self.location, "passes": self.passes}
        newer = {"layer": self.layer, "joined_places": self.joined_places}
        return {**plain, **{name: value for name, value in newer.items() if value}}

    @classmethod
    def from_plain(cls, fields: Mapping[str, Any]) -> Origin:
        """Return the origin whose ``to_plain`` is ``fields``.

        Raises:
            ValueError: They are not its fields, or have other types.
        """
        texts = {"source", "location", "layer"}
        for name, value in fields.items():
            lines = (value,) if name in texts else value
            if name not in (*texts, "passes", "joined_places") or not isinstance(lines, tuple):
                raise ValueError(f"it has no such field: {name}")
            if not all(isinstance(line, str) for line in lines):
                raise ValueError(f"{name}: expected texts")
        if missing := {"source", "location", "passes"} - fields.keys():
            raise ValueError(f"it lacks {', '.join(sorted(missing))}")
        return cls(**fields)

    def __str__(self) -> str:
        return " > ".join(filter(None, (self.place, *self.passes)))
