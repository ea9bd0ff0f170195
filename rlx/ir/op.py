"""The base class of every op."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from rlx.ir import supplied
from rlx.ir.traits import UNSTATED, Traits
from rlx.support.errors import ShapeError
from rlx.support.text.units import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.ir.graph import Graph
    from rlx.ir.types import Array, TensorType

    Evaluator: TypeAlias = Callable[..., tuple[Array, ...]]


class _OpMeta(ABCMeta):
    """Makes classes without ``infer`` or ``evaluate`` abstract, and knows no virtual subclasses.

    Passes ask of every node whether its op is of a class; only its true classes count.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__


class Op(metaclass=_OpMeta):
    """One op: its attributes (dataclass fields), its typing rule and its meaning.

    A subclass is a frozen, keyword-only dataclass. Attributes are plain data: integers, floats,
    strings, booleans, None, enums, graphs, tuples and frozen dataclasses of these, so that the text
    form and the file form can hold every op without knowing it. A graph among the attributes is a
    region: it has inputs and constants, no parameters, and reads nothing from around the op.

    Attributes:
        name: Name in printed IR, ``dialect.op``. The dialect determines the level: ``nn`` (model
            level), ``real`` (tensor algebra), ``q`` (exact integers), ``core`` (any level).
        operand_count: Number of operands: an integer, or ``(minimum, maximum)``, None for no bound.
        traits: Properties of every use of the op. Every class declares it, without any as
            ``Traits()``; passes assume nothing of an op that does not.
        registry: Every op class by name.
    """

    name: ClassVar[str]
    operand_count: ClassVar[int | tuple[int, int | None]] = 1
    traits: ClassVar[Traits] = UNSTATED
    registry: ClassVar[dict[str, type[Op]]] = {}
    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:  # noqa: ANN401 - forwarded unread
        super().__init_subclass__(**kwargs)
        if "name" in cls.__dict__:
            _register(cls)

    @property
    def dialect(self) -> str:
        """The part of the name before the dot."""
        return self.name.partition(".")[0]

    @abstractmethod
    def infer(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return the types of the results.

        Raises:
            ShapeError: The operands or attributes do not fit.
        """

    @abstractmethod
    def evaluate(self, *operands: Array) -> tuple[Array, ...]:
        """Return the results, computed with NumPy.

        This is the definition of the op. Every target is tested against it; a ``q.*`` op has one
        right answer to the last bit.
        """

    def prepare(self, constants: Sequence[Array | None]) -> Evaluator:
        """Return a function with the results of ``evaluate``, prepared for many calls.

        An op overrides this where work can be done once for all calls: weights converted, tables
        filled. The function accepts every operand, constant ones included, may be called by several
        threads, and must not change its operands. For a ``q.*`` op its results are those of
        ``evaluate`` to the last bit; ``evaluate`` stays the definition.

        Args:
            constants: For each operand its value if that never changes, else None.
        """
        del constants
        return self.evaluate

    def attributes(self) -> dict[str, Any]:
        """Return the attributes by name, in the order of their declaration."""
        # Every op is a dataclass; the base class alone is none.
        return {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]

    def regions(self) -> tuple[tuple[str, Graph], ...]:
        """Return the graphs among the attributes, each with its path, such as ``body``."""
        return supplied.regions_of(self)

    def with_attributes(self, **changed: Any) -> Self:  # noqa: ANN401 - of any op
        """Return the same op with some attributes changed."""
        # Every op is a dataclass; the base class alone is none.
        made: Self = replace(self, **changed)  # type: ignore[type-var]
        return made

    def infer_checked(self, *operands: TensorType) -> tuple[TensorType, ...]:
        """Return ``infer(*operands)`` after checking the number of operands.

        Raises:
            ShapeError: Too few or too many operands, or an error of ``infer``.
        """
        count = self.operand_count
        minimum, maximum = (count, count) if isinstance(count, int) else count
        if len(operands) < minimum or (maximum is not None and len(operands) > maximum):
            required = counted(minimum if maximum is None else maximum, "operand")
            if maximum is None:
                required = f"at least {required}"
            elif minimum != maximum:
                required = f"{minimum} to {required}"
            raise ShapeError(f"expected {required}, got {len(operands)}", where=self.name)
        return self.infer(*operands)

    def refuse(self, message: str, *, hint: str | None = None) -> ShapeError:
        """Return (not raise) a ShapeError that names this op."""
        return ShapeError(message, where=self.name, hint=hint)


def _register(cls: type[Op]) -> None:
    """Enter an op class under its name.

    Raises:
        TypeError: Another class has this name. The same class again (a module that is reloaded, the
            copy that a dataclass with slots makes of it) replaces the earlier class.
    """
    known = Op.registry.get(cls.name)
    if known is not None and _identity(known) != _identity(cls):
        raise TypeError(
            f"two op classes are called {cls.name!r}: {_identity(known)} and {_identity(cls)}; "
            "give the second one another name"
        )
    Op.registry[cls.name] = cls


def _identity(cls: type[Op]) -> str:
    """Return module and name of a class (a copy's qualified name is set only later)."""
    return f"{cls.__module__}.{cls.__name__}"
