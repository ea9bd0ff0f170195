"""Weights by name: a read-only mapping to arrays, which are read when they are first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rlx.frontends.weights.files import open_file
from rlx.frontends.weights.weight import Weight, quoted, shown
from rlx.ir import DType, TensorType
from rlx.support.errors import FrontendError, UsageError
from rlx.support.limits import DEFAULT_LIMITS, Limits
from rlx.support.text.suggest import closest
from rlx.support.text.units import counted

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from types import TracebackType

    import numpy.typing as npt

    from rlx.ir import Array

    Rename = Mapping[str, str] | Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class WeightEntry:
    """Entry of a weight in a store, known without reading the weight.

    Attributes:
        name: Its name.
        type: Shape and element type.
        nbytes: Bytes of its elements; 0 for an alias, whose bytes are those of the other name.
        file: The file that it is in; None for an array in memory.
        alias_of: The first name of the same weight, if this is another one; else None.
        pins: Number of pins that hold it in memory.
    """

    name: str
    type: TensorType
    nbytes: int
    file: Path | None
    alias_of: str | None
    pins: int


class Pin:
    """A hold on a weight, returned by :meth:`WeightStore.pin`; ``with`` ends it.

    Attributes:
        array: The elements.
    """

    def __init__(self, name: str, weight: Weight) -> None:
        self._name = name
        self._weight = weight
        self.array = weight.get(pin=True)

    def __enter__(self) -> Array:
        return self.array

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._weight.unpin(self._name)


class WeightStore(Mapping[str, "Array"]):
    """Weights by name, read-only.

    ::

        store = WeightStore.open("model.safetensors").under("decoder.")
        compiled.set_params(store)

    A weight is read when it is first asked for. Where its elements have the same layout in the file
    as in memory, they stay there, mapped: the system reads the pages that are used, and shares them
    between processes. That is so in ``.safetensors`` and ``.gguf`` files; in ``.npz`` files it
    requires an array that is not compressed and begins at a multiple of its element's size.

    Stores made of another one (``under``, ``renamed``, ``with_aliases``) share its weights and
    pins. Several threads may use a store.
    """

    def __init__(self, weights: Mapping[str, Weight]) -> None:
        self._weights = dict(weights)

    @staticmethod
    def open(
        path: str | os.PathLike[str],
        *more: str | os.PathLike[str],
        limits: Limits = DEFAULT_LIMITS,
    ) -> WeightStore:
        """Return the weights of one file, or of several that have no name in common.

        Args:
            path: ``.npz``, ``.safetensors``, the ``.index.json`` of weights in several
                ``.safetensors`` files next to it, ``.gguf``, or the constants of an ``.onnx`` file,
                which is read as a whole. Elements of few bits become float32 when they are read.
            more: More of them.
            limits: Limits on the size of headers; the files may have any size.

        Raises:
            UsageError: A file cannot be read.
            FrontendError: A file is malformed or over a limit, or a name is in two files.
        """
        weights: dict[str, Weight] = {}
        for file in map(Path, (path, *more)):
            for name, weight in open_file(file, limits).items():
                if name in weights:
                    other = weights[name].path
                    raise FrontendError(
                        f"{quoted(name)} is in {shown(other) if other else 'another file'} too",
                        where=shown(file),
                        hint="open one of the files, or each as a store of its own",
                    )
                weights[name] = weight
        return WeightStore(weights)

    @staticmethod
    def of(arrays: Mapping[str, npt.ArrayLike]) -> WeightStore:
        """Return a store of arrays; names of one array are aliases.

        Arrays that can be written are copied, so that the weights stay unchanged.

        Raises:
            ValueError: The type of an array's elements is not one of rlx's.
        """
        weights: dict[int, Weight] = {}
        found = {}
        for name, value in arrays.items():
            known = weights.get(id(value)) if isinstance(value, np.ndarray) else None
            found[name] = weights[id(value)] = known or _weight_of_array(value)
        return WeightStore(found)

    def __getitem__(self, name: str) -> Array:
        """Return the elements of a weight, read-only.

        Raises:
            KeyError: There is none of that name.
            FrontendError: The file is damaged, or was changed.
        """
        if name not in self._weights:
            raise KeyError(self._unknown(name))
        return self._weights[name].get()

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __contains__(self, name: object) -> bool:
        return name in self._weights

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<WeightStore: {counted(len(self), 'weight')}, {self.total_bytes:,} bytes>"

    @property
    def entries(self) -> tuple[WeightEntry, ...]:
        """Entry of each weight; none is read for it."""
        first: dict[int, str] = {}
        entries = []
        for name, weight in self._weights.items():
            target = first.setdefault(id(weight), name)
            alias = None if target == name else target
            nbytes = 0 if alias else weight.type.nbytes
            entries.append(WeightEntry(name, weight.type, nbytes, weight.path, alias, weight.pins))
        return tuple(entries)

    @property
    def total_bytes(self) -> int:
        """Bytes of all weights; one with several names counts once."""
        return sum(entry.nbytes for entry in self.entries)

    @property
    def loaded_bytes(self) -> int:
        """Bytes of the weights that were read and not released since."""
        loaded = {id(w): w.type.nbytes for w in self._weights.values() if w.array is not None}
        return sum(loaded.values())

    def under(self, prefix: str) -> WeightStore:
        """Return the weights whose names begin with ``prefix`` and are longer, without it.

        Raises:
            UsageError: No name does.
        """
        names = [n for n in self._weights if n.startswith(prefix) and n != prefix]
        if not names:
            guess = closest(prefix, (name[: len(prefix)] for name in self._weights))
            raise UsageError(
                f"no weight's name begins with {prefix!r}",
                hint=f"did you mean {guess!r}?" if guess else "'entries' has the names",
            )
        return WeightStore({name[len(prefix) :]: self._weights[name] for name in names})

    def renamed(self, rename: Rename) -> WeightStore:
        """Return the weights under other names.

        Args:
            rename: The new name for each old one, as a mapping (other names stay unchanged) or as a
                function, which returns None for weights that are left out.

        Raises:
            UsageError: Two weights would have one name, or the mapping has a name without a weight.
        """
        for old in () if callable(rename) else rename:
            if old not in self._weights:
                raise self._refused(old)
        weights: dict[str, Weight] = {}
        for old, weight in self._weights.items():
            new = rename(old) if callable(rename) else rename.get(old, old)
            if new is None:
                continue
            if new in weights:
                raise UsageError(
                    f"two weights would be called {quoted(new)}", hint="give each its own name"
                )
            weights[new] = weight
        return WeightStore(weights)

    def with_aliases(self, aliases: Mapping[str, str]) -> WeightStore:
        """Return the weights with more names for some, as for tied weights.

        Args:
            aliases: The name that a weight has, for each name that it gets.

        Raises:
            UsageError: There is no such weight, or the new name is in use.
        """
        weights = dict(self._weights)
        for new, old in aliases.items():
            if old not in self._weights:
                raise self._refused(old)
            if new in weights:
                raise UsageError(
                    f"a weight is called {quoted(new)} already",
                    hint="leave it out with renamed(), or take another name",
                )
            weights[new] = self._weights[old]
        return WeightStore(weights)

    def pin(self, name: str) -> Pin:
        """Read a weight, and keep it in memory until it is unpinned as often as it was pinned.

        ::

            with store.pin("w") as array:
                ...

        Raises:
            UsageError: There is none of that name.
            FrontendError: The file is damaged, or was changed.
        """
        if name not in self._weights:
            raise self._refused(name)
        return Pin(name, self._weights[name])

    def unpin(self, name: str) -> None:
        """End one :meth:`pin` of a weight.

        Raises:
            UsageError: There is none of that name, or it is not pinned.
        """
        if name not in self._weights:
            raise self._refused(name)
        self._weights[name].unpin(name)

    def release(self) -> int:
        """Forget the arrays that nobody has pinned; they are read again at their next use.

        Arrays that were handed out stay unchanged. Weights from arrays in memory stay too.

        Returns:
            Bytes of the arrays.
        """
        weights = {id(weight): weight for weight in self._weights.values()}
        return sum(weight.release() for weight in weights.values())

    def _refused(self, name: str) -> UsageError:
        guess = closest(name, self._weights)
        return UsageError(
            f"no weight is called {name!r}",
            hint=f"did you mean {guess!r}?" if guess else "'entries' has the names",
        )

    def _unknown(self, name: Any) -> str:  # noqa: ANN401 - any key
        guess = closest(name, self._weights) if isinstance(name, str) else None
        return f"no weight is called {name!r}" + (f"; did you mean {guess!r}?" if guess else "")


def _weight_of_array(value: npt.ArrayLike) -> Weight:
    """Return the weight of an array."""
    fixed = isinstance(value, np.ndarray) and not value.flags.writeable
    array = np.asarray(value) if fixed else np.array(value)
    array.flags.writeable = False
    return Weight(TensorType(array.shape, DType.of(array)), array=array)
