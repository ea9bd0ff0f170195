"""Processor of this machine, as its system describes it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from benchmarks.host import machine
from rlx.runtime.observation import processor
from support import ROOT

X86 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 17
model name\t: AMD EPYC
flags\t\t: fpu avx2{more}
"""


@pytest.fixture
def info(monkeypatch, tmp_path):
    """Write the system's list of processors."""
    path = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "_INFO", path)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return lambda text: path.write_text(text, encoding="utf-8")


def test_names(info):
    info(X86.format(more=""))
    assert processor.processor_name() == "AMD EPYC (family 25, model 17)"
    assert processor.machine_name().startswith("AMD EPYC (family 25, model 17), ")
    assert processor.machine_name().endswith(platform.system())
    info("Features\t: fp asimd\n")
    assert processor.processor_name() == platform.processor() or platform.machine()
    assert processor.instruction_sets() == {"fp", "asimd"}


@pytest.mark.parametrize(
    ("more", "exact"), [("", False), (" avx512_vnni", True), (" avx_vnni", True)]
)
def test_exact_products_of_bytes(info, more, exact):
    info(X86.format(more=more))
    assert processor.multiplies_bytes_exactly() is exact


def test_products_of_unknown_and_other_processors(info, monkeypatch):
    assert processor.instruction_sets() is None
    assert processor.multiplies_bytes_exactly() is None
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert processor.multiplies_bytes_exactly() is True


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names kernels of x86")
def test_the_kernels_of_products_are_named():
    assert machine.versions()["blas"] == processor.blas()
    code = "import numpy; from rlx.runtime.observation.processor import blas; print(blas())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_CORETYPE": "Zen"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = done.stdout.strip()
    assert found in ("Zen", "Haswell", "-"), "Zen is one that every x86 build has"
