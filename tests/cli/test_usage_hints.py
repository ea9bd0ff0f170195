"""Advice for missing options, options of other commands, and samples given as an argument."""

import pytest

from rlx.cli import main

EXTRA = "got unexpected extra argument (s.npy)"

HINTS = {
    "estimate m.tflite": ("missing option '--target'", "add --target cortexm, fpga or host"),
    "emit m.tflite --target host": ("missing option '-o' / '--out'", "add -o PATH"),
    "compare a.rlx b.rlx": ("missing option '--data'", "add --data PATH"),
    "compare a.rlx b.rlx --input s.npy": ("no such option '--input'", "use --data PATH"),
    "run a.rlx --data s.npy": ("no such option '--data'", "use --input PATH"),
    "run a.rlx s.npy": (EXTRA, "use --input s.npy"),
    "quantize a.rlx --data s.npy -o b.rlx": ("no such option '--data'", "use --calib PATH"),
    "emit a.rlx --target host --input s.npy": ("no such option '--input'", "use --vectors PATH"),
    "emit a.onnx --format onnx --target host --output o": (
        "no such option '--output'", "use -o PATH",
    ),
    "estimate a.rlx --target cortexm --bits 4": (
        "no such option '--bits'", "use --weight-bits [8|4|2]",
    ),
    "report out -o page.html": ("no such option '-o'", "use --html FILE"),
    "verify out --tool qemu": ("no such option '--tool'", "use --with NAMES"),
}  # fmt: skip


@pytest.mark.parametrize("line", HINTS)
def test_the_hint_names_the_option(capsys, line):
    message, hint = HINTS[line]
    command = line.split()[0]
    assert main(line.split()) == 2
    assert capsys.readouterr().err == (
        f"error[RLX-E001]: {message}\n  try: {hint}; all options: rlx {command} --help\n"
    )


@pytest.mark.parametrize(
    "line", ["emit", "inspect m -o x.svg", "verify out other", "verify s.npy t.npy", "emit m --wng"]
)
def test_other_mistakes_point_to_the_help(capsys, line):
    assert main(line.split()) == 2
    assert capsys.readouterr().err.endswith(f"\n  try: rlx {line.split()[0]} --help\n")
