"""Damaged files: only errors of rlx come out of them, soon and in little memory."""

from __future__ import annotations

from mutation import mutate
from tflite_malformed import sound_model

from campaign.part import Outcome, Part
from rlx.errors import FrontendError, UnsupportedOpError
from rlx.frontends import tflite


def _run(number: int) -> Outcome:
    try:
        tflite.load(mutate(sound_model(), number))
    except (FrontendError, UnsupportedOpError) as error:
        return Outcome(
            "refused", "" if error.where and error.hint else f"no place or hint: {error}"
        )
    return Outcome("accepted")


DAMAGED_BYTES = Part(
    name="bytes",
    title="bytes of model files damaged",
    goal="0 tracebacks, 0 over 1 s, 0 over 512 MB",
    run=_run,
    cases=30_000,
    short=300,
    deadline_s=60,
    cpu_s=1.0,
    memory_mb=512,
)
