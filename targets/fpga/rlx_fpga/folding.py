"""Choose how far each layer is folded, so that the slowest one is as fast as the budget allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlx.errors import DoesNotFitError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rlx_fpga.lower import Fold


def fold_layers(
    choices: Mapping[str, Sequence[Fold]],
    *,
    multipliers: int,
    given: Mapping[str, tuple[int, int]] | None = None,
) -> dict[str, Fold]:
    """Return a folding for each layer.

    The cycles of the slowest layer are minimized exactly: multipliers needed do not grow with the
    cycles allowed, so a search by halves over all cycles that occur finds the least number that
    fits. Every layer then takes the fewest multipliers that reach it.

    Args:
        choices: Foldings to choose from, by name of the layer.
        multipliers: Budget for all layers together.
        given: ``(pe, simd)`` of layers that are not to be chosen.

    Raises:
        UsageError: A layer in ``given`` does not exist or cannot be folded like that.
        DoesNotFitError: Even the slowest choice needs more multipliers.
    """
    allowed = {name: list(folds) for name, folds in choices.items()}
    for name, (pe, simd) in (given or {}).items():
        allowed[name] = [_given(choices, name, pe, simd)]
    targets = sorted({fold.cycles for folds in allowed.values() for fold in folds})
    slowest = _cheapest(allowed, targets[-1]) if targets else {}
    assert slowest is not None
    least = sum(fold.multipliers for fold in slowest.values())
    if least > multipliers:
        raise DoesNotFitError(
            f"the layers need at least {least} multipliers, the budget is {multipliers}",
            hint="raise the budget",
        )
    low, high, best = 0, len(targets) - 1, slowest
    while low <= high:
        middle = (low + high) // 2
        found = _cheapest(allowed, targets[middle])
        if found is not None and sum(f.multipliers for f in found.values()) <= multipliers:
            best, high = found, middle - 1
        else:
            low = middle + 1
    return best


def _cheapest(choices: Mapping[str, Sequence[Fold]], cycles: int) -> dict[str, Fold] | None:
    """Return for each layer the cheapest folding within ``cycles``, or None if one has none."""
    found = {}
    for name, folds in choices.items():
        enough = [fold for fold in folds if fold.cycles <= cycles]
        if not enough:
            return None
        found[name] = min(enough, key=_cost)
    return found


def _cost(fold: Fold) -> tuple[int, int, int]:
    """Order foldings: multipliers; then lanes, that is registers; then speed."""
    return fold.multipliers, fold.pe * fold.simd, fold.cycles


def _given(choices: Mapping[str, Sequence[Fold]], name: str, pe: int, simd: int) -> Fold:
    if name not in choices:
        raise UsageError(
            f"no layer is called {name!r}", hint=f"layers: {', '.join(choices) or 'none'}"
        )
    for fold in choices[name]:
        if (fold.pe, fold.simd) == (pe, simd):
            return fold
    pes = sorted({fold.pe for fold in choices[name]})
    simds = sorted({fold.simd for fold in choices[name]})
    raise UsageError(
        f"layer {name!r} cannot have pe {pe} and simd {simd}",
        hint=f"pe: {', '.join(map(str, pes))}; simd: {', '.join(map(str, simds))}",
    )
