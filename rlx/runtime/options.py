"""Options of compilation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from types import NoneType
from typing import TYPE_CHECKING, Final

from rlx.passes import Policies, Policy
from rlx.passes.fusion import FusionOptions
from rlx.passes.precision import PrecisionPolicy
from rlx.runtime.buckets import Buckets
from rlx.support.config import MAX_THREADS, current, is_thread_count
from rlx.support.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Options of ``Session.compile``.

    Defaults are the settings (``rlx.config``) where the object is made: ``backend``,
    ``check_finite``, ``policies``, ``instruction_set``, ``threads`` and ``dump``.

    Attributes:
        backend: Name of the backend, or None for the best one installed for the device.
        simplify: Whether constants are folded, and unused and repeated nodes removed, first.
        check_finite: Whether a run stops with a FloatingPointError at the first node that makes NaN
            of other values, or infinity of finite ones; slow.
        policies: Policies: ops that are decomposed although the backend has them, or never.
        fusion: Patterns of ops that become one op each; None for no fusion.
        precision: Types in which ops on f32 are computed, or the name of a policy, such as
            ``"mixed-bf16"``, for which the object then has the policy; as written if None.
        instruction_set: Vector instructions that a backend compiles for; None for the fastest ones
            of this machine.
        threads: Number of threads that the backend ``native`` computes with, from 1 to
            ``MAX_THREADS``; results do not depend on it. Other backends ignore it.
        buckets: Sizes that symbols in dimensions are rounded up to, so that few programs serve
            inputs of many sizes; None for a program for each size.
        dump: Folder for the text of the graph after every step of compilation that changes it;
            None for none. One that rlx made is replaced. For each set of sizes it gets a folder of
            its own.

    Raises:
        UsageError: A value is of another type or out of range, or no precision policy has the name.
    """

    backend: str | None = field(default_factory=lambda: current().backend)
    simplify: bool = True
    check_finite: bool = field(default_factory=lambda: current().check_finite)
    policies: Policies = field(default_factory=lambda: Policies(Policy(current().dispatch)))
    fusion: FusionOptions | None = field(default_factory=FusionOptions)
    precision: PrecisionPolicy | str | None = None
    instruction_set: str | None = field(default_factory=lambda: current().instruction_set)
    threads: int = field(default_factory=lambda: current().threads)
    buckets: Buckets | None = None
    dump: Path | str | None = field(default_factory=lambda: current().dump)

    def __post_init__(self) -> None:
        if isinstance(self.precision, str):
            object.__setattr__(self, "precision", PrecisionPolicy.named(self.precision))
        for name, (types, hint) in _OPTION_TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, types) or (name == "threads" and not is_thread_count(value)):
                raise UsageError(
                    f"{name} cannot be {value!r}", where="options of compilation", hint=hint
                )

    def changed(self, *, backend: str | None = None, threads: int | None = None) -> CompileOptions:
        """Return these options with another backend or number of threads, where one is given."""
        options = self if backend is None else replace(self, backend=backend)
        return options if threads is None else replace(options, threads=threads)


_OPTION_TYPES: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "backend": ((str, NoneType), "give its name, as 'rlx check --help' lists them"),
    "simplify": ((bool,), "give True or False"),
    "check_finite": ((bool,), "give True or False"),
    "policies": ((Policies,), "give Policies.parse(['common']) or Policies.parse(['OP=native'])"),
    "fusion": ((FusionOptions, NoneType), "give FusionOptions(), or None to fuse nothing"),
    "precision": ((PrecisionPolicy, NoneType), "give a PrecisionPolicy, its name, or None"),
    "instruction_set": ((str, NoneType), "give its name, such as 'avx2', or None"),
    "threads": ((int,), f"give an integer from 1 to {MAX_THREADS}"),
    "buckets": ((Buckets, NoneType), "give rlx.Buckets({'batch': None}), or None"),
    "dump": ((str, PathLike, NoneType), "give the path of a folder, or None"),
}
"""Types that each option may have, and a hint where it is something else."""
