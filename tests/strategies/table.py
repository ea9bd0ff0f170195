"""The table of strategies, one for each op class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from strategies.case import Case, Draw, Knobs, Maker

if TYPE_CHECKING:
    from collections.abc import Callable

    from rlx.ir import Op

STRATEGIES: dict[type[Op], Callable[..., st.SearchStrategy[Case]]] = {}
"""For each op class a function ``(**knobs) -> strategy of cases`` (fields of ``Knobs``)."""


def strategy(op: type[Op]) -> Callable[[Callable[[Maker], Case]], Callable[[Maker], Case]]:
    """Register the decorated function, which draws one case, for ``op``."""

    def register(build: Callable[[Maker], Case]) -> Callable[[Maker], Case]:
        STRATEGIES[op] = cases_of(build)
        return build

    return register


def cases_of(build: Callable[[Maker], Case]) -> Callable[..., st.SearchStrategy[Case]]:
    """Return a function from knobs to the strategy of the cases that ``build`` draws."""

    @st.composite
    def cases(draw: Draw, knobs: Knobs) -> Case:
        return build(Maker(draw, knobs))

    def with_knobs(**knobs: Any) -> st.SearchStrategy[Case]:
        return cases(Knobs(**knobs))

    return with_knobs
