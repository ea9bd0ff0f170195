"""A full or closed standard stream gives one message and a status, and undoes no work."""

import subprocess
import sys

import pytest

FULL = (
    "error[RLX-E071]: standard output: cannot be written: no space left on device\n"
    "  try: redirect it to a place with free space; files that were written are complete\n"
)

pytestmark = pytest.mark.slow  # Each starts a process.


def shell(tmp_path, redirection, *arguments):
    """Run the command line with a redirection of the shell; return status and what it printed."""
    words = f'exec "$0" -m rlx.cli "$@" {redirection}'
    done = subprocess.run(
        ["sh", "-c", words, sys.executable, *map(str, arguments)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", ["inspect", "help", "table"])
def test_full_output(tmp_path, digits_model, command):
    arguments = {
        "inspect": ["inspect", digits_model], "help": ["--help"], "table": ["targets", "fpga"],
    }[command]  # fmt: skip
    assert shell(tmp_path, ">/dev/full", *arguments) == (2, "", FULL)


def test_work_that_was_done_stays(tmp_path, digits_model):
    emit = ("emit", digits_model, "--target", "cortexm", "-o")
    assert shell(tmp_path, ">/dev/full", *emit, "full") == (2, "", FULL)
    assert shell(tmp_path, ">&-", *emit, "closed") == (0, "", "")
    assert shell(tmp_path, "2>&-", *emit, "noerr")[0] == 0
    for name in ("full", "closed", "noerr"):
        assert (tmp_path / name / "manifest.json").is_file()


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-", ">&- 2>&- <&-"])
def test_message_that_nobody_sees_changes_no_status(tmp_path, redirection):
    assert shell(tmp_path, redirection, "inspect", "nothing") == (2, "", "")


def test_reader_that_goes_away_is_no_error_to_report(tmp_path, digits_model):
    done = subprocess.run(
        ["bash", "-c", '"$0" -m rlx.cli inspect "$1" | true; exit ${PIPESTATUS[0]}',
         sys.executable, str(digits_model)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (141, "")
