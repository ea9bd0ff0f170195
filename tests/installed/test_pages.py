"""README and the guide's first pages: the wheel alone does what they show.

Each page starts in an empty folder and an empty environment. Its own ``pip install`` line installs
the wheel of this checkout with the extras that it names, and every command runs in the order of the
page. To add a page, put it into ``PAGES``.
"""

from __future__ import annotations

import subprocess
import tomllib
import zipfile

import pytest

from installed.pages import FENCE, commands
from support import ROOT

PAGES = (
    "README.md",
    "docs/guide/install.md",
    "docs/guide/walkthrough.md",
    "docs/guide/onnx-to-firmware.md",
    "docs/guide/firmware.md",
    "docs/guide/fpga.md",
    "docs/how-to/test-a-network.md",
    "docs/how-to/start-a-project.md",
    "docs/how-to/check-budgets-in-ci.md",
    "docs/how-to/look-at-a-network.md",
    "docs/how-to/read-a-report.md",
    "docs/guide/notebook.md",
    "docs/guide/graphs.md",
    "docs/how-to/run-on-the-host.md",
    "docs/how-to/measure-on-the-host.md",
    "docs/how-to/use-several-machines.md",
    "docs/how-to/differentiate.md",
)
"""Pages whose every block ``console``, ``python run`` and ``{doctest}`` is run."""

_ROOT = "needs root; the test suite runs where these programs are installed"
_CHECKOUT = "of contributors: sets up a checkout, which is not there"
_SERVER = "a server for a browser: tests/examples/test_notebooks.py runs the notebook's cells"
_OWN = "takes a model of the reader's own; tests/docs/test_options.py checks its options"
_BUILD = "synthesis and routing take minutes; tests/sim/synthesis/test_build.py runs rlx build"
NOT_RUN = {
    "sudo apt install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm make g++": _ROOT,
    "make demo    # sets up an environment, runs the demo on every target": _CHECKOUT,
    "make test    # sets up everything (as root also GCC for ARM and QEMU) and runs all tests": (
        _CHECKOUT
    ),
    "make docs    # builds the documentation": _CHECKOUT,
    "rlx build out/fpga                      # place and route; needs rlx[synth]": _BUILD,
    "rlx emit tagger.rlx --target fpga --architecture parallel -o out/tagger": _OWN,
    "rlx new cmake product --model kws.tflite": _OWN,
    "rlx estimate digits.onnx --target cortexm": _OWN,
    "rlx estimate digits.onnx --devices all --weight-bits 4": _OWN,
    "pip install 'rlx[sim,synth]'": _BUILD,
    "rlx emit digits/digits.tflite --target fpga -o hardware": _BUILD,
    "rlx build hardware -o built": _BUILD,
    "rlx report hardware --build built --html hardware.html": _BUILD,
    "pip install jupyterlab": _SERVER,
    "jupyter lab notebooks/first_look.ipynb": _SERVER,
}
"""Commands of these pages that are not run, and why."""

COMPILER = ("sh", "gcc", "cc", "as", "ld")
"""Programs of a machine that can compile C for itself, and no more."""

TIMEOUT_S = 600

pytestmark = pytest.mark.wheel


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs_as_it_stands(page, machine):
    text = (ROOT / page).read_text(encoding="utf-8")
    typed = [c.text for c in commands(text) if c.text not in NOT_RUN]
    assert typed[0].startswith("pip install "), f"{page} must begin with what it installs"
    reader = machine.reader(page.replace("/", "-"), NOT_RUN)
    reader.follow(page, text, timeout_s=TIMEOUT_S)
    assert list(reader.printed) == list(dict.fromkeys(typed))
    for command, output in reader.printed.items():
        if command.startswith("rlx verify"):
            assert "all equal: " in output, command


def test_the_first_screen_of_the_readme_runs_on_a_plain_machine(machine, tmp_path):
    """``pip install rlx`` and a C compiler: no tools for ARM, no Verilator, no zig."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = text[: next(FENCE.finditer(text)).end()]
    typed = [command.text for command in commands(first)]
    assert len(typed) == 5
    reader = machine.plain("plain", tmp_path / "bin", COMPILER)
    page = "\n".join(["```console", *(f"$ {text}" for text in typed), "```", ""])
    reader.follow("README.md", page, timeout_s=TIMEOUT_S)
    shown = {command: " ".join(output.split()) for command, output in reader.printed.items()}
    demo, verify = (next(out for c, out in shown.items() if w in c) for w in ("demo", "verify"))
    for output in (demo, verify):
        assert "not run: C on a cortex-m4: no compiler, no emulator; pip install" in output
    assert "C on this machine 98 of 100 100 of 100" in demo
    assert "all equal: 16 of 16 frames give the reference's bits" in verify


def test_every_command_that_is_not_run_is_on_a_page():
    found = {c.text for page in PAGES for c in commands((ROOT / page).read_text(encoding="utf-8"))}
    assert set(NOT_RUN) <= found


def test_the_wheel_holds_the_packages_templates_and_examples(machine):
    sources = {
        "rlx": "rlx",
        "targets/fpga/rlx_fpga": "rlx_fpga",
        "targets/c/rlx_c": "rlx_c",
        "targets/cortexm/rlx_cortexm": "rlx_cortexm",
        "targets/host/rlx_host": "rlx_host",
        "targets/xla/rlx_xla": "rlx_xla",
        "targets/wgpu/rlx_wgpu": "rlx_wgpu",
        "sim/rlx_sim": "rlx_sim",
        "templates": "rlx/templates",
        "examples": "rlx/examples",
    }
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    wanted = {
        f"{inside}/{name.removeprefix(folder + '/')}"
        for name in done.stdout.splitlines()
        for folder, inside in sources.items()
        if name.startswith(f"{folder}/") and (ROOT / name).is_file()
    }
    with zipfile.ZipFile(machine.wheel) as wheel:
        found = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
        fields = wheel.read(metadata).decode()
    assert found == wanted
    assert machine.wheel.stat().st_size < 3_000_000
    for field in ("Author: The rlx authors", "Keywords: ", "Classifier: ", "Requires-Python: "):
        assert f"\n{field}" in fields


def test_the_table_of_extras_in_the_readme_is_complete():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert all(f"| `{extra}` |" in text for extra in project["optional-dependencies"])
