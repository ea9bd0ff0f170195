"""Networks give the reference's bits on every core that they can be emitted for."""

import numpy as np
import pytest
from targets.cortexm.graph_builder import write

from rlx import frontends
from rlx.driver import driver
from rlx.driver.reference import given_inputs
from rlx.support.process import run
from rlx.targets import target
from rlx_cortexm import TARGET, CortexMOptions
from rlx_cortexm.core import ALIASES, core_name
from rlx_cortexm.options import CPUS
from rlx_sim.firmware.firmware import ALIASES as EMULATED_ALIASES
from rlx_sim.firmware.firmware import CPUS as EMULATED
from rlx_sim.firmware.firmware import FirmwareBuild
from rlx_sim.firmware.qemu import Qemu
from rlx_sim.firmware.unicorn_runner import Unicorn
from rlx_sim.protocol import compare
from rlx_sim.verify import CORTEXM
from support import ROOT, require_program

FRAMES = 2


def test_every_core_is_emulated():
    assert set(CPUS) == set(EMULATED)
    assert set(ALIASES) == set(EMULATED_ALIASES)
    assert set(ALIASES.values()) <= set(CPUS)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("m4", "cortex-m4"),
        ("Cortex-M4F", "cortex-m4"),
        ("cortexm7", "cortex-m7"),
        ("arm cortex_m33", "cortex-m33"),
        ("m0+", "cortex-m0plus"),
        ("M35P+nodsp", "cortex-m35p+nodsp"),
    ],
)
def test_common_spellings_of_a_core_are_accepted(spelling, name):
    assert CortexMOptions(cpu=spelling).cpu == name


@pytest.mark.parametrize("name", [*CPUS, *ALIASES])
def test_names_of_cores_stay_as_they_are(name):
    assert core_name(name) == name


def emit_digits(folder, cpu):
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    driver.emit(module, target.load("cortexm"), folder, options=CortexMOptions(cpu=cpu))
    return folder


@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m33+nodsp", "cortex-m85"])
def test_an_alias_has_the_kernels_of_its_core_under_its_own_name(tmp_path, cpu):
    alias, core = (emit_digits(tmp_path / name, name) for name in (cpu, ALIASES[cpu]))
    for path in sorted((core / "src").iterdir()):
        assert (alias / "src" / path.name).read_bytes() == path.read_bytes()
    assert f" for {cpu}. " in (alias / "README.md").read_text()
    assert f"\nCPU ?= {cpu}\n" in (alias / "test" / "Makefile").read_text()


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ALIASES)
def test_digits_are_equal_on_alias(tmp_path, cpu):
    """Every instruction is one of the core's: the verifier checks it."""
    tools = ["qemu:gcc", *(["unicorn:gcc"] if EMULATED_ALIASES[cpu].unicorn else [])]
    result = CORTEXM.verify(emit_digits(tmp_path / "net", cpu), tools=tools)
    figures = result.as_json()
    assert (figures["cpu"], figures["inputs"], figures["equal"]) == (cpu, 16, 16)


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m0plus", "cortex-m23", "cortex-m35p+nodsp"])
def test_make_runs_the_core_that_the_network_is_for(tmp_path, cpu):
    make = require_program("make")
    require_program("arm-none-eabi-gcc"), require_program("qemu-system-arm")
    folder = emit_digits(tmp_path / "net", cpu)
    ended = run([make, "-C", "test", "qemu"], cwd=folder, timeout_s=300)
    printed = ended.stdout + ended.stderr
    assert f" -mcpu={cpu} " in printed
    assert "rlx done 16 of 16 frames equal\n" in printed


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m0plus", "cortex-m23", "cortex-m33+nodsp+nofp"])
def test_zig_builds_for_alias(tmp_path, cpu):
    result = CORTEXM.verify(emit_digits(tmp_path / "net", cpu), tools=["qemu:zig"])
    assert result.as_json()["equal"] == 16


@pytest.mark.qemu
@pytest.mark.parametrize("cpu", CPUS)
def test_digits_are_equal_on(tmp_path, cpu):
    module = frontends.load(ROOT / "examples" / "digits" / "digits.rlx")
    options = CortexMOptions(cpu=cpu)
    driver.emit(module, target.load("cortexm"), tmp_path / "net", options=options)
    emulator = "qemu" if EMULATED[cpu].machine else "unicorn"
    result = CORTEXM.verify(tmp_path / "net", tools=[f"{emulator}:gcc", f"{emulator}:zig"])
    figures = result.as_json()
    assert (figures["cpu"], figures["inputs"], figures["equal"]) == (cpu, 16, 16)
    assert [run["compiler"] for run in figures["runs"]] == ["gcc", "zig"]
    assert all(run["instructions"] > 0 for run in figures["runs"])


@pytest.mark.models
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["kws_ref_model", "ad01_int8"])
@pytest.mark.parametrize("cpu", CPUS)
def test_networks_are_equal_on(cpu, name, shared_models, tmp_path):
    module = frontends.load(shared_models / f"{name}.tflite")
    with np.load(shared_models / "vectors" / f"{name}.npz") as vectors:
        golden = given_inputs(module.graph, {key: vectors[key] for key in ("x", "y")}, None)
    options = CortexMOptions(prefix="net", cpu=cpu)
    lowered = driver.lower(module, TARGET, options=options)
    folder = write(tmp_path, TARGET.emit(lowered.module, options))
    build = FirmwareBuild(cpu)
    simulator = Qemu(build) if EMULATED[cpu].machine else Unicorn(build)
    frames = golden.first(FRAMES)
    simulation = simulator.simulate(folder, frames, timeout_s=300)
    assert compare(simulator.name, simulation, frames) == []
