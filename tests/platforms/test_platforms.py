"""Behaviour of rlx where the system lacks what Linux has.

The systems are imitated: names are masked in a process of their own (``like_windows.py``,
``like_macos.py``). That shows which code runs there, and that it runs without what is missing. It
does not show how real tools behave there.
"""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from support import ROOT, require_program

HERE = Path(__file__).parent
DIGITS = ROOT / "examples" / "digits" / "digits.rlx"
FLOAT = ROOT / "examples" / "mnist" / "tinyconv_float.rlx"

pytestmark = pytest.mark.slow


def command(system, *arguments):
    script = str(HERE / f"like_{system}.py")
    return [sys.executable, "-X", "warn_default_encoding", script, *map(str, arguments)]


def rlx(system, *arguments, **variables):
    """Run the command line as on ``system``, whose consoles do not know every character."""
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", **variables}
    return subprocess.run(
        command(system, *arguments),
        env=environment,
        capture_output=True,
        encoding="cp1252",
        timeout=120,
    )


def content(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("target", ["cortexm", "fpga"])
def test_emit_writes_the_same_bytes_as_here(tmp_path, target):
    here = [sys.executable, "-m", "rlx.cli", "emit", DIGITS, "--target", target]
    subprocess.run([*here, "-o", tmp_path / "here"], check=True, stdout=subprocess.DEVNULL)
    (tmp_path / "there").mkdir()  # an empty folder may be there
    done = rlx("windows", "emit", DIGITS, "--target", target, "-o", tmp_path / "there")
    assert (done.returncode, done.stderr) == (0, "")
    assert content(tmp_path / "there") == content(tmp_path / "here")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]


def test_emit_again_keeps_what_a_user_put_into_the_folder(tmp_path):
    out = tmp_path / "c"
    assert rlx("windows", "emit", DIGITS, "--target", "cortexm", "-o", out).returncode == 0
    (out / "notes").mkdir()
    (out / "notes" / "mine.txt").write_text("mine", encoding="utf-8")
    again = ("emit", DIGITS, "--target", "cortexm", "-o", out)
    assert rlx("windows", *again).returncode == 2
    done = rlx("windows", *again, "--force", "--cpu", "cortex-m55")
    assert (done.returncode, done.stderr) == (0, "")
    assert (out / "notes" / "mine.txt").read_text(encoding="utf-8") == "mine"
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["options"]["cpu"] == "cortex-m55"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("inspect", DIGITS),
        ("run", DIGITS),
        ("estimate", DIGITS, "--target", "cortexm"),
        ("estimate", DIGITS, "--target", "fpga"),
        ("targets",),
        ("doctor",),
        ("import", DIGITS, "-o", "OUT/net.rlx"),
        ("quantize", FLOAT, "--calib", "OUT/x.npy", "-o", "OUT/net.rlx"),
    ],
    ids=lambda arguments: "-".join(str(one) for one in arguments if not isinstance(one, Path)),
)
def test_commands_without_tools_run(tmp_path, arguments):
    import numpy as np

    samples = np.random.default_rng(0).random((8, 28, 28, 1), dtype=np.float32)
    np.save(tmp_path / "x.npy", samples)
    done = rlx("windows", *(str(one).replace("OUT", str(tmp_path)) for one in arguments))
    random = "note: the inputs are random values; --input FILE for yours\n"
    assert (done.returncode, done.stderr) == (0, random if "run" in arguments else "")
    assert done.stdout


# Ends the process of the given id and what it started, as Windows' program does.
TASKKILL = """#!{python}
import os, signal, sys
tree, force, option, root = sys.argv[1:]
assert (tree, force, option) == ("/T", "/F", "/PID")
def parent(pid):
    with open(f"/proc/{{pid}}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])
family = [int(root)]
for one in family:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if parent(name) == one:
                family.append(int(name))
        except FileNotFoundError:
            pass
for one in family:
    os.kill(one, signal.SIGKILL)
"""


