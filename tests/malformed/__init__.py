"""Model files made by hand, one defect each: what a reader must refuse, and how.

``CASES`` is plain data, so that tests and campaigns share it::

    for name, (suffix, case) in CASES.items():
        data = case.make()
"""

from __future__ import annotations

from malformed import (
    onnx_files,
    rlx_dims,
    rlx_documents,
    rlx_files,
    tflite_accepted,
    tflite_bytes,
    tflite_floats,
    tflite_graph,
    tflite_numbers,
    tflite_operators,
    tflite_state,
    tflite_sweeps,
    tflite_unsupported,
    tflite_work,
)
from malformed.case import Accepted, Case, Refused

__all__ = ["CASES", "Accepted", "Case", "Refused"]

_TFLITE = {
    "bytes": tflite_bytes,
    "graph": tflite_graph,
    "operators": tflite_operators,
    "unsupported": tflite_unsupported,
    "state": tflite_state,
    "numbers": tflite_numbers,
    "work": tflite_work,
    "sweeps": tflite_sweeps,
    "accepted": tflite_accepted,
    "floats": tflite_floats,
}

_RLX = {"rlx": rlx_files, "rlx document": rlx_documents, "rlx dimensions": rlx_dims}

CASES: dict[str, tuple[str, Case]] = (
    {
        f"{kind}: {name}": (".tflite", case)
        for kind, module in _TFLITE.items()
        for name, case in module.CASES.items()
    }
    | {
        f"{kind}: {name}": (".rlx", case)
        for kind, module in _RLX.items()
        for name, case in module.CASES.items()
    }
    | {f"onnx: {name}": (".onnx", case) for name, case in onnx_files.CASES.items()}
)
"""Each file's name and defect; the end of the file's name, and what is expected."""
