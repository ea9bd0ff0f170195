"""Estimate the needs of a network on targets.

Tests: tests/unit/test_api.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlx import targets
from rlx.api.arguments import policies_of
from rlx.driver import driver
from rlx.driver.assumption import assume
from rlx.driver.sweep import estimate_values
from rlx.networks import Model, bound_module
from rlx.support.calls import checked_call
from rlx.support.parallel import workers
from rlx.targets.estimation import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rlx.api.types import PoliciesLike, WeightBits
    from rlx.support.parallel import ExecutorLike
    from rlx.targets.estimation import Estimates


@checked_call
def estimate(
    model: Model,
    target: str,
    *,
    weight_bits: WeightBits | None = None,
    policies: PoliciesLike | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Estimate:
    """Return the estimate of a model's needs on a target, as ``rlx estimate`` shows it.

    A float network is estimated as if it were quantized, with int8 activations: ``assumed`` says
    so. No samples are needed; what quantization loses, they alone tell.

    Args:
        model: As for :func:`rlx.run`.
        target: Name of an installed target.
        weight_bits: 8, 4 or 2: width of the weights of a float network; None for 8.
        policies: As for :func:`emit`.
        options: Options of the target, as for :func:`emit`.

    Raises:
        UsageError: The target has no such option, or there is ``weight_bits`` for a network that
            is not float.
        UnsupportedOpError: The target, or the quantization of a float network, lacks ops.
        RlxError: Error of a step.

    Returns:
        An object with ``layers``, ``totals`` and ``fits``; also a mapping, with the keys of
        ``rlx estimate --json``. ``print`` shows the table.

    Example:
        >>> estimate = rlx.estimate("digits/digits.rlx", "cortexm", cpu="cortex-m4")
        >>> estimate.fits, estimate.totals["macs"]
        (True, 25600)
    """
    module, _ = bound_module(model)
    plugin = targets.load(target)
    chosen_options = targets.options_of(plugin, options, other_names=("weight_bits", "policies"))
    chosen_policies = policies_of(policies)
    assumed = assume(
        module, plugin, options=chosen_options, policies=chosen_policies, weight_bits=weight_bits
    )
    lowered = driver.lower(assumed.module, plugin, options=chosen_options, policies=chosen_policies)
    ports = assumed.ports(lowered.changes)
    figures = {
        **({} if assumed.assumption is None else {"assumed": assumed.assumption.as_json()}),
        "dispatch": lowered.dispatch.to_dict(),
        **plugin.estimate(lowered.module, chosen_options),
        **({"ports": ports} if ports else {}),
    }
    return Estimate(plugin.name, figures, plugin.view(figures, chosen_options))


@checked_call
def estimate_all(
    model: Model,
    target: str,
    values: str | Sequence[str] = "all",
    *,
    over: str | None = None,
    weight_bits: WeightBits | None = None,
    policies: PoliciesLike | None = None,
    executor: ExecutorLike = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,  # noqa: ANN401 - each target's own
) -> Estimates:
    """Return a model's needs on every device or processor of a target, the best first.

    As ``rlx estimate MODEL --devices all`` and ``--cpu all`` show it. For an FPGA the architectures
    are tried in turn where one does not fit, unless ``architecture`` is given.

    Args:
        model: As for :func:`rlx.run`.
        target: Name of an installed target that can be compared, such as ``"fpga"``.
        values: Devices or processors, as a list or with commas between, or ``"all"``; for an FPGA
            also ``"boards"``.
        over: Option that has these values, such as ``"part"``; the target's first one by default.
        weight_bits: As for :func:`estimate`.
        policies: As for :func:`emit`.
        executor: Number of processes, or another executor as for :func:`verify`, that takes the
            values.
        progress: Called with a description of each step.
        options: Options of the target, as for :func:`emit`.

    Returns:
        A sequence of rows, each a mapping, with ``best``; nothing that does not fit has ``fits``.

    Raises:
        UsageError: The target cannot be compared, or has no such value or option.
        RlxError: Error of a step, if the steps raise it for every value.

    Example:
        >>> digits, cores = "digits/digits.rlx", "cortex-m4,cortex-m7"
        >>> rows = rlx.estimate_all(digits, "cortexm", cores, over="cpu")
        >>> rows.best["cpu"], len(rows)
        ('cortex-m4', 2)
    """
    module, _ = bound_module(model)
    plugin = targets.load(target)
    names = ("weight_bits", "policies", "executor", "progress")
    with workers(executor) as pool:
        return estimate_values(
            module,
            plugin,
            values if isinstance(values, str) else ",".join(map(str, values)),
            targets.options_of(plugin, options, other_names=names),
            option=over,
            user_options=frozenset(options),
            policies=policies_of(policies),
            weight_bits=weight_bits,
            progress=progress,
            pool=pool,
        )