def test_a_tree_of_processes_is_ended_by_taskkill(tmp_path):
    (tmp_path / "taskkill").write_text(TASKKILL.format(python=sys.executable), encoding="utf-8")
    (tmp_path / "taskkill").chmod(0o755)
    code = textwrap.dedent(
        """
        import sys
        from rlx.support.errors import TimeLimitError
        from rlx.support.process import run
        parent = (
            "import subprocess, sys, time\\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\\n"
            "print(child.pid, flush=True)\\n"
            "time.sleep(100)"
        )
        try:
            run([sys.executable, "-c", parent], timeout_s=3)
        except TimeLimitError as error:
            print(error.message)
        """
    )
    path = os.pathsep.join((str(tmp_path), os.environ["PATH"]))
    done = rlx("windows", "-c", code, PATH=path)
    assert done.returncode == 0, done.stderr
    message, child = done.stdout.splitlines()
    assert message == "still running after 3 s, ended"
    assert ended([int(child.removeprefix("  | "))])


def test_output_is_read_whole_or_refused_where_pipes_cannot_be_polled():
    code = textwrap.dedent(
        """
        import sys
        from rlx.support.errors import SimulationError
        from rlx.support.process import run
        text = "import sys; sys.stdout.write('a' * 3_000_000); sys.stderr.write('b' * 200_000)"
        done = run([sys.executable, "-c", text], timeout_s=60)
        print(len(done.stdout), len(done.stderr), done.returncode)
        try:
            run([sys.executable, "-c", text], timeout_s=60, output_limit=1_000_000)
        except SimulationError as error:
            print(error.message.splitlines()[0])
        """
    )
    done = rlx("windows", "-c", code)
    assert done.stdout.splitlines() == [
        "3000000 200000 0",
        "wrote more than 1000000 bytes, ended",
    ], done.stderr


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def ended(pids):
    for _ in range(200):
        if not any(is_alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("macos") / "c"
    for _ in range(2):  # the second time two folders cannot be exchanged in one step
        emit = ("emit", DIGITS, "--target", "cortexm", "-o", out, "--force", "--frames", "2")
        done = rlx("macos", *emit)
        assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in out.parent.iterdir()] == ["c"]
    return out


@pytest.mark.qemu
def test_verify_runs_the_program_on_the_host_without_proc(folder):
    require_program("cc", "gcc")
    done = rlx("macos", "verify", folder, "--with", "host")
    assert done.returncode == 0, done.stderr
    assert "2 of 2" in done.stdout


# A compiler that starts a child which ignores TERM, names both, and hangs.
COMPILER = """#!{python}
import os, signal, sys, time
if "--version" in sys.argv:
    sys.exit(print("gcc 12.2.0"))
child = os.fork()
if not child:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(100)
with open({pids!r} + ".new", "w") as file:
    file.write(f"{{os.getpid()}} {{child}}")
os.rename({pids!r} + ".new", {pids!r})
time.sleep(100)
"""


def test_a_signal_ends_all_that_verify_started_without_proc(tmp_path, folder):
    written, temporary = tmp_path / "pids", tmp_path / "tmp"
    temporary.mkdir()
    compiler = tmp_path / "tools" / "gcc"
    compiler.parent.mkdir()
    compiler.write_text(COMPILER.format(python=sys.executable, pids=str(written)), encoding="utf-8")
    compiler.chmod(0o755)
    path = os.pathsep.join((str(compiler.parent), os.environ["PATH"]))
    process = subprocess.Popen(
        command("macos", "verify", folder, "--with", "host"),
        env={**os.environ, "PATH": path, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    for _ in range(1000):
        if written.exists():
            break
        time.sleep(0.02)
    pids = [int(pid) for pid in written.read_text(encoding="utf-8").split()]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert ended(pids)
    assert list(temporary.iterdir()) == []
