"""``python -m rlx.cli.hook``: what it passes on, and what it prints."""

from rlx.cli import hook


def test_requirements_are_passed_on(plain, digits_model, capsys):
    assert hook.main([str(digits_model), "--emit=--frames 1"]) == 0
    assert hook.main([str(digits_model), "--emit=--frames 1", "--require", "all"]) == 6
    captured = capsys.readouterr()
    assert "rlx verify ended with status 6" in captured.out
    assert "required, but cannot run here" in captured.err
