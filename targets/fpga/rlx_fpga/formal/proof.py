"""Proofs as files: a bench as Verilog, and the scripts that have a solver prove it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from amaranth.back import verilog

from rlx_fpga.packaging.render import render

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlx_fpga.formal.bench import Bench
    from rlx_fpga.formal.table import Proof

REGISTERS: Final = "$dff,$dffe,$sdff,$sdffe,$sdffce,$adff,$adffe"
"""Cells of Yosys behind which a signal is of a later cycle."""

_START: Final = re.compile(r"\$auto\$verilog_backend\.cc:\d+:dump_module\$(\d+)")


def verilog_of(bench: Bench, name: str) -> str:
    """Return the bench and its cell as Verilog with immediate assertions; the top is ``name``."""
    ports = {port: (signal, None) for port, signal in bench.ports.items()}
    text: str = verilog.convert(
        bench.m, name=name, ports=ports, emit_src=False, strip_internal_attrs=True
    )
    # The first line has the version of Yosys, names of this variable a place in its source.
    return _START.sub(r"$start\1", text.split("\n", 1)[1])


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
