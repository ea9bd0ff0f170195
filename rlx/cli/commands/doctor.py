"""``rlx doctor``: for which jobs the tools are installed, and how to install the others.

Tests: tests/cli/test_commands.py
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlx import targets
from rlx.cli.command import subcommand
from rlx.cli.common import json_option, print_json
from rlx.cli.progress import progress, progress_option
from rlx.cli.table import is_wide, print_table, prose, sentences, symbol, wide_option
from rlx.support import plugins
from rlx.support.config import current, variable
from rlx.support.errors import TargetNotFoundError
from rlx.support.text.tables import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@subcommand(
    "doctor",
    examples=("rlx doctor", "rlx doctor --wide"),
)
@wide_option
@json_option
@progress_option
def command(as_json: bool) -> None:
    """Show for which jobs all tools are installed, and the command that installs what is missing.

    Plug-ins of other packages are listed too, with the reason where one cannot be loaded.
    --wide lists every tool with its version, and the settings (environment variables). The exit
    status is 0 whatever is missing.
    """
    with progress(enabled=not as_json) as show:
        show("looking for tools")
        tools = list(_tools())
    jobs = list(_jobs(tools))
    settings, plugin_rows = list(_settings()), list(_plugins())
    if as_json:
        tool_rows = [_without_parts(tool) for tool in tools]
        print_json({"tools": tool_rows, "jobs": jobs, "settings": settings, "plugins": plugin_rows})
        return
    if is_wide():
        _print_tools(tools)
        print()
        _print_settings(settings)
        print()
    versions = {tool["name"]: tool["version"] for tool in tools}
    for job in jobs:
        _print_job(job, versions)
    for plugin in plugin_rows:
        _print_plugin(plugin)
    more = [tool for tool in tools if not tool["version"] and not tool["parts"]]
    for tool in more:
        prose(f"  not needed: {tool['name']} ({tool['purpose']}): {tool['install']}", dim=True)
    ready = sum(job["ready"] for job in jobs)
    prose(f"{ready} of {len(jobs)} jobs are ready" + ("" if is_wide() else "; all tools: --wide"))


def _tools() -> Iterator[dict[str, Any]]:
    """Yield the tools that every probe under the group ``rlx.tools`` reports, and targets."""
    for name in targets.names():
        try:
            targets.load(name)
            version, install = "ok", ""
        except TargetNotFoundError as e:
            version, install = None, e.hint or ""
        yield {
            "name": f"target {name}", "version": version, "purpose": "emitting",
            "install": install, "parts": ((f"emit for {name}", "target"),),
        }  # fmt: skip
    for probe in plugins.survey("rlx.tools"):
        yield from _probed(probe)


def _probed(probe: plugins.LoadedPlugin) -> Iterator[dict[str, Any]]:
    """Yield the tools that a probe reports; that of another package may fail."""
    try:
        for status in probe.plugin() if probe.problem is None else ():
            yield {
                "name": status.name,
                "version": status.tool.version if status.tool else None,
                "purpose": status.purpose,
                "install": "" if status.tool else status.install,
                "parts": tuple(getattr(status, "parts", ())),
            }
    except Exception as error:
        if probe.package is None:
            raise
        label = f"tool probe {probe.name!r} of {probe.package}"
        plugins.warn_of(plugins.failure(label, "call", error))


def _plugins() -> Iterator[dict[str, Any]]:
    """Yield the plug-ins of other packages, and why one of them cannot be used."""
    for group, about in plugins.GROUPS.items():
        for plugin in plugins.survey(group):
            if plugin.package is not None:
                problem = plugin.problem
                yield {
                    "kind": about.kind,
                    "name": plugin.name,
                    "package": plugin.package,
                    "problem": problem and problem.reason,
                    "advice": problem and problem.hint,
                }


def _settings() -> Iterator[dict[str, Any]]:
    """Yield each setting with its variable and its value, ready for JSON."""
    for name, value in asdict(current()).items():
        plain = str(value) if isinstance(value, Path) else value
        yield {"name": name, "variable": variable(name), "value": plain}


def _without_parts(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in tool.items() if key != "parts"}


def _jobs(tools: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each job: whether it is ready, its installed tools, and what is missing.

    One tool for each part is enough; where there is none, all that could play it are ``missing``,
    with the commands that install them.
    """
    names = dict.fromkeys(job for tool in tools for job, _ in tool["parts"])
    for name in names:
        parts = dict.fromkeys(part for tool in tools for job, part in tool["parts"] if job == name)
        installed: list[str] = []
        missing: list[dict[str, Any]] = []
        for part in parts:
            able = [tool for tool in tools if (name, part) in tool["parts"]]
            there = [tool["name"] for tool in able if tool["version"]]
            installed += there
            if not there:
                ways = {tool["name"]: tool["install"] for tool in able}
                missing.append({"part": part, "install": ways})
        yield {"name": name, "ready": not missing, "tools": installed, "missing": missing}


def _print_job(job: dict[str, Any], versions: dict[str, str]) -> None:
    """Print a line for a job that is ready, or how to make it so."""
    if job["ready"]:
        tools = [f"{name} {versions[name]}" for name in job["tools"]]
        tool_list = "" if tools[0].startswith("target ") else f" ({', '.join(tools)})"
        prose(tool_list, lead=f"{symbol('✓', 'ok')} {job['name']}: ready", fg="green")
        return
    missing = "; ".join(
        " or ".join(f"{tool}: {way}" for tool, way in part["install"].items())
        for part in job["missing"]
    )
    prose(f" {missing}", lead=f"{symbol('✗', '--')} {job['name']}: missing", fg="yellow")


def _print_plugin(plugin: dict[str, Any]) -> None:
    """Print a line for a plug-in of another package."""
    label = f"{plugin['kind']} {plugin['name']} of {plugin['package']}"
    if plugin["problem"] is None:
        prose("", lead=f"{symbol('✓', 'ok')} {label}: loaded", fg="green")
        return
    text = f" {plugin['problem']}: {plugin['advice']}"
    prose(text, lead=f"{symbol('✗', '--')} {label}: not loaded:", fg="yellow")


def _print_tools(tools: Sequence[dict[str, Any]]) -> None:
    rows = [[t["name"], t["version"] or "missing", t["purpose"], t["install"]] for t in tools]
    columns = [Column("tool"), "version", sentences("used for"), sentences("how to install it")]
    print_table("Tools", columns, rows)


def _print_settings(settings: Sequence[dict[str, Any]]) -> None:
    rows = [[one["name"], _value_text(one["value"]), one["variable"]] for one in settings]
    print_table("Settings", [Column("setting"), "value", sentences("variable")], rows)


def _value_text(value: object) -> str:
    if value is None:
        return "-"
    return str(value) if not isinstance(value, bool) else "on" if value else "off"
