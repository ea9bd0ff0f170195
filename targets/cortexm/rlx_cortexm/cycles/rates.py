"""Cycles of each kernel by core, per instruction and product: data of ``rates.json``.

``python tools/kernel_cycles.py`` writes that file: it applies the cycle models of ``rlx_sim`` to
traces of the project's own kernel graphs.

Tests: tests/targets/cortexm/cycles/test_prediction.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from rlx_cortexm.core import ALIASES

if TYPE_CHECKING:
    from collections.abc import Mapping

LINE_BYTES: Final = (4, 8, 16, 32)
"""Widths of reads of a flash for which rates are stored."""

CACHE_BYTES: Final = 1024
"""Size of the cache of code that ``uncached`` is of: that of the parts with the smallest one."""

OTHER: Final = "other"
"""Key of the rates of all kernels together."""

_LIKE: Final = MappingProxyType({"cortex-m35p": "cortex-m33"})
"""Cores whose pipeline is that of another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRates:
    """Cycles of a kernel on a core.

    Attributes:
        instruction: Cycles per instruction, apart from those by product.
        product: Further cycles per product; negative if products need fewer than other work.
        low: Fewest cycles of an instruction of any layer of the sweep.
        high: Most cycles.
        code_bytes: Bytes of code per instruction.
        sequential: Lines of code entered from the line before, per instruction, by
            :data:`LINE_BYTES`.
        jumps: Lines entered otherwise, such as by branches.
        uncached: Share of both outside the :data:`CACHE_BYTES` that are entered most often.
        constants: Reads of constants from another line than the read before, per instruction; empty
            if unknown.
    """

    instruction: float
    product: float
    low: float
    high: float
    code_bytes: float
    sequential: tuple[float, ...]
    jumps: tuple[float, ...]
    uncached: tuple[float, ...]
    constants: tuple[float, ...] = ()

    def cycles(self, instructions: int, products: int) -> float:
        """Return the cycles of a layer without wait states, within those of the sweep."""
        fitted = self.instruction * instructions + self.product * products
        return min(max(fitted, self.low * instructions), self.high * instructions)


@dataclass(frozen=True, slots=True)
class CoreRates:
    """Cycles of all kernels on a core.

    Attributes:
        core: Its name.
        kernels: Rates by template.
        error: Maximum error of predicted cycles, relative to modelled, of the networks that the
            tool compared: none is part of the sweep.
        wait_error: The same on parts whose flash has wait states.
        compiler: Compiler of the sweep.
    """

    core: str
    kernels: Mapping[str, KernelRates]
    error: float
    wait_error: float | None
    compiler: str

    def of(self, template: str) -> KernelRates:
        """Return the rates of a kernel; those of all together if the sweep has none of it."""
        return self.kernels.get(template, self.kernels[OTHER])


@cache
def core_rates(cpu: str) -> CoreRates | None:
    """Return the rates of a core by GCC's name, possibly with extensions; None if unknown.

    A core without the extensions that the sweep's code uses has none.
    """
    base = cpu.partition("+")[0]
    name = _LIKE.get(base, base)
    row = _data().get(name)
    if row is None or ALIASES.get(cpu, cpu) != row["code"]:
        return None
    kernels = {template: _kernel_rates(values) for template, values in row["kernels"].items()}
    facts = {key: row[key] for key in ("error", "wait_error", "compiler")}
    return CoreRates(name, MappingProxyType(kernels), **facts)


def _kernel_rates(values: Mapping[str, Any]) -> KernelRates:
    rows: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return KernelRates(**rows)


@cache
def _data() -> dict[str, Any]:
    text = files("rlx_cortexm.cycles").joinpath("rates.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
