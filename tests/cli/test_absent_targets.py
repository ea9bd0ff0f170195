"""Targets whose packages are not installed: options are known, examples are left out."""

import dataclasses
import json
import sys

import pytest

from rlx import targets
from rlx.support.process import run
from rlx.targets.absent import AbsentTarget, absent_targets

PROGRAM = """
import contextlib, io, json, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "amaranth":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from rlx.cli import main

output = {}
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        main(line.split())
    output[line] = out.getvalue()
print(json.dumps(output))
"""
"""Prints what lines of arguments print where Amaranth is not installed."""

REFUSED = {
    "estimate NET --devices all": "--devices needs target fpga\n  try: pip install 'rlx[fpga]'\n",
    "emit NET --device icebreaker": "--device needs target fpga\n  try: pip install 'rlx[fpga]'\n",
    "emit NET -o OUT --target cortexm --no-formal": (
        "--no-formal is an option of the target fpga, which is not installed, but the target is"
        " cortexm\n  try: leave --no-formal out, or pip install 'rlx[fpga]' and give --target"
        " fpga\n"
    ),
    "emit NET --devices all": "no such option '--devices'\n  try: rlx emit --help\n",
}


@pytest.fixture(scope="module")
def printed():
    lines = [*REFUSED, "emit --help", "estimate --help", "targets --help"]
    return json.loads(run([sys.executable, "-c", PROGRAM, json.dumps(lines)], timeout_s=120).stdout)


@pytest.mark.parametrize("line", REFUSED)
def test_options_name_their_target(printed, line):
    assert printed[line] == f"error[RLX-E001]: {REFUSED[line]}"


def test_examples_need_no_absent_target(printed):
    examples = {
        line: text.partition("Examples:\n")[2].partition("\n\n")[0]
        for line, text in printed.items()
        if line.endswith("--help")
    }
    assert all("fpga" not in text and "rlx " in text for text in examples.values())
    assert "--devices" not in printed["estimate --help"]


def test_options_in_the_source_are_those_of_the_target():
    for target in targets.load_all():
        package = type(target).__module__.partition(".")[0]
        for field in dataclasses.fields(target.options):
            assert AbsentTarget(target.name, package).has_option(field.name)
    assert not AbsentTarget("fpga", "rlx_fpga").has_option("wings")
    assert not AbsentTarget("acme", "no_such_package").has_option("device")


def test_none_is_absent_here():
    assert [target.name for target in absent_targets()] == []
