"""The files for CI are what CI reads, and what they run works: in a project with a network.

The steps are run as GitHub's runner does (``bash -e -o pipefail`` in the checkout), with stand-ins
for what changes the machine: ``sudo`` and ``pip`` note what they are asked for.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from xml.etree import ElementTree as ET

import pytest
import yaml

import rlx
from rlx.driver.verification import budget
from support import ROOT, require_program

CI = ROOT / "examples" / "ci"
MODEL = ROOT / "examples" / "digits" / "digits.tflite"
NOTE = '#!/bin/sh\necho "$(basename "$0") $*" >> "{log}"\n'
COMMAND = '#!/bin/sh\nexec "{python}" -m rlx.cli "$@"\n'
INTERPRETER = '#!/bin/sh\nexec "{python}" "$@"\n'


def read(name):
    return yaml.safe_load((CI / name).read_text(encoding="utf-8"))


def steps():
    (job,) = read("workflow.yml")["jobs"].values()
    return job, job["steps"]


def git(folder, *arguments):
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(tmp_path):
    """A checkout of a project with the files of the example, and the programs of a runner."""
    folder, origin, tools = tmp_path / "project", tmp_path / "origin", tmp_path / "tools"
    (folder / "models").mkdir(parents=True)
    tools.mkdir()
    shutil.copy(MODEL, folder / "models" / "digits.tflite")
    shutil.copy(CI / "rlx.toml", folder)
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(origin))
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    git(folder, "remote", "add", "origin", str(origin))
    git(origin, "config", "receive.denyCurrentBranch", "ignore")
    git(folder, "push", "--quiet", "origin", "main")
    texts = {
        "rlx": COMMAND.format(python=sys.executable),
        "python": INTERPRETER.format(python=sys.executable),
        "sudo": NOTE.format(log=tmp_path / "asked"),
        "pip": NOTE.format(log=tmp_path / "asked"),
    }
    for name, text in texts.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    return folder


def run(project, script, **variables):
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(project.parent / "tools"), os.environ["PATH"])),
        "GITHUB_STEP_SUMMARY": str(project.parent / "summary.md"),
        **variables,
    }
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=project, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_the_workflow_is_one_that_github_reads():
    workflow = read("workflow.yml")
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML reads "on" as true
    assert workflow["permissions"] == {"contents": "read"}
    job, found = steps()
    assert {"runs-on", "steps"} <= set(job)
    for step in found:
        assert ("uses" in step) != ("run" in step)
        assert set(step) <= {"name", "uses", "with", "run", "if", "env"}
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", step["uses"])
    # Expressions stand in values only: in a script a branch's name could be a command.
    assert not any("${{" in step.get("run", "") for step in found)


@pytest.mark.slow
@pytest.mark.qemu
def test_the_workflow_runs(project):
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    job, found = steps()
    outputs = {}
    for step in found:
        if "run" in step:
            variables = dict(job["env"]) | dict.fromkeys(step.get("env", {}), "main")
            done = run(project, step["run"], **variables)
            assert done.returncode == 0, done.stdout + done.stderr
            outputs[step["name"]] = done.stdout
    assert "budget: met" in outputs["Verify"]
    summary = (project.parent / "summary.md").read_text(encoding="utf-8")
    assert "equal: every file is the same" in summary
    uploaded = found[-1]["with"]["path"]
    assert ET.parse(project / uploaded).getroot().get("failures") == "0"
    cached = next(s["with"]["path"] for s in found if s.get("uses", "").startswith("actions/cache"))
    assert list((project / cached / "verify").iterdir())
    verify = next(step["run"] for step in found if step.get("name") == "Verify")
    assert "from the cache" in run(project, verify, **job["env"]).stdout


@pytest.mark.slow
@pytest.mark.qemu
def test_the_workflow_fails_where_a_limit_is_passed(project):
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    limits = (project / "rlx.toml").read_text(encoding="utf-8")
    (project / "rlx.toml").write_text(limits.replace('"8K"', '"2K"'), encoding="utf-8")
    scripts = {step.get("name"): step.get("run") for step in steps()[1]}
    assert run(project, scripts["Compile"]).returncode == 0
    done = run(project, scripts["Verify"])
    assert done.returncode == 3
    assert "over budget: flash" in done.stdout
    assert ET.parse(project / "results.xml").getroot().get("failures") == "1"


def packages(text):
    """Return the packages that ``apt-get install`` is given in a script."""
    joined = text.replace("\\\n", " ")
    (line,) = re.findall(r"apt-get install ([^\n&]*)", joined)
    return [word for word in shlex.split(line) if not word.startswith("-")]


def test_the_tools_are_those_that_doctor_names(project):
    from rlx_sim.toolchain import survey

    install = next(step["run"] for step in steps()[1] if step.get("name") == "Install")
    assert run(project, install).returncode == 0
    asked = (project.parent / "asked").read_text(encoding="utf-8")
    assert "sudo apt-get update\n" in asked
    assert asked.endswith("pip install rlx\n")
    hints = " ".join(tool.install for tool in survey())
    assert packages(install)
    assert all(re.search(rf"\b{name}\b", hints) for name in packages(install))
    assert packages((CI / "Containerfile").read_text(encoding="utf-8")) == packages(install)


def test_the_container_file_is_well_formed():
    text = (CI / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    instructions = [line.split(None, 1) for line in lines if not line.startswith("#")]
    names = [name for name, _ in instructions]
    assert names == ["FROM", "RUN", "ARG", "RUN", "ENV", "WORKDIR", "ENTRYPOINT"]
    assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+", instructions[0][1])
    for name, rest in instructions:
        if name == "RUN":
            subprocess.run(["sh", "-n", "-c", rest], check=True)


def test_the_budget_is_one_that_rlx_reads(tmp_path):
    limits = tomllib.loads((CI / "rlx.toml").read_text(encoding="utf-8"))
    for target, table in limits["digits"].items():
        rlx.emit(MODEL, target, tmp_path / target, frames=1)
        found = budget.load(CI / "rlx.toml", tmp_path / target)
        assert list(found.limits) == list(table)


def hook(project, *models):
    (repository,) = read("pre-commit-config.yaml")["repos"]
    (entry,) = repository["hooks"]
    assert all(re.search(entry["files"], model) for model in models)
    return run(project, f"{entry['entry']} {shlex.join(models)}")


@pytest.mark.slow
@pytest.mark.qemu
def test_the_hook_checks_models(project):
    require_program("arm-none-eabi-gcc")
    require_program("qemu-system-arm")
    shutil.copy(ROOT / "examples" / "mnist" / "tinyconv.rlx", project / "models")
    done = hook(project, "models/digits.tflite", "models/tinyconv.rlx")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    (project / "models" / "digits.tflite").write_bytes(b"no model")
    done = hook(project, "models/digits.tflite", "models/tinyconv.rlx")
    assert done.returncode not in (0, 70)
    assert "models/digits.tflite: rlx emit ended with status" in done.stdout
    (project / "rlx.toml").write_text("[digits.cortexm]\nflash = 1\n", encoding="utf-8")
    shutil.copy(MODEL, project / "models")
    done = hook(project, "models/digits.tflite")
    assert done.returncode == 3
    assert "over budget: flash" in done.stdout


@pytest.mark.slow
@pytest.mark.qemu
def test_the_hook_that_the_repository_offers(project):
    require_program("arm-none-eabi-gcc")
    (offered,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language", "files"} <= set(offered)
    local = read("pre-commit-config.yaml")["repos"][0]["hooks"][0]
    assert offered["id"] == local["id"]
    assert local["entry"].startswith(offered["entry"])
    assert re.search(offered["files"], "models/digits.tflite")
    done = run(project, f"{offered['entry']} --with host models/digits.tflite")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_readme_names_every_file():
    text = (CI / "README.md").read_text(encoding="utf-8")
    for path in CI.iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in text
