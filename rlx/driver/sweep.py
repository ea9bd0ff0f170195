"""One model on every device or processor of a target: an estimate for each, the best first.

Tests: tests/targets/fpga/test_target.py
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rlx import targets
from rlx.driver import driver
from rlx.driver.assumption import assume
from rlx.ir.file import from_file_bytes, to_file_bytes
from rlx.support.errors import DoesNotFitError, RlxError, UsageError
from rlx.support.parallel import IN_PROCESS, Task
from rlx.support.text.suggest import did_you_mean
from rlx.targets.estimation import Estimates

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from rlx.ir.module import GraphModule
    from rlx.passes import Policies
    from rlx.support.parallel import Workers
    from rlx.targets import Sweep, Target

    Lower = Callable[[Any], GraphModule]
    Row = dict[str, Any]
    Result = tuple[Row, list[RlxError]]

_LOWERINGS: dict[Hashable, Lower] = {}
"""The model that this worker lowered last, by content, target and option."""


def estimate_values(
    module: GraphModule,
    target: Target,
    values: str,
    options: Any,  # noqa: ANN401 - the target's own class
    *,
    option: str | None = None,
    user_options: frozenset[str] = frozenset(),
    policies: Policies | None = None,
    weight_bits: int | None = None,
    progress: Callable[[str], None] | None = None,
    pool: Workers = IN_PROCESS,
) -> Estimates:
    """Return an estimate for each of some values of the option that the target is compared over.

    Args:
        module: The model.
        target: A target with a :class:`rlx.targets.Sweep`.
        values: Values with commas between, or the name of a group of them, such as ``all``.
        options: Instance of ``target.options`` with all other options.
        option: Name of the option that the target is compared over; None for its first one.
        user_options: Names of the options that the user chose; others may be varied until it fits.
        policies: As for :func:`rlx.driver.driver.lower`.
        weight_bits: As for :func:`rlx.driver.assumption.assume`.
        progress: Called with a description of each step.
        pool: Takes the values.

    Raises:
        UsageError: The target cannot be compared, or there is no such value.
        UnsupportedOpError: No value makes the model possible.
    """
    sweep = _sweep(target, option)
    names = _names(sweep, values)
    if sweep.option in user_options:
        raise UsageError(
            f"--{sweep.option} has one value here and several in the comparison",
            hint=f"leave --{sweep.option} out, or name it among the values to compare",
        )
    assumed = assume(module, target, options=options, policies=policies, weight_bits=weight_bits)
    comparison = _Comparison(
        target.name, sweep.option, options, user_options, policies, to_file_bytes(assumed.module)
    )
    if pool is IN_PROCESS:
        lower = _lowering(assumed.module, target, sweep, policies)
        results = list(_rows_here(sweep, names, comparison, lower, progress))
    else:
        results = _rows_elsewhere(comparison, names, pool, progress)
    rows = [row for row, _ in results]
    if all(row["fits"] is None for row in rows):
        raise _combined_error([error for _, errors in results for error in errors])
    ranked = sorted(rows, key=lambda row: _rank(sweep, row))
    note = None if assumed.assumption is None else assumed.assumption.as_json()
    return Estimates(target.name, sweep.option, dict(sweep.columns), tuple(ranked), note)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Arguments of a comparison that all values share.

    Attributes:
        target: Name of the target.
        option: Name of the option that it is compared over.
        options: All other options.
        user_options: Names of those that the user chose.
        policies: Policies of the lowering.
        content: The model as a file.
    """

    target: str
    option: str
    options: Any
    user_options: frozenset[str]
    policies: Policies | None
    content: bytes


def _rows_here(
    sweep: Sweep,
    names: Sequence[str],
    comparison: _Comparison,
    lower: Lower,
    progress: Callable[[str], None] | None,
) -> Iterator[Result]:
    for position, name in enumerate(names, 1):
        if progress is not None:
            progress(f"{sweep.option} {position} of {len(names)}: {name}")
        yield _row(sweep, name, comparison.options, comparison.user_options, lower)


def _rows_elsewhere(
    comparison: _Comparison,
    names: Sequence[str],
    pool: Workers,
    progress: Callable[[str], None] | None,
) -> list[Result]:
    finished = 0

    def count(index: int) -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(f"{comparison.option} {finished} of {len(names)}: {names[index]}")

    tasks = [Task(f"{comparison.option} {name}", (comparison, name)) for name in names]
    return pool.results(_row_of, tasks, count)


def _row_of(argument: tuple[_Comparison, str]) -> Result:
    """Return the row of one value, on a worker."""
    comparison, name = argument
    target = targets.load(comparison.target)
    sweep = _sweep(target, comparison.option)
    lower = _lowering_on_worker(comparison.content, target, sweep, comparison.policies)
    return _row(sweep, name, comparison.options, comparison.user_options, lower)


def _lowering_on_worker(
    content: bytes, target: Target, sweep: Sweep, policies: Policies | None
) -> Lower:
    """Return a function that lowers a model, which this worker keeps for the next values."""
    key = hashlib.sha256(content).digest(), target.name, sweep.option, repr(policies)
    if key not in _LOWERINGS:
        _LOWERINGS.clear()
        _LOWERINGS[key] = _lowering(from_file_bytes(content), target, sweep, policies)
    return _LOWERINGS[key]


