"""The files for contributors say what is so: CI, issue forms, hooks, dates of design notes."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from support import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))
NOTES = sorted((ROOT / "docs" / "design").glob("0*.md"))
PAGES = ("SECURITY.md", "CONTRIBUTING.md")


def read(*parts):
    return yaml.safe_load(ROOT.joinpath(*parts).read_text(encoding="utf-8"))


def test_hosted_ci_calls_what_runs_anywhere():
    jobs = read(".github", "workflows", "ci.yml")["jobs"]
    assert ".ci/run" in jobs["run"]["steps"][-1]["run"]
    assert read(".gitlab-ci.yml")["run"]["script"] == [".ci/run"]
    assert jobs["coverage"]["steps"][-1]["run"] == "make coverage"
    assert read(".gitlab-ci.yml")["coverage"]["script"] == ["make coverage"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_hosted_ci_has_a_python_that_rlx_takes():
    with (ROOT / "pyproject.toml").open("rb") as stream:
        oldest = tomllib.load(stream)["project"]["requires-python"].removeprefix(">=")
    job = read(".github", "workflows", "ci.yml")["jobs"]["run"]
    versions = [s["with"]["python-version"] for s in job["steps"] if "with" in s]
    assert versions == [oldest]
    assert read(".gitlab-ci.yml")["run"]["image"].startswith(f"python:{oldest}-")


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_valid(form):
    found = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= set(found)
    asked = [part for part in found["body"] if part["type"] != "markdown"]
    ids = [part["id"] for part in asked]
    assert len(ids) == len(set(ids)) == len(asked)
    assert all(
        part["type"] in ("input", "textarea") and part["attributes"]["label"] for part in asked
    )


@pytest.mark.parametrize("name", ["bug", "unsupported"])
def test_issue_forms_ask_for_doctor(name):
    parts = {p.get("id"): p for p in read(".github", "ISSUE_TEMPLATE", f"{name}.yml")["body"]}
    assert "rlx doctor" in parts["doctor"]["attributes"]["label"]
    assert parts["doctor"]["validations"] == {"required": True}


def test_hooks_of_contributors_are_those_of_lint():
    (repo,) = read(".pre-commit-config.yaml")["repos"]
    lint = (ROOT / "Makefile").read_text().replace("$(BIN)", ".venv/bin")
    for hook in repo["hooks"]:
        assert hook["entry"] in lint


@pytest.mark.parametrize("note", NOTES, ids=lambda path: path.stem)
def test_design_notes_have_a_date_and_a_status(note):
    title, empty, status, *_ = note.read_text(encoding="utf-8").splitlines()
    assert title.startswith(f"# {int(note.name[:4])}. ")
    assert empty == ""
    day = r"\d{4}-\d\d-\d\d"
    accepted = rf"Accepted {day}(, completed {day})?"
    superseded = rf"Superseded {day} by \[note \d+\]\(\d{{4}}-.*\.md\)"
    assert re.fullmatch(rf"\*({accepted}|{superseded})\*", status)


@pytest.mark.parametrize("page", PAGES)
def test_pages_link_to_files_that_exist(page):
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
