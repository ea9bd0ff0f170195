"""Completion in shells, and ``python -m rlx``."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlx.cli import main
from rlx.cli.commands.completion import SHELLS

ASK = """
eval "$(rlx completion bash)"
COMP_WORDS=({words}) COMP_CWORD={last}
_rlx_completion rlx
printf '%s\n' "${{COMPREPLY[@]}}"
"""


def complete(words):
    """Return the words that bash offers for the last of ``words``."""
    script = ASK.format(words=" ".join(words), last=len(words) - 1)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [(["rlx", "ver"], {"verify"}), (["rlx", "verify", "--wi"], {"--with", "--wide"}),
     (["rlx", "completion", "z"], {"zsh"}),
     (["rlx", "emit", "net.onnx", "--target", "c"], {"cortexm"}),
     (["rlx", "emit", "net.onnx", "--target", "cortexm", "--part", "blue"], {"blue-pill"}),
     (["rlx", "estimate", "--target", "fpga", "--device", "iceb"], {"icebreaker"}),
     (["rlx", "emit", "net.onnx", "--device", "iceb"], {"icebreaker"}),
     (["rlx", "emit", "net.onnx", "--cpu", "cortex-m5"], {"cortex-m52", "cortex-m55"}),
     (["rlx", "emit", "net.onnx", "--par"], {"--part"}),
     (["rlx", "emit", "net.onnx", "--device", "icebreaker", "--target", "f"], {"fpga"}),
     (["rlx", "verify", "out", "--with", "host,q"], {"host,qemu"}),
     (["rlx", "verify", "out", "--with", "host,h"], set()),
     (["rlx", "examples", "copy", "dig"], {"digits"}),
     (["rlx", "targets", "f"], {"fpga"})],
)  # fmt: skip
def test_bash_completes_commands_options_and_values(words, offered):
    assert set(complete(words)) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(capsys, shell):
    assert main(["completion", shell]) == 0
    assert f"_RLX_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_python_runs_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "rlx", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("rlx, version ")