def _sweep(target: Target, option: str | None) -> Sweep:
    """Return the comparison of a target over an option; over its first one for None."""
    sweeps = {sweep.option: sweep for sweep in target.sweeps}
    if not sweeps:
        raise UsageError(
            f"target {target.name!r} has no options to compare",
            hint=f"estimate it for this target: rlx estimate MODEL --target {target.name}",
        )
    if option is None:
        return next(iter(sweeps.values()))
    if option not in sweeps:
        raise UsageError(
            f"target {target.name!r} cannot be compared over {option!r}",
            hint=did_you_mean(option, sweeps, what="options"),
        )
    return sweeps[option]


def _names(sweep: Sweep, values: str) -> list[str]:
    """Return the values that a text denotes, without duplicates."""
    words = [word.strip() for word in values.split(",") if word.strip()]
    names = [name for word in words for name in sweep.groups.get(word, (word,))]
    if not names:
        groups = ", ".join(sweep.groups)
        raise UsageError(
            f"no {sweep.option} is given",
            hint=f"give names with commas between, or one of {groups}",
        )
    return list(dict.fromkeys(names))


def _lowering(
    module: GraphModule, target: Target, sweep: Sweep, policies: Policies | None
) -> Lower:
    """Return a function that lowers the model once for all options with the same lowering."""
    results: dict[Hashable, GraphModule | RlxError] = {}

    def lower(options: Any) -> GraphModule:  # noqa: ANN401 - the target's own class
        key = sweep.lowering_key(options)
        if key not in results:
            try:
                results[key] = driver.lower(
                    module, target, options=options, policies=policies
                ).module
            except RlxError as error:
                results[key] = error
        result = results[key]
        if isinstance(result, RlxError):
            raise result
        return result

    return lower


def _row(
    sweep: Sweep,
    name: str,
    options: Any,  # noqa: ANN401 - the target's own class
    user_options: frozenset[str],
    lower: Lower,
) -> tuple[Row, list[RlxError]]:
    """Return the row of the first way that fits, else of the best one within the budgets.

    Without either, the last estimate is returned, or the reason against the first way.

    ``fits`` is None where there is no estimate for another reason than space, and the errors of
    all ways are returned too.
    """
    best: Row = {}
    failed: list[RlxError] = []
    slow: list[Row] = []
    try:
        attempts = sweep.attempts(_with_value(sweep, options, name), user_options)
    except UsageError:
        raise
    except RlxError as error:
        return _refusal_row(sweep, name, error), [error]
    for attempt in attempts:
        try:
            report = sweep.estimate(lower(attempt), attempt)
        except RlxError as error:
            # The first one has the unchanged options.
            best = best or _refusal_row(sweep, name, error)
            failed.append(error)
            continue
        fits = bool(report.get("fits", True))
        figures = sweep.row(report, attempt)
        reason = sweep.caveat(figures) if fits else str(report["short"])
        row = {sweep.option: name, "fits": fits, "reason": reason, **figures}
        if fits:
            return row, []
        if report.get("within_budget"):
            slow.append(row)
        best = row
    return min(slow, key=partial(_rank, sweep), default=best), failed


def _with_value(sweep: Sweep, options: Any, name: str) -> Any:  # noqa: ANN401 - the target's own class
    """Return the options with one value of the option that is compared over."""
    if sweep.with_value is not None:
        return sweep.with_value(options, name)
    return replace(options, **{sweep.option: name})


def _refusal_row(sweep: Sweep, name: str, error: RlxError) -> Row:
    """Return a row without figures."""
    first, *others = [line.strip() for line in error.message.splitlines()]
    fits = False if isinstance(error, DoesNotFitError) else None
    colon = ":" if others and not first.endswith(":") else ""
    reason = f"{first}{colon} {'; '.join(others)}".rstrip()
    return {sweep.option: name, "fits": fits, "reason": reason}


def _combined_error(errors: Sequence[RlxError]) -> RlxError:
    """Return an error with each distinct refusal and what to do about it."""
    first, texts = errors[0], dict.fromkeys(map(_error_text, errors))
    if len(texts) == 1:
        return first
    hints = dict.fromkeys(e.hint for e in errors if e.hint)
    message = f"refused for {len(texts)} reasons:\n  " + "\n  ".join(texts)
    return type(first)(message, hint="; or ".join(hints))


def _error_text(error: RlxError) -> str:
    """Return the place and the message of an error, without its hint."""
    return f"{error.where}: {error.message}" if error.where else error.message


def _rank(sweep: Sweep, row: Mapping[str, Any]) -> tuple[int, bool, float]:
    """Return the key that a row is sorted by: rows that fit first, the best of these first."""
    if sweep.by not in row:
        return 2, False, 0.0
    figure = -row[sweep.by] if sweep.maximize else row[sweep.by]
    return 0 if row["fits"] else 1, sweep.is_lower_bound(row), figure
