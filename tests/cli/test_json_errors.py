"""With ``--json`` an error is an object on standard output; the text stays on standard error."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from rlx.cli import main


def error_of(capsys, *arguments):
    """Run a command that fails; return its status, the object's content and standard error."""
    status = main([str(a) for a in arguments])
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert list(found) == ["error"]
    assert sorted(found["error"]) == ["code", "message", "try", "where"]
    assert found["error"]["try"]
    return status, found["error"], captured.err


def test_an_error_of_rlx(capsys, tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(b"\x1c\0\0\0TFL3" + bytes(20))
    status, error, text = error_of(capsys, "inspect", path, "--json")
    assert (status, error["code"]) == (4, "RLX-E007")
    assert error["where"].startswith("m.tflite: ")
    assert text.startswith(f"error[RLX-E007]: {error['where']}: {error['message']}\n  try: ")


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        (["emit", "m.tflite", "--target", "asic", "-o", "o"], "RLX-E060", 6),
        (["estimate", "m.tflite", "--target", "fpga", "--device", "asic"], "RLX-E001", 2),
        (["verify", "nothing"], "RLX-E070", 2),
        (["build", "nothing"], "RLX-E070", 2),
        (["inspect", "nothing.tflite"], "RLX-E001", 2),
    ],
)
def test_errors_of_every_kind(capsys, tmp_path, monkeypatch, arguments, code, status):
    monkeypatch.chdir(tmp_path)
    found, error, _ = error_of(capsys, *arguments, "--json")
    assert (found, error["code"]) == (status, code)


def test_a_wrong_command_line(capsys):
    status, error, text = error_of(capsys, "emit", "--json")
    assert (status, error) == (
        2,
        {
            "code": "RLX-E001",
            "message": "missing argument 'MODEL'",
            "try": "rlx emit --help",
            "where": None,
        },
    )
    assert text == "error[RLX-E001]: missing argument 'MODEL'\n  try: rlx emit --help\n"
    assert error_of(capsys, "emit", "--jsno", "--json")[1]["message"].startswith("no such option")
    assert error_of(capsys, "--json")[1]["message"].startswith("no such option")


def test_a_fault_of_rlx(capsys, monkeypatch):
    def fail():
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("rlx.targets.names", fail)
    status, error, text = error_of(capsys, "targets", "--json")
    assert (status, error["code"]) == (70, "RLX-E900")
    assert error["message"] == "internal error: ZeroDivisionError: division by zero"
    assert "Traceback" in text


def test_without_json_nothing_is_printed_on_standard_output(capsys):
    assert main(["inspect", "nothing.tflite"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_signal(tmp_path):
    fifo = tmp_path / "m.tflite"
    os.mkfifo(fifo)
    with (
        subprocess.Popen(
            [sys.executable, "-m", "rlx.cli", "inspect", str(fifo), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        fifo.open("wb"),
    ):  # opened: the program waits for its first byte
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert json.loads(out)["error"] == {
        "code": "RLX-E901",
        "message": "ended by SIGTERM",
        "try": "run it again; incomplete output was removed",
        "where": None,
    }
    assert err == "rlx: ended by SIGTERM\n"
