"""``rlx targets``: what a target supports with its options."""

import json

from rlx.cli import main


def test_ops_are_those_of_the_target_with_its_options(capsys):
    def supported(*options):
        assert main(["targets", "fpga", *options, "--json"]) == 0
        ops = json.loads(capsys.readouterr().out)["ops"]
        return {op for op, reason in ops.items() if reason is None}

    dataflow, engine = supported(), supported("--architecture", "engine")
    assert supported("--architecture", "dataflow") == dataflow
    assert dataflow - engine == {"q.mul"}
    assert "q.softmax" not in supported("--architecture", "parallel")


def test_an_option_of_no_target_is_refused(capsys):
    assert main(["targets", "--architecture", "engine"]) == 2
    assert "no such option '--architecture'" in capsys.readouterr().err
