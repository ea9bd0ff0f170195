"""Random networks as hardware of every architecture and aim: each passes Verilator's lint."""

from __future__ import annotations

import hashlib
import json

from campaign import networks
from campaign.part import Outcome, Part
from campaign.runs import emitted, refused, vectors
from rlx.frontends.tflite import frontend as tflite
from rlx.ir.inspect import node_macs
from rlx.support.errors import DoesNotFitError, EmitError, UnsupportedOpError
from rlx.support.files.outputs import read_manifest
from rlx_fpga.architectures import ARCHITECTURES
from rlx_fpga.options import AIMS
from rlx_sim.hardware.verilator import lint

_SEEDS = 4_000_000

VARIANTS = (
    *({"architecture": "dataflow", "optimize": aim} for aim in AIMS),
    *(
        {"architecture": architecture}
        for architecture in ARCHITECTURES
        if architecture != "dataflow"
    ),
)
"""Architectures without a choice of foldings know no aims."""

SMALL = networks.Knobs(operators=6, elements=1024, products=8_000)
"""Networks that hardware is made of in seconds."""

PARALLEL_MACS = 1_500
"""Multiply-accumulates up to which ``parallel``, which makes adders for each, is tried."""


def _lint(number: int) -> Outcome:
    """Emit every variant and lint each that differs from the ones before it."""
    module = tflite.load(networks.make(_SEEDS + number, SMALL))
    golden = vectors(module, 1, number)
    seen: set[str] = set()
    amounts = {"refused": 0, "linted": 0, "like another": 0, "too large to unroll": 0}
    large = sum(map(node_macs, module.graph.op_nodes)) > PARALLEL_MACS
    for options in VARIANTS:
        if large and options["architecture"] == "parallel":
            amounts["too large to unroll"] += 1
            continue
        try:
            with emitted(module, "fpga", options, golden) as folder:
                files = read_manifest(folder, check_files=False).files
                design = json.loads((folder / "report.json").read_text())["interface"]
                text = "".join(files[name].sha256 for name in design["sources"])
                digest = hashlib.sha256(text.encode()).hexdigest()
                if digest in seen:
                    amounts["like another"] += 1
                    continue
                seen.add(digest)
                lint(["lint.vlt", *design["sources"]], design["top"], cwd=folder)
                amounts["linted"] += 1
        except (DoesNotFitError, EmitError, UnsupportedOpError) as error:
            outcome = refused(error)
            if outcome.finding:
                return outcome
            amounts["refused"] += 1
    return Outcome("clean" if amounts["linted"] else "refused", "", amounts)


PARTS = (
    Part(
        name="lint",
        title="random networks: hardware of every architecture and aim, linted",
        goal="300 clean",
        run=_lint,
        cases=300,
        short=2,
        deadline_s=600,
        marks=("sim",),
    ),
)
