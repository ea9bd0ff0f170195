"""A report with an attack in every text that may come from a model."""

from dataclasses import replace

from rlx.reports.model import Accuracy, Port

ATTACK = "</script></title></svg>--><script>window.bad=1</script><img src=x onerror='bad=1'>\"&amp;"


def hostile(report):
    """The report with an attack in every text that comes from outside."""
    layers = tuple(
        replace(one, name=ATTACK, source=ATTACK, kernel=ATTACK, op=ATTACK, dtype=ATTACK,
                attributes={ATTACK: ATTACK}, figures={ATTACK: ATTACK}, shape=(ATTACK,))
        for one in report.layers
    )  # fmt: skip
    losses = report.losses and replace(
        report.losses, graph=ATTACK, measured_on=ATTACK, observer=ATTACK,
        layers=tuple(replace(one, name=ATTACK) for one in report.losses.layers),
    )  # fmt: skip
    port = Port(name=ATTACK, shape=(1, ATTACK), dtype=ATTACK)
    return replace(
        report, title=ATTACK, device=ATTACK, target=ATTACK, layers=layers, inputs=(port,),
        outputs=(port,), facts={ATTACK: ATTACK}, command=ATTACK, warnings=(ATTACK,), losses=losses,
        accuracy=Accuracy(samples=2, correct={ATTACK: 1}, labels=(ATTACK, "b"),
                          confusion=((1, 0), (1, 0))),
    )  # fmt: skip
